"""What the second-order methods share: Newton directions, exact line searches, growing samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from widemargin.kernels import core
from widemargin.problems.binary import BinaryProblem

Vector = NDArray[np.float64]

LARGEST_FACTORISED = 2000
"""Weights up to which the Hessian is formed: 32 MB, and a factorisation of about 0.1 s."""

_MOST_STEPS = 30
"""Conjugate gradient steps at most; who needs as many twice has the matrix formed from then on."""

_MANY_STEPS = 12
"""Conjugate gradient steps after which a stale factor is renewed from a sample, before the next."""

_SAMPLE_PER_FACTOR = 20
"""Examples a weight in that sample: enough for five or so steps."""

_FAR = 500
"""Promised decreases above this many times the accuracy asked for are far from the solution."""

_FEW_CHANGES = 0.3
"""Examples come and gone, as a share of those there, up to which the matrix follows them."""

_SAMPLE_PER_WEIGHT = 10
_SAMPLE_GROWTH = 4
_LAST_PER_WEIGHT = 50
"""Rows a weight that the largest sample should have; with fewer in a quarter it is a third, unless
the rows are so few that the steps on all of them cost no more."""

MANY_PER_WEIGHT = 200
"""Rows a weight from which samples of them are large enough to tell about the rest."""

SAMPLE_ERROR = 2.0
"""A sample is left when less than this times its statistical error, d/m of P, is to be gained."""


@dataclass
class NewtonSystem:
    """Solves (I + Σ h_i x_i x_iᵀ) p = −g, with the intercept's unpenalised row and column.

    While the weights are few the matrix is formed and factorised. Where forming it costs much more
    than a product with it, the last factor serves as preconditioner of conjugate gradients until
    it no longer does: a sample's factor is that good for the whole.
    """

    factor: NDArray[np.float64] | None = None
    failures: int = 0
    last_steps: int = 0
    sums: CurvedRows | None = None
    residual: Vector | None = None
    """What the last direction left of the equation, −g − H p; None where it was solved exactly."""

    def direction(
        self,
        problem: BinaryProblem,
        curvature: Vector,
        gradient: Vector,
        gradient_b: float,
        accuracy: float,
        level: float | None = None,
    ) -> tuple[Vector, float]:
        """Return p and its intercept part.

        Parameters
        ----------
        level : float, optional
            Given if h_i is either zero or this multiple of the cost of example i: the matrix then
            changes only by the examples that came or went.
        accuracy : float
            Half the squared residual that does no harm.
        """
        free = problem.free_intercept
        right = -np.append(gradient, gradient_b) if free else -gradient
        if problem.rows.weights > LARGEST_FACTORISED:
            diagonal = 1.0 + problem.rows.curvature_diagonal(curvature)
            if free:
                diagonal = np.append(diagonal, curvature.sum() + 1e-12)
            solution, self.residual, _ = _conjugate_gradients(
                problem, curvature, right, lambda r: r / diagonal, accuracy, 100
            )
        else:
            solution = self._with_factor(problem, curvature, right, accuracy, level)
        return (solution[:-1], float(solution[-1])) if free else (solution, 0.0)

    def _with_factor(
        self,
        problem: BinaryProblem,
        curvature: Vector,
        right: Vector,
        accuracy: float,
        level: float | None,
    ) -> Vector:
        dear = matrix_is_dear(problem)
        sums = None
        # On the rounded hinge many come and go with every step; it has to be worth the looking.
        if level is not None and (dear or problem.loss.smooth):
            sums = CurvedRows.following(self.sums, problem, curvature)
        cheap = sums is not None and sums.share <= _FEW_CHANGES
        by_products = dear and not cheap and self.failures < 2
        stale = self.last_steps > _MANY_STEPS
        if by_products and (stale or (self.factor is None and level is None)):
            self._factorise_sample(problem, curvature)
        if by_products and self.factor is not None:
            solution, self.residual, self.last_steps = _conjugate_gradients(
                problem,
                curvature,
                right,
                lambda r: dpotrs(self.factor, r, lower=0)[0],
                accuracy,
                _MOST_STEPS,
            )
            if self.last_steps < _MOST_STEPS:
                return solution
            self.failures += 1
            if level is None:
                # Most of the way all the same, and the next step has a factor of its own.
                return solution
        # `last_steps` stays: the next factor is a sample's again, which holds better than this one
        # where the curvature moves on (measured: proximal Newton on mnist at C = 100).
        self.residual = self.factor = None
        if sums is None or level is None:
            matrix = problem.rows.gram(curvature, problem.free_intercept)
        else:
            matrix = level * sums.matrix(curvature, level)
            self.sums = sums
        if not self._factorise(problem, matrix):
            return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])
        return np.asarray(dpotrs(self.factor, right, lower=0)[0])

    def _factorise(self, problem: BinaryProblem, matrix: NDArray[np.float64]) -> bool:
        """Add the penalty to Σ h_i x_i x_iᵀ and factorise it in place, if it can be.

        If not, the matrix is left as it was, with the penalty.
        """
        diagonal = np.einsum("ii->i", matrix)
        diagonal[: problem.rows.weights] += 1.0
        if problem.free_intercept:
            # Where no example has curvature the intercept would have none either.
            matrix[-1, -1] += 1e-10 * (1.0 + matrix[-1, -1])
        kept = diagonal.copy()
        factor, info = dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)
        if info == 0:
            self.factor = factor
            return True
        # Only the lower triangle was written to: the other one says what was there.
        self.factor = None
        matrix[:] = np.triu(matrix, 1)
        core.symmetrise(matrix)
        diagonal[:] = kept
        return False

    def _factorise_sample(self, problem: BinaryProblem, curvature: Vector) -> None:
        """Renew the factor from a sample of the examples, where that is much less work than all.

        The more curvature an example has, the more likely it is drawn, and the less it counts for.
        """
        size = _SAMPLE_PER_FACTOR * problem.rows.weights
        if 3 * size > problem.rows.count:
            return
        chance = np.minimum(curvature * (size / curvature.sum()), 1.0)
        drawn = np.flatnonzero(np.diff(np.floor(np.cumsum(chance)), prepend=0.0) > 0.0)
        sample, stale = problem.rows.take(drawn), self.factor
        matrix = sample.gram(curvature[drawn] / chance[drawn], problem.free_intercept)
        if not self._factorise(problem, matrix):
            self.factor = stale


@dataclass
class CurvedRows:
    """Σ c_i x_i x_iᵀ over the examples that have curvature, kept from one step to the next.

    Near the solution hardly any example comes or goes, and the matrix costs next to nothing.
    """

    problem: BinaryProblem
    members: NDArray[np.bool_]
    before: CurvedRows | None
    came: NDArray[np.int64]
    went: NDArray[np.int64]
    total: NDArray[np.float64] | None = None

    @classmethod
    def following(
        cls, before: CurvedRows | None, problem: BinaryProblem, curvature: Vector
    ) -> CurvedRows:
        """Compare with the step before, if that was on the same examples."""
        members = curvature > 0.0
        none = np.empty(0, np.int64)
        if before is None or before.problem is not problem:
            return cls(problem, members, None, none, none)
        changed = np.flatnonzero(members ^ before.members)
        came = members[changed]
        return cls(problem, members, before, changed[came], changed[~came])

    @property
    def share(self) -> float:
        """The changes, as a share of what the whole sum would cost."""
        if self.before is None:
            return np.inf
        return (self.came.size + self.went.size) / max(1, int(np.count_nonzero(self.members)))

    def matrix(self, curvature: Vector, level: float) -> NDArray[np.float64]:
        """Return the sum: the one before and its changes, or all anew if that is less work."""
        rows, free = self.problem.rows, self.problem.free_intercept
        if self.before is None or self.before.total is None or self.share >= 1.0:
            total = rows.gram(curvature, free)
            total /= level
        else:
            total = self.before.total
            for changed, sign in ((self.came, 1.0), (self.went, -1.0)):
                part = rows.take(changed).gram(self.problem.cost[changed], free)
                total += sign * part
        self.total, self.before = total, None
        return total


def matrix_is_dear(problem: BinaryProblem) -> bool:
    """Whether forming the matrix costs more than about ten products with it (measured)."""
    mean = problem.rows.view.nonzeros / max(1, problem.rows.count)
    scattered, tiled = 0.4 * mean * mean, 0.05 * problem.rows.weights**2
    dear = min(scattered, tiled)
    return dear > 10 * 1.3 * mean and dear * problem.rows.count > 5e6


def _conjugate_gradients(
    problem: BinaryProblem,
    curvature: Vector,
    right: Vector,
    precondition: Callable[[Vector], Vector],
    accuracy: float,
    most: int,
) -> tuple[Vector, Vector, int]:
    """Solve to `accuracy`; return the solution, its residual and the number of steps."""
    free = problem.free_intercept

    def product(d: Vector) -> Vector:
        w, b = (d[:-1], float(d[-1])) if free else (d, 0.0)
        image, share = problem.rows.curvature_product(curvature, w, b)
        image += w
        return np.append(image, share) if free else image

    p, r = np.zeros_like(right), right.copy()
    z = precondition(r)
    d, rz = z.copy(), float(r @ z)
    start = rz
    if rz <= 0.0:
        return p, r, 0
    for step in range(1, most + 1):
        q = product(d)
        length = rz / float(d @ q)
        p += length * d
        r -= length * q
        z = precondition(r)
        fresh = float(r @ z)
        # Far from the solution a hundredth of the promised decrease is exact enough; near it the
        # residual itself enters the duality gap.
        promised = abs(float(p @ right))
        if promised > _FAR * accuracy:
            if fresh <= 0.01 * max(promised, start):
                return p, r, step
        elif 0.5 * max(float(r @ r), fresh) <= accuracy or fresh <= 1e-6 * start:
            return p, r, step
        d = z + (fresh / rz) * d
        rz = fresh
    return p, r, most


def line_search(derivatives: Callable[[float], tuple[float, float]], at_zero: float) -> float:
    """Return a step at which the slope is at most a tenth of what it was, trying 1 first.

    Parameters
    ----------
    derivatives : callable
        Gives first and second derivative of the objective along the direction at a step.
    at_zero : float
        The first derivative at step zero, negative.
    """
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(40):
        first, second = derivatives(t)
        if abs(first) <= 0.1 * abs(at_zero):
            return t
        if first > 0.0:
            high = t
        else:
            low = t
        t = t - first / second if second > 0.0 else np.inf
        if not low < t < high:
            t = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low
    return t


def has_samples(problem: BinaryProblem) -> bool:
    """Whether a part of the rows is enough for steps of their own."""
    return (
        problem.rows.weights <= LARGEST_FACTORISED
        and problem.rows.count // _SAMPLE_GROWTH >= _smallest_sample(problem)
    )


def _smallest_sample(problem: BinaryProblem) -> int:
    return max(_SAMPLE_PER_WEIGHT * problem.rows.weights, 500)


def growing_samples(problem: BinaryProblem, seed: int) -> list[NDArray[np.int64] | None]:
    """Return row numbers of growing samples, ending with None for all rows."""
    count, weights = problem.rows.count, problem.rows.weights
    stages: list[NDArray[np.int64] | None] = [None]
    if not has_samples(problem):
        return stages
    smallest = _smallest_sample(problem)
    random = np.random.default_rng(seed)
    size = count // _SAMPLE_GROWTH
    if size < _LAST_PER_WEIGHT * weights and count >= 2 * _LAST_PER_WEIGHT * weights:
        size = count // 3
    while size >= smallest:
        sample = spread_sample(problem, size, random)
        if sample is None:
            break
        stages.insert(0, sample)
        size //= _SAMPLE_GROWTH
    return stages


def spread_sample(
    problem: BinaryProblem, size: int, random: np.random.Generator
) -> NDArray[np.int64] | None:
    """Return row numbers of a sample, in order; None if it would not stand for all.

    One row from each of `size` equal stretches: as random as it needs to be, and without a
    permutation of all rows. Rows without cost are left out.
    """
    edges = np.linspace(0, problem.rows.count, size + 1).astype(np.int64)
    subset = edges[:-1] + (random.random(size) * np.diff(edges)).astype(np.int64)
    kept = subset[problem.cost[subset] > 0.0]
    signs = problem.y[kept]
    if kept.size < size // 2 or not (signs > 0).any() or not (signs < 0).any():
        return None
    return kept
