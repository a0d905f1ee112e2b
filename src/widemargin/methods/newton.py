"""Newton's method on the primal, for losses with a (generalised) second derivative.

While the weights are few, the Hessian I + Σ h_i x_i x_iᵀ is formed and factorised; otherwise the
step comes from preconditioned conjugate gradients. When there are many more examples than weights,
the first steps are taken on growing samples of the examples: a sample of m of them finds the
weights to within their statistical error, of order d/m, at m/n of the price, so that the whole data
are left with the last two or three steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from widemargin.kernels import core
from widemargin.methods.base import Settings, cold_point
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]

LARGEST_FACTORISED = 2000
"""Weights up to which the Hessian is formed: 32 MB, and a factorisation of about 0.1 s."""

_SAMPLE_PER_WEIGHT = 10
_SAMPLE_GROWTH = 6


@dataclass(eq=False)
class NewtonState:
    """Weights and their scores on the stage's examples; `stages` are still to come."""

    whole: BinaryProblem
    settings: Settings
    problem: BinaryProblem
    stages: list[NDArray[np.int64] | None]
    w: Vector
    b: float
    alpha: Vector
    scores: Vector
    combination: Vector | None = None
    active: int = 0
    expected_gap: float = np.inf
    passes: float = 0.0
    finished: bool = False
    steps_in_stage: int = field(default=0)

    @property
    def point(self) -> Point:
        """The current point; between stages the dual variables are those of the start."""
        return Point(self.w, self.b, self.alpha)


class Newton:
    """Minimise the primal by second-order steps with an exact line search."""

    name = "newton"

    def refuses(self, problem: BinaryProblem) -> str | None:
        """Serve the losses that have second derivatives."""
        if not problem.loss.smooth:
            return (
                f"solver 'newton' needs a loss with second derivatives, which '{problem.loss.name}'"
                " has not; the nearest solver that serves it is 'interior_point'"
            )
        return None

    def start(self, problem: BinaryProblem, warm: Point | None, settings: Settings) -> NewtonState:
        """Start at w = 0 on a sample, or at the warm point on all examples."""
        point = cold_point(problem) if warm is None else warm
        stages = [None] if warm is not None else _samples(problem, settings.seed)
        state = NewtonState(
            problem,
            settings,
            problem,
            stages,
            point.w.copy(),
            point.b if problem.free_intercept else 0.0,
            point.alpha,
            scores=np.empty(0),
        )
        self._enter_stage(state)
        return state

    def advance(self, state: NewtonState) -> None:
        """Take one Newton step on the examples of the present stage."""
        problem = state.problem
        loss, y, cost = problem.loss, problem.y, problem.cost

        # 1) gradient and curvature
        alpha, curvature = loss.terms(y, cost, state.scores, state.b)
        signed = alpha * y
        combination = problem.rows.combine(signed)
        gradient = state.w - combination
        gradient_b = -float(signed.sum()) if problem.free_intercept else 0.0

        # 2) direction
        if problem.rows.weights <= LARGEST_FACTORISED:
            direction, direction_b = _factorised(problem, curvature, gradient, gradient_b)
        else:
            direction, direction_b = _conjugate_gradients(problem, curvature, gradient, gradient_b)
        slopes = problem.rows.scores(direction)
        share = problem.rows.count / state.whole.rows.count
        state.passes += 3 * share

        # 3) exact line search; it reads scores and slopes, not the data
        step, decrease = _line_search(problem, state, direction, direction_b, slopes)
        if step == 0.0:
            state.finished = not state.stages
            if state.stages:
                self._enter_stage(state)
            return
        w = state.w + step * direction
        b = state.b + step * direction_b
        scores = state.scores + step * slopes

        # 4) the dual point that the linearised optimality conditions give: exactly w(α) = w + p
        linear = alpha - curvature * y * (slopes + direction_b)
        upper = loss.upper(cost)
        clipped = np.clip(linear, 0.0, upper)
        state.steps_in_stage += 1
        state.w, state.b, state.scores = w, b, scores
        state.active = int(np.count_nonzero(curvature))
        primal = problem.primal(w, b, scores)
        if problem is state.whole:
            state.alpha = clipped
            image = state.w if step == 1.0 else w + (1.0 - step) * direction
            expected = primal - problem.dual(clipped, image)
            state.expected_gap = max(expected, 0.0) / primal
        elif decrease <= 0.5 * primal * problem.rows.weights / problem.rows.count:
            # The step gained less than the sample's own error: a larger sample has more to say.
            self._enter_stage(state)

    def _enter_stage(self, state: NewtonState) -> None:
        subset = state.stages.pop(0)
        state.problem = state.whole if subset is None else state.whole.subproblem(subset)
        state.scores = (
            state.problem.rows.scores(state.w)
            if state.w.any()
            else np.zeros(state.problem.rows.count)
        )
        state.steps_in_stage = 0


def _samples(problem: BinaryProblem, seed: int) -> list[NDArray[np.int64] | None]:
    """Return row numbers of growing samples, ending with None for all rows."""
    count, weights = problem.rows.count, problem.rows.weights
    stages: list[NDArray[np.int64] | None] = [None]
    if weights > LARGEST_FACTORISED:
        return stages
    smallest = max(_SAMPLE_PER_WEIGHT * weights, 500)
    random = np.random.default_rng(seed)
    size = count // _SAMPLE_GROWTH
    while size >= smallest:
        # One row from each of `size` equal stretches: as random as it needs to be, in order, and
        # without a permutation of all rows.
        edges = np.linspace(0, count, size + 1).astype(np.int64)
        subset = edges[:-1] + (random.random(size) * np.diff(edges)).astype(np.int64)
        kept = subset[problem.cost[subset] > 0.0]
        signs = problem.y[kept]
        if kept.size < size // 2 or not (signs > 0).any() or not (signs < 0).any():
            break
        stages.insert(0, kept)
        size //= _SAMPLE_GROWTH
    return stages


def _factorised(
    problem: BinaryProblem, curvature: Vector, gradient: Vector, gradient_b: float
) -> tuple[Vector, float]:
    matrix = problem.rows.gram(curvature, problem.free_intercept)
    weights = problem.rows.weights
    np.einsum("ii->i", matrix)[:weights] += 1.0
    right = gradient
    if problem.free_intercept:
        # Where no example has curvature the intercept would have none either.
        matrix[-1, -1] += 1e-12 * (1.0 + matrix[-1, -1])
        right = np.append(gradient, gradient_b)
    _, solution, info = dposv(matrix, right, lower=0, overwrite_a=1)
    if info != 0:
        solution = np.linalg.lstsq(matrix, right, rcond=None)[0]
    if problem.free_intercept:
        return -solution[:-1], -float(solution[-1])
    return -solution, 0.0


def _conjugate_gradients(
    problem: BinaryProblem, curvature: Vector, gradient: Vector, gradient_b: float
) -> tuple[Vector, float]:
    """Solve H p = −g to a tolerance that tightens with the gradient, diagonal preconditioner."""
    free = problem.free_intercept
    diagonal = 1.0 + problem.rows.curvature_diagonal(curvature)
    diagonal_b = float(curvature.sum()) + 1e-12
    p, p_b = np.zeros_like(gradient), 0.0
    r, r_b = -gradient, -gradient_b
    z, z_b = r / diagonal, (r_b / diagonal_b if free else 0.0)
    d, d_b = z.copy(), z_b
    rz = float(r @ z) + r_b * z_b
    start = rz
    for _ in range(100):
        product, share = problem.rows.curvature_product(curvature, d, d_b)
        product += d
        step = rz / (float(d @ product) + (share * d_b if free else 0.0))
        p += step * d
        p_b += step * d_b
        r -= step * product
        if free:
            r_b -= step * share
        z = r / diagonal
        z_b = r_b / diagonal_b if free else 0.0
        fresh = float(r @ z) + r_b * z_b
        if fresh <= 0.01 * start:
            break
        d = z + (fresh / rz) * d
        d_b = z_b + (fresh / rz) * d_b
        rz = fresh
    return p, p_b


def _line_search(
    problem: BinaryProblem, state: NewtonState, direction: Vector, direction_b: float, slopes: Vector
) -> tuple[float, float]:
    """Return a step along the direction, and the decrease that the quadratic model promises."""
    wd, dd = float(state.w @ direction), float(direction @ direction)

    def derivative(t: float) -> tuple[float, float]:
        first, second = core.derivatives_along(
            problem.loss.name,
            problem.y,
            problem.cost,
            state.scores,
            state.b,
            slopes,
            direction_b,
            t,
        )
        return first + wd + t * dd, second + dd

    at_zero, _ = derivative(0.0)
    if at_zero >= 0.0:
        return 0.0, 0.0
    decrease = -0.5 * at_zero
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(30):
        first, second = derivative(t)
        if abs(first) <= 0.1 * abs(at_zero):
            return t, decrease
        if first > 0.0:
            high = t
        else:
            low = t
        t -= first / second
        if not low < t < high:
            t = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low
    return t, decrease
