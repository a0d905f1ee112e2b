"""Newton's method on problems side by side: WARM's primal method, for all folds at once.

The step comes from conjugate gradients, whose products with the data are shared by all lanes. Where
weights are few, the Hessian of a sample of the examples, averaged over the lanes, preconditions all
of them: folds of one cross-validation share most of their examples.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data import work
from widemargin.linalg.cholesky import Factor, cholesky
from widemargin.linalg.conjugate_gradients import NewtonAccuracy, conjugate_gradients
from widemargin.linalg.preconditioners import ByColumn, Diagonal, Preconditioner
from widemargin.methods.base import Settings, State
from widemargin.problems.certificate import Point
from widemargin.problems.lanes import LanesProblem, Matrix, Vector
from widemargin.threads import in_threads

_FEWEST_STEPS = 2
"""Conjugate gradient steps that are to be expected at least."""

_FAR = 100
"""Promised decreases above this many times the accuracy asked for are far from the solution."""


@dataclass(eq=False)
class AveragedHessian:
    """(I + C K)⁻¹ with K the curvature at C = 1, or its diagonal where weights are many.

    K starts as the mean over the lanes on a sample of the examples. Where that leaves too many
    steps, the sample grows to all examples, and at last every lane gets a matrix of its own. Where
    few examples have any curvature, as with the squared hinge at large C, the Hessians themselves
    are cheap: then the system is solved, and there is nothing left for conjugate gradients to do.
    """

    sample: int = MACHINE.lane_sample
    matrices: list[NDArray[np.float64]] = field(default_factory=list)
    factors: Preconditioner | None = None
    factor_C: float = 0.0
    steps: int = 0
    exact: bool = False
    passes: float = 0.0
    """What the latest matrices took; one over all examples, of a lane or of the mean, is one."""

    def prepare(self, problem: LanesProblem, curvature: Matrix) -> None:
        """Make ready for the problem's C and for these curvatures."""
        side = problem.rows.weights + int(problem.free_intercept)
        if side > MACHINE.largest_averaged:
            mean = curvature.sum(axis=1) / problem.used
            diagonal = 1.0 + problem.rows.curvature_diagonal(mean)
            if problem.free_intercept:
                diagonal = np.append(diagonal, mean.sum() + 1e-12)
            self.factors = Diagonal(diagonal)
            return
        # One lane speaks for the others: folds are much alike.
        active, count = int(np.count_nonzero(curvature[:, 0])), max(1, problem.rows.count)
        expected = max(self.steps, _FEWEST_STEPS) * _product_cost(problem)
        self.exact = problem.used * _matrix_cost(problem, active, side) <= expected
        if self.exact:
            self.passes = problem.used * active / count
            self.matrices = self._of_lanes(problem, curvature)
            self._factorise(problem)
            return
        stale = self.steps > MACHINE.lane_renewal
        if stale and self._cheap_beside(problem, side, self.steps - 2):
            self.sample *= 4
        fresh = not self.matrices or stale or self._cheap_beside(problem, side, 1)
        self.passes = 0.0
        if fresh:
            lanes = problem.used if self._of_each_lane(problem, side) else 1
            self.passes = lanes * self._rows_used(problem, side) / count
            self.matrices = self._curvatures(problem, curvature, side)
        if fresh or self.factor_C != problem.C:
            self._factorise(problem)

    def _factorise(self, problem: LanesProblem) -> None:
        factors = [_factor(problem, K) for K in self.matrices]
        self.factors = factors[0] if len(factors) == 1 else ByColumn(factors)
        self.factor_C = problem.C

    def _of_each_lane(self, problem: LanesProblem, side: int) -> bool:
        return self.sample * side >= 16 * problem.rows.count

    def _rows_used(self, problem: LanesProblem, side: int) -> int:
        return min(problem.rows.count, max(self.sample * side, 2000))

    def _cheap_beside(self, problem: LanesProblem, side: int, products: int) -> bool:
        """Whether new matrices and factors cost less than so many products with the data."""
        count = problem.used if self._of_each_lane(problem, side) else 1
        cost = count * _matrix_cost(problem, self._rows_used(problem, side), side)
        return cost <= products * _product_cost(problem)

    def _of_lanes(self, problem: LanesProblem, curvature: Matrix) -> list[NDArray[np.float64]]:
        rows, free = problem.rows, problem.free_intercept
        work = [
            lambda lane=lane: rows.gram(curvature[:, lane] / problem.C, free)
            for lane in range(problem.used)
        ]
        return in_threads(work, problem.threads)

    def _curvatures(
        self, problem: LanesProblem, curvature: Matrix, side: int
    ) -> list[NDArray[np.float64]]:
        rows, used, free = problem.rows, problem.used, problem.free_intercept
        if self._of_each_lane(problem, side):
            return self._of_lanes(problem, curvature)
        size = self._rows_used(problem, side)
        scale = rows.count / size / used / problem.C
        if size == rows.count:
            return [rows.gram(scale * curvature.sum(axis=1), free)]
        subset = (np.arange(size, dtype=np.int64) * rows.count) // size
        return [rows.take(subset).gram(scale * curvature[subset].sum(axis=1), free)]

    def solve(self, right: Matrix) -> Matrix:
        """Return the solution of the preconditioner's system."""
        assert self.factors is not None
        return self.factors.solve(right)


def _matrix_cost(problem: LanesProblem, examples: int, side: int) -> float:
    """Price a matrix over so many examples, and its factor."""
    return problem.rows.size.gram(examples) + work.factor(side)


def _product_cost(problem: LanesProblem) -> float:
    """Price a product with the Hessians of all lanes."""
    return problem.rows.size.block_product(problem.lanes, 2.0)


def _factor(problem: LanesProblem, K: NDArray[np.float64]) -> Factor:
    matrix = problem.C * K
    np.einsum("ii->i", matrix)[: problem.rows.weights] += 1.0
    # Where no example has curvature the intercept has none either.
    factor = cholesky(matrix, flat=slice(-1, None) if problem.free_intercept else None)
    # The identity stands in where the objective has overflowed.
    return Factor(np.eye(len(K), order="F")) if factor is None else factor


@dataclass(eq=False)
class LanesNewtonState(State):
    """Weights and intercepts of all lanes, their scores, and the dual point of the last step."""

    problem: LanesProblem
    settings: Settings
    w: Matrix
    b: Vector
    scores: Matrix
    dual: Matrix
    alpha: Matrix
    curvature: Matrix
    primals: Vector
    preconditioner: AveragedHessian

    @property
    def point(self) -> Point:
        """The current point; the dual variables come times their labels."""
        return Point(self.w, self.b, self.dual)


class LanesNewton:
    """Minimise the primals of all lanes by second-order steps."""

    name = "newton"
    serves: ClassVar[type[LanesProblem]] = LanesProblem

    def refuses(self, problem: LanesProblem) -> str | None:
        """Support the losses that have second derivatives."""
        if not (problem.loss.smooth and problem.loss.compiled):
            return f"lanes need a compiled loss with second derivatives, not {problem.loss.name}"
        return None

    def start(
        self, problem: LanesProblem, warm: Point | None, settings: Settings
    ) -> LanesNewtonState:
        """Start at w = 0, or at the warm point moved along the path so far."""
        point = problem.cold_point() if warm is None else warm
        w, b, dual = point.w, np.asarray(point.b, dtype=float), point.alpha
        shape = (problem.rows.count, problem.lanes)
        scores = problem.scores(w) if w.any() else np.zeros(shape)
        known = problem.products
        if known.start is not None and warm is not None:
            w, b, scores = _extrapolated(problem, w, b, scores)
        alpha, curvature = np.empty(shape), np.empty(shape)
        primals = problem.primals(w, problem.terms(scores, b, alpha, curvature))
        if not isinstance(known.preconditioner, AveragedHessian):
            known.preconditioner = AveragedHessian()
        return LanesNewtonState(
            problem,
            settings,
            w.copy(),
            b.copy(),
            scores.copy(),
            dual,
            alpha,
            curvature,
            primals,
            known.preconditioner,
        )

    def advance(self, state: LanesNewtonState) -> None:
        """Take one step in every lane."""
        problem = state.problem
        # 1) gradient
        gradient = state.w - problem.combine(state.alpha)
        if problem.free_intercept:
            gradient = np.vstack([gradient, -state.alpha.sum(axis=0)])
        # 2) direction
        state.preconditioner.prepare(problem, state.curvature)
        accuracy = 0.3 * state.settings.tol * state.primals
        direction, residual, steps = _conjugate_gradients(
            problem, state.curvature, -gradient, state.preconditioner, accuracy
        )
        if not state.preconditioner.exact:
            state.preconditioner.steps = steps
        p = np.ascontiguousarray(direction[: problem.rows.weights])
        p_b = direction[-1].copy() if problem.free_intercept else np.zeros(problem.lanes)
        slopes = problem.scores(p)
        state.passes += 1 + steps + state.preconditioner.passes
        # 3) step
        at_zero = np.einsum("jl,jl->l", gradient, direction)
        if not (at_zero < 0.0).any():
            state.finished = True
            return
        dual = np.empty_like(state.alpha)
        problem.core.linear_dual(state.alpha, state.curvature, slopes, p_b, dual)
        values = problem.dual_values(dual, state.w + p + residual[: problem.rows.weights])
        fill = (np.empty_like(state.alpha), np.empty_like(state.curvature))
        t, losses = _step(problem, state, p, p_b, slopes, at_zero, fill)
        # There is no checkpoint before the state is whole again.
        state.w = state.w + t * p
        state.b = state.b + t * p_b
        state.scores = state.scores + t * slopes
        state.alpha, state.curvature = fill
        state.primals = problem.primals(state.w, losses)
        state.dual = dual
        state.active = int(np.count_nonzero(state.curvature[:, 0]))
        # Where many dual variables were brought back into their range, D is less than it seems.
        promised = float(np.sum(-0.5 * at_zero, where=at_zero < 0.0))
        rest = 0.5 * float(np.einsum("jl,jl->", residual, residual))
        gap = max(float((state.primals - values).sum()), rest + 0.02 * promised)
        state.expected_gap = gap / float(state.primals.sum())


def _extrapolated(
    problem: LanesProblem, w: Matrix, b: Vector, scores: Matrix
) -> tuple[Matrix, Vector, Matrix]:
    """Move on along the line through the last two solutions, as far as the objective falls.

    The scores of both are known, so that this reads no data.
    """
    start, before = problem.products.start, problem.products.before
    assert start is not None
    # Before the first solution there is w = 0, the one at C = 0.
    dw, db, slopes = start.w, start.b, start.scores
    if before is not None:
        dw, db, slopes = dw - before.w, db - before.b, slopes - before.scores
    wd, dd = np.einsum("jl,jl->l", w, dw), np.einsum("jl,jl->l", dw, dw)
    t = np.full(problem.lanes, 0.7)
    best, best_value = np.zeros(problem.lanes), problem.known_losses(w, b, scores)
    for _ in range(2):
        value, first, second = problem.terms_along(scores, b, slopes, db, t)
        value = value + t * wd + 0.5 * t * t * dd
        better = value < best_value
        best, best_value = np.where(better, t, best), np.where(better, value, best_value)
        curvature = second + dd
        step = np.divide(first + wd + t * dd, curvature, out=np.zeros_like(t), where=curvature > 0)
        t = np.clip(t - step, 0.0, 3.0)
    return w + best * dw, b + best * db, scores + best * slopes


def _conjugate_gradients(
    problem: LanesProblem,
    curvature: Matrix,
    right: Matrix,
    preconditioner: AveragedHessian,
    accuracy: Vector,
) -> tuple[Matrix, Matrix, int]:
    """Solve all lanes together; a lane that is done waits for the others."""
    if preconditioner.exact:
        return preconditioner.solve(right), np.zeros_like(right), 0
    weights, zero = problem.rows.weights, np.zeros(problem.lanes)

    def product(direction: Matrix) -> Matrix:
        head = np.ascontiguousarray(direction[:weights])
        shift = direction[-1].copy() if problem.free_intercept else zero
        image = problem.curvature_product(curvature, head, shift)
        image[:weights] += head
        return image if problem.free_intercept else image[:weights]

    return conjugate_gradients(
        product,
        right,
        preconditioner.solve,
        NewtonAccuracy(right, accuracy, _FAR),
        MACHINE.lane_products,
    )


def _step(
    problem: LanesProblem,
    state: LanesNewtonState,
    p: Matrix,
    p_b: Vector,
    slopes: Matrix,
    at_zero: Vector,
    fill: tuple[Matrix, Matrix],
) -> tuple[Vector, Vector]:
    """Return the step of each lane and the losses there, trying 1 first; fill in its terms."""
    wd, dd = np.einsum("jl,jl->l", state.w, p), np.einsum("jl,jl->l", p, p)
    low, high = np.zeros(problem.lanes), np.full(problem.lanes, np.inf)
    t = np.where(at_zero < 0.0, 1.0, 0.0)
    for _ in range(30):
        losses, first, second = problem.terms_along(state.scores, state.b, slopes, p_b, t, fill)
        slope = first + wd + t * dd
        good = (np.abs(slope) <= 0.3 * np.abs(at_zero)) | (t == 0.0)
        if good.all():
            break
        high = np.where(~good & (slope > 0.0), t, high)
        low = np.where(~good & (slope <= 0.0), t, low)
        curvature = second + dd
        newton = t - np.divide(slope, curvature, out=np.zeros_like(t), where=curvature > 0.0)
        middle = np.where(np.isfinite(high), 0.5 * (low + np.minimum(high, 1e300)), 2.0 * low)
        inside = (newton > low) & (newton < high)
        t = np.where(good, t, np.where(inside, newton, middle))
    return t, losses
