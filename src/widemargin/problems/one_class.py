"""One class: min ½‖w‖² + Σ c_i max(0, ρ − w·x_i) − Mρ with M = ν Σ c_i.

The dual is D(α) = −½‖Σ α_i x_i‖² over 0 ≤ α_i ≤ c_i, Σ α_i = M. With b = 1 − ρ the losses are
hinges of w·x_i + b, so that their compiled loops serve here too. For the margin 1 to be of the size
of the scores, all costs are multiplied by a power of two: weights, ρ and α are then multiples of
the given problem's, P and D are by its square, and nothing is rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.cached import cached_property
from widemargin.data.quick_init import quick_init
from widemargin.data.rows import Rows
from widemargin.instruction_sets import core
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.linear import LinearProblem
from widemargin.problems.losses import HINGE
from widemargin.problems.margins import Bound
from widemargin.problems.rounding import (
    ACCURACY,
    UNDERFLOW,
    UNIT,
    Magnitudes,
    ScoreError,
    combination_error,
    growth,
    half_square_error,
    upper_norm,
    worth_repeating,
)

if TYPE_CHECKING:
    from typing_extensions import Self

Vector = NDArray[np.float64]

_NOTHING = UNIT
"""Share of the largest ‖w‖² below which weights are nothing but cancellation: half the digits of
every score are gone."""

_SUMMED = 16.0 * UNIT
"""What a sum of dual variables may be off M by, relative to it, for no projection to be due."""


@quick_init
@dataclass(frozen=True, eq=False)
class OneClassProblem(LinearProblem):
    """The half-space furthest from the origin that holds all but a share ν of weighted rows.

    Attributes
    ----------
    mass : float
        M, rounded.
    power : int
        The given costs were multiplied by 2 to this power.
    """

    kind: ClassVar[str] = "one-class problems"

    mass: float
    power: int

    @classmethod
    def stated(cls, rows: Rows, cost: Vector, nu: float) -> OneClassProblem:
        """State the problem of rows with costs; some cost is positive."""
        first = float(cost[0])
        total = first * cost.size if (cost == first).all() else math.fsum(cost)
        size = nu * total * rows.mean_squared_norm
        power = -round(math.log2(size)) if size > 0.0 else 0
        mass = math.ldexp(nu * total, power)
        ones = np.ones(rows.count)
        return cls(rows.remembering(), ones, _scaled(cost, power), HINGE, True, mass, power)

    @cached_property
    def core(self) -> core.BinaryCore:
        """The compiled kernels on this problem's arrays."""
        return core.BinaryCore(self.rows.view, self.loss.name, self.y, self.cost)

    @property
    def corner(self) -> Any:
        """The compiled kernels of the rounded hinge."""
        return self.core

    def given(self, value: Any) -> Any:
        """Return weights, ρ or dual variables in the units of the given problem, exactly."""
        return _scaled(value, -self.power)

    def own(self, value: Any) -> Any:
        """Undo `given`."""
        return _scaled(value, self.power)

    def cold_point(self) -> Point:
        """Return w = 0, ρ = 0 and equal shares of all rows."""
        share = self.mass / float(self.cost.sum())
        return Point(np.zeros(self.rows.weights), 1.0, np.minimum(share, 1.0) * self.cost)

    def rescaled(self, factor: float) -> Self:
        """Return the problem with all costs multiplied."""
        return replace(self, cost=factor * self.cost, mass=factor * self.mass)

    def residual(self, alpha: Vector) -> float:
        """Return Σ α_i − M, which is zero where α is feasible."""
        return float(alpha.sum()) - self.mass

    @property
    def linear_intercept(self) -> float:
        """M: the slope of P in b, beside that of the losses."""
        return self.mass

    def primal(self, w: Vector, b: float, scores: Vector) -> float:
        """Return P for weights whose scores are known."""
        return super().primal(w, b, scores) + self.mass * (b - 1.0)

    def dual(self, alpha: Vector, combination: Vector) -> float:
        """Return D for α whose combination Σ α_i x_i is known."""
        return -0.5 * float(combination @ combination)

    def magnitude(self, primal: float) -> float:
        """Return |P|, or the size below which it counts as zero."""
        return max(abs(primal), self._least)

    def relative(self, gap: float, primal: float) -> float:
        """Return a gap as a share of ``|D|``, which is above ``|P|``."""
        return gap / max(gap - primal, self._least)

    @cached_property
    def _least(self) -> float:
        """What |P| counts as zero below."""
        return 0.5 * _NOTHING * self.mass**2 * self.rows.mean_squared_norm + UNDERFLOW

    def feasible(self, alpha: Vector) -> Vector:
        """Return the point of the box with Σ α_i = M nearest to α; what is left is priced."""
        alpha = np.ascontiguousarray(alpha, dtype=np.float64)
        total, inside = core.box_sum(alpha, self.cost)
        if inside and abs(total - self.mass) <= _SUMMED * self.mass:
            return alpha
        start = self.loss.clip(alpha if np.isfinite(total) else np.nan_to_num(alpha), self.cost)
        if abs(float(start.sum()) - self.mass) <= _SUMMED * self.mass:
            return start
        nearest = np.empty_like(start)
        core.project_box(start, 1.0, 1.0, 0.0, self.cost, self.mass, nearest)
        return nearest

    def best_offset(self, scores: Vector, guess: float = math.nan) -> float:
        """Return the ρ that minimises P for these scores: a weighted quantile of them."""
        return float(core.weighted_quantile(scores, self.cost, self.mass, guess))

    def point_at(self, w: Vector, b: float) -> Point:
        """Return the point with these weights and dual variables that belong to them."""
        duals = self.loss.duals(self.y, self.cost, self.rows.scores(w), b)
        return Point(w, b, self.feasible(duals))

    def primal_at(self, w: Vector, b: float) -> float:
        """Return P at any weights and ρ = 1 − b, in given units, from above, rounding included."""
        if b == 1.0 and not w.any():
            return 0.0
        return self._primal(w, 1.0 - b, None).upper * 4.0**-self.power

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data.

        α is projected onto the dual's feasible set, ρ becomes the best for w, and both the best
        multiple of themselves: along a ray from the origin P is a parabola.
        """
        alpha = self.feasible(point.alpha)
        scores, v = self._products(point.w, alpha)
        dual = self._dual(alpha, v, False, accuracy)
        allowed = accuracy * max(abs(dual.value), self._least)
        w, rho, primal = self._best_multiple(point.w, 1.0 - point.b, scores, allowed)
        del scores
        gap, allowance = primal.value - dual.value, primal.allowance + dual.allowance
        if worth_repeating(allowance, gap, allowed):
            exact = self._primal(w, rho, None)
            primal = min(primal, exact, key=lambda bound: bound.upper)
            v = self.rows.compensated_combination(alpha, self.y)
            dual = self._dual(alpha, v, True, accuracy)
        if not primal.upper < 0.0:  # no weights at all are better
            w, rho, primal = np.zeros_like(w), 0.0, Bound(0.0, 0.0)
        square, size = 4.0**-self.power, self._least
        proof = Certificate.bounds(*primal, *dual)
        proof = Certificate(
            *(proof.primal * square, proof.dual * square, proof.rounding * square), size * square
        )
        return Point(w, 1.0 - rho, alpha), proof

    def _products(self, w: Vector, alpha: Vector) -> tuple[Vector, Vector]:
        """Return the scores of w and Σ α_i x_i, which may be known; not to be written to."""
        scores, v = self.rows.known_scores(w, copy=False), self.rows.known_combination(alpha)
        if scores is None and v is None:
            return self.rows.scores_and_combination(w, alpha, self.y)
        scores = self.rows.scores(w) if scores is None else scores
        return scores, self.rows.combine(alpha) if v is None else v

    def _best_multiple(
        self, w: Vector, rho: float, scores: Vector, allowed: float
    ) -> tuple[Vector, float, Bound]:
        """Return weights, ρ and P at the multiple that lowers P most; ρ may be the best already.

        The multiple is one where it would lower P by less than a tenth of what rounding may cost.
        """
        # What 1 − b comes to, where b is what the point carries.
        rho = self.best_offset(scores, rho)
        rho, squared = 1.0 - (1.0 - rho), float(w @ w)
        primal = self._primal(w, rho, scores)
        multiple = 0.5 - primal.value / squared if squared > 0.0 else 0.0
        if not (0.0 < multiple < np.inf and np.isfinite(rho)):
            w = np.zeros_like(w)
            return w, 0.0, self._primal(w, 0.0, np.zeros_like(scores))
        least = 0.1 * allowed if allowed < np.inf else 0.0
        if 0.5 * (multiple - 1.0) ** 2 * squared > least:
            w, rho, scores = multiple * w, multiple * rho, multiple * scores
            rho = 1.0 - (1.0 - rho)
            primal = self._primal(w, rho, scores)
        return w, rho, primal

    def _primal(self, w: Vector, rho: float, scores: Vector | None) -> Bound:
        """Return P at weights and ρ; scores that are not given are computed in compensated sums.

        Given ones may be those of other weights times a number: two more operations each.
        """
        size, squared = self._size, float(w @ w)
        length, b = upper_norm(squared, w.size), 1.0 - rho
        error, spread = 2.0 * UNIT * (1.0 + abs(rho)), 0.0
        if scores is None:
            scores = self.rows.compensated_scores(w, _one_minus(rho))
            about = ScoreError.compensated(size, length, b, UNIT * error)
            spread, b = upper_norm(float(scores @ scores), scores.size), 0.0
        else:
            about = ScoreError.plain(size, length, b, error)
        sums = self.loss.sums(self.y, self.cost, scores, b, about.reach(size, spread))
        losses = self.loss_bound(sums, size, about, spread)
        beside = half_square_error(squared, w.size) + abs(rho) * 4.0 * UNIT * self.mass
        return Bound(
            0.5 * squared + losses.value - self.mass * rho, losses.allowance + beside + UNDERFLOW
        )

    def _dual(self, alpha: Vector, v: Vector, compensated: bool, accuracy: float) -> Bound:
        """Return D, what is left of Σ α_i = M priced.

        Moving α onto the constraint changes v by the residual t times the longest row L at most, so
        ‖w*‖ ≤ ‖v‖ + tL; some best ρ is a score of w*, and P* ≥ D(α) − t|ρ*|.
        """
        sums = self.loss.dual_sums(self.y, self.cost, alpha)
        squared, size = float(v @ v), self._size
        own = upper_norm(squared, v.size)
        off = combination_error(size, upper_norm(sums.squares, size.count), compensated, own)
        error = 4.0 * growth(size.count + 8.0) ** 2 * sums.linear + 4.0 * UNIT * self.mass
        residual = abs(sums.residual - self.mass) * (1.0 + 1e-6) + error
        longest = self.rows.frobenius
        if residual * longest > 0.01 * accuracy * own:  # that of all rows together is too rough
            longest = float(np.sqrt(self.rows.norms.max())) * (1.0 + 1e-6) + 1e-150
        price = residual * longest * (own + off + residual * longest) * (1.0 + 1e-6)
        return Bound(-0.5 * squared, half_square_error(squared, size.width, off) + price)

    @cached_property
    def _size(self) -> Magnitudes:
        """Magnitudes of the rows, with two more operations per score."""
        rows = self.rows
        return Magnitudes(rows.frobenius, rows.longest + 3.0, rows.count, rows.weights)


def _one_minus(rho: float) -> tuple[float, float]:
    """Return 1 − ρ in two parts whose sum is exact."""
    high = 1.0 - rho
    part = high - 1.0
    return high, (1.0 - (high - part)) + (-rho - part)


def _scaled(value: Any, power: int) -> Any:
    """Return a value times a power of two, exactly."""
    # A product is faster, but its factor has to be a normal number.
    return value * 2.0**power if abs(power) < 1000 else np.ldexp(value, power)
