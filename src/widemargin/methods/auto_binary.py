"""``solver="auto"`` for binary problems.

It starts smooth losses with few weights by ``newton``, hinge problems that are small or have very
many rows by ``proximal_newton`` or ``interior_point``, and everything else by ``dual_cd``; where
examples are very few, the second-order methods run on the factor of X Xᵀ. It watches the gap that
each sweep estimates for free, extrapolates how many sweeps the tolerance will take at that rate,
and hands over as soon as the second-order method is predicted to be cheaper from there. Predictions
count operations and never look at the clock: the same data give the same answer on a busy machine.
"""

from __future__ import annotations

import math

from widemargin.methods.base import Method, Progress
from widemargin.methods.dual_cd import DualCD
from widemargin.methods.few_rows import FewRows
from widemargin.methods.interior_point import InteriorPoint
from widemargin.methods.newton import Newton
from widemargin.methods.newton_system import LARGEST_FACTORISED, MANY_PER_WEIGHT
from widemargin.methods.proximal_newton import ProximalNewton
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point

SMALL_PROBLEM = 20_000
"""Stored values below which a sweep is so cheap that only the number of Python calls counts."""

FEWEST_ROWS = 100
"""Rows up to which their own Gram matrix costs no more than a few dozen sweeps."""

_PATIENCE = 300.0
"""Passes after which the steps of proximal Newton, two each on all rows, are given up."""

_WARM_PATIENCE = 40
"""Steps that sweeps get from a warm start where they were enough at the C before: without the fast
fall of the first ones from nothing, the rate of a few says too little."""

_STIFF = 0.25
"""C ‖x‖² on average, below which a few sweeps are enough for the hinge: above it, where rows are so
many that samples tell about the rest, sweeps over all of them cost more than they tell."""

_EXTRAPOLATED = (10.0, 2.6)
"""Sweeps that are left of R with the logistic loss, once extrapolations have begun: a + b √R."""

_CROWDED = 8
"""Examples per weight below which the hinge goes to the interior point."""


class AutoBinary:
    """Choose by the shape of the problem, and hand over when progress is too slow."""

    def __init__(self) -> None:
        self._story: list[str] = []
        self._patience = 0
        self._was_enough = False
        self._follows = ""

    @property
    def explanation(self) -> str:
        """The methods that ran, each with the reason for it."""
        return " -> ".join(self._story)

    def _tell(self, method: Method, reason: str) -> Method:
        self._story.append(f"{method.name} ({reason})")
        return method

    def follow(self, method: str) -> None:
        """Take note of the method that solved the same problem at a smaller C."""
        self._was_enough = method == DualCD.name
        self._follows = method

    def first(self, problem: BinaryProblem, warm: Point | None, tol: float) -> Method:
        """Start with Newton where its matrix is small, else with coordinate descent."""
        self._patience = _WARM_PATIENCE if warm is not None and self._was_enough else 0
        weights = problem.rows.weights
        few = weights <= LARGEST_FACTORISED and weights <= problem.rows.count
        if problem.loss.smooth and few:
            return self._tell(Newton(), f"{weights} weights make a small matrix")
        if few and problem.rows.view.nonzeros <= SMALL_PROBLEM:
            return self._tell(self._for_hinge(problem), "small problem")
        if few and warm is None and _samples_serve(problem):
            return self._tell(ProximalNewton(), f"{problem.rows.count // weights} rows a weight")
        if problem.rows.count <= FEWEST_ROWS and problem.rows.count < weights:
            return self._tell(FewRows(self._second_order(problem)), "few rows make a small matrix")
        return self._tell(DualCD(), "sweeps tell how hard the problem is")

    def _second_order(self, problem: BinaryProblem) -> Method:
        return Newton() if problem.loss.smooth else self._for_hinge(problem)

    def _for_hinge(self, problem: BinaryProblem) -> Method:
        """Follow the central path where nearly every example would be in the rounded corner.

        Not from the solution at a smaller C, unless it was found that way: near the answer the
        corner is small, and a central path has to be followed from its beginning.
        """
        crowded = problem.rows.weights < problem.rows.count < _CROWDED * problem.rows.weights
        if crowded and self._follows in ("", InteriorPoint.name):
            return InteriorPoint()
        return ProximalNewton()

    def next(self, progress: Progress) -> Method | None:
        """Hand over when the method at work would take longer than another one from here."""
        problem = progress.problem
        if progress.method == "proximal_newton":
            if progress.finished or progress.passes >= _PATIENCE:
                if InteriorPoint().refuses(problem) is None:
                    return self._tell(InteriorPoint(), "steps on the smoothed hinge stalled")
                if progress.finished:
                    return self._tell(DualCD(), "steps on the smoothed hinge stalled")
            return None
        if progress.method == "interior_point" and progress.finished and len(self._story) < 4:
            return self._tell(DualCD(), "the interior point stalled")
        if progress.method == "newton":
            return self._tell(DualCD(), "Newton steps stalled") if progress.finished else None
        if progress.method != "dual_cd" or len(self._story) > 2:
            return None
        if progress.iterations < self._patience:
            return None
        remaining = sweeps_to_go(progress.expected, progress.tol)
        digits = math.log10(max(progress.expected[-1] / progress.tol, 1.0))
        rival = second_order_seconds(problem, digits)
        if problem.loss.name == "logistic":
            # Extrapolations do for slow sweeps what conjugate gradients do for steepest descent.
            remaining = min(remaining, _EXTRAPOLATED[0] + _EXTRAPOLATED[1] * math.sqrt(remaining))
        ahead = remaining * sweep_seconds(problem) * progress.passes / progress.iterations
        if ahead <= rival:
            return None
        large = min(problem.rows.shape) > LARGEST_FACTORISED
        if large and problem.loss.name != "logistic":
            # Shrinking makes later sweeps over either hinge cheaper than products with a Hessian.
            return None
        method = self._second_order(problem)
        if problem.rows.count <= LARGEST_FACTORISED and problem.rows.count < problem.rows.weights:
            method = FewRows(method)
        if method.refuses(problem) is not None:
            return None
        sweeps = "more than 1000" if remaining >= 1000 else f"about {remaining:.0f}"
        return self._tell(
            method, f"coordinate descent needed {sweeps} more sweeps after {progress.iterations}"
        )


def _samples_serve(problem: BinaryProblem) -> bool:
    """Whether steps on samples of the rows are the better beginning for the hinge."""
    if problem.rows.count < MANY_PER_WEIGHT * problem.rows.weights:
        return False
    return float(problem.cost @ problem.rows.norms) > _STIFF * problem.rows.count


def sweeps_to_go(expected: list[float], tol: float) -> float:
    """Extrapolate how many sweeps the estimated gap still takes, from its latest rate of fall."""
    if len(expected) < 4 or not math.isfinite(expected[-1]):
        return 0.0
    if expected[-1] <= tol:
        return 1.0
    # Over the later half of the sweeps: the first ones fall faster than what follows.
    back = max(2, len(expected) // 2)
    earlier = expected[-1 - back] if len(expected) > back else expected[0]
    if not math.isfinite(earlier) or earlier <= expected[-1]:
        return math.inf
    rate = math.log(earlier / expected[-1]) / min(back, len(expected) - 1)
    return math.log(expected[-1] / tol) / rate


def sweep_seconds(problem: BinaryProblem) -> float:
    """Predict what a sweep over all examples costs, from counts like the other prediction."""
    # Without shrinking every sweep is a whole one, and extrapolations look at all examples.
    entry, example = (2.6, 60) if problem.loss.name == "logistic" else (1.2, 35)
    return 1e-9 * (entry * problem.rows.view.nonzeros + example * problem.rows.count)


def second_order_seconds(problem: BinaryProblem, digits: float) -> float:
    """Predict what the second-order method costs for so many more digits, from operation counts.

    The nanoseconds are of one core of 2023; their ratio to a sweep is what matters.
    """
    rows = problem.rows
    entries = rows.view.nonzeros
    mean = max(1.0, entries / max(1, rows.count))
    if rows.weights <= LARGEST_FACTORISED:
        share = 1.0 if problem.loss.smooth else 0.1
        matrix = share * rows.count * min(0.4 * mean * mean, 0.03 * rows.weights**2)
        factor = 0.05 * rows.weights**3 / 3
        steps = 8 if problem.loss.smooth else 3 + 5.5 * digits
        step = 2.5 * entries + 10 * rows.count + matrix + factor
    else:
        # Products with the Hessian, in all steps together.
        steps = 15 * max(digits, 1.0)
        step = 2.2 * entries + 10 * rows.count
    return 1e-9 * steps * step
