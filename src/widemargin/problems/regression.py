"""Regression: min ½‖w‖² + Σ c_i ℓ(t_i − w·x_i − b), ℓ(r) = max(0, |r| − ε) or its square.

With a free intercept the targets are taken relative to an origin o, the best constant: then
residuals are differences of numbers of their own size, however far from zero the targets lie. The
differences t_i − o are rounded, and the certificate allows for that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.cached import cached_property
from widemargin.data.quick_init import quick_init
from widemargin.data.rows import Rows
from widemargin.data.target_set import TargetSet
from widemargin.data.training_set import equal
from widemargin.instruction_sets import core
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.linear import LinearProblem
from widemargin.problems.margins import Bound
from widemargin.problems.rounding import ACCURACY, UNDERFLOW, UNIT, growth
from widemargin.problems.tube_loss import TubeLoss

if TYPE_CHECKING:
    from typing_extensions import Self

Vector = NDArray[np.float64]


@quick_init
@dataclass(frozen=True, eq=False)
class RegressionProblem(LinearProblem):
    """A tube around the targets of weighted rows; every sign `y` is one.

    Attributes
    ----------
    loss : TubeLoss
        Its targets are relative to the origin.
    origin : float
        What an intercept of zero means here, in the given targets.
    target : ndarray of shape (n,)
        As given.
    """

    kind: ClassVar[str] = "regression problems"

    loss: TubeLoss
    origin: float
    target: Vector

    @classmethod
    def of(cls, data: TargetSet, name: str, epsilon: float) -> RegressionProblem:
        """State the problem of a training set, with the loss of that name."""
        return cls.stated(data.rows, data.target, data.cost, (name, epsilon), data.free_intercept)

    @classmethod
    def stated(
        cls, rows: Rows, target: Vector, cost: Vector, loss: tuple[str, float], free: bool
    ) -> RegressionProblem:
        """State the problem of rows, with targets and costs."""
        origin = _best_constant(target, cost, loss) if free else 0.0
        own = TubeLoss.named(loss[0], target - origin if origin else target, loss[1])
        return cls(rows, equal(target.size, 1.0), cost, own, free, origin, target)

    @cached_property
    def core(self) -> core.TubeCore:
        """The compiled kernels on this problem's arrays."""
        return core.TubeCore(self.rows.view, self.loss.tube, self.y, self.cost)

    @property
    def corner(self) -> Any:
        """The compiled kernels of the loss with its corners rounded."""
        return self.core

    @property
    def has_faces(self) -> bool:  # type: ignore[override]
        """Whether the dual is linear but for ½‖w‖², so that many rows end on the tube's edge."""
        return self.loss.bounded and not self.rows.elsewhere

    def sweeps(self, alpha: Vector, w: Vector, b: float, rho: float) -> Any:
        """Return sweeps of coordinate descent, which work on β and w in place."""
        residual = self.residual(alpha)
        return core.TubeSweeps(self.core, self.rows.norms, alpha, w, residual, b, rho)

    def subproblem(self, subset: NDArray[np.int64]) -> Self:
        """Return the problem on some examples, their costs raised to stand for all of them."""
        part = super().subproblem(subset)
        return replace(part, loss=self.loss.take(subset), target=self.target[subset])

    def feasible(self, alpha: Vector) -> Vector:
        """Return a dual-feasible point near β: each entry keeps its sign, and zeros stay zero."""
        beta = self.loss.clip(alpha, self.cost)
        if not self.free_intercept:
            return beta
        size, signs = np.abs(beta), np.where(beta < 0.0, -1.0, 1.0)
        most = self.cost if self.loss.bounded else np.inf
        core.project_box_equality(size, signs, np.where(size > 0.0, most, 0.0))
        return size * signs

    def farthest_intercept(self, score: float) -> float:
        """Bound some optimal intercept, where `score` is above every optimal score.

        Beyond the largest and the smallest t_i − s_i all residuals have one sign, and nothing is
        gained by going further.
        """
        return (1.0 + 1e-6) * (self.loss.tube.unit + score)

    def exact_intercept(self, w: Vector, b: float) -> tuple[float, float, float]:
        """Return the intercept that the model's rounded one comes to on these rows and targets."""
        if not self.origin:
            return super().exact_intercept(w, b)
        given = self.given_intercept(w, b)
        sides, against = self._sides(w)
        high, low = core.compensated_dot(sides, against, given)
        sizes = float(np.abs(sides) @ np.abs(against)) + abs(given)
        error = 4.0 * ((w.size + 9.0) * UNIT) ** 2 * sizes + (w.size + 1) * UNDERFLOW
        return high, low, error + 2.0**-51 * (abs(high) + abs(b))

    def given_intercept(self, w: Vector, b: float) -> float:
        """Return the intercept of the model for the given data and targets."""
        if not self.origin:
            return self.rows.given_intercept(w, b)
        sides, against = self._sides(w)
        high, low = core.compensated_dot(-sides, against, b)
        return float(high + low)

    def own_intercept(self, w: Vector, given: float) -> float:
        """Undo `given_intercept`."""
        sides, against = self._sides(w)
        return float(sum(core.compensated_dot(sides, against, given)))

    def _sides(self, w: Vector) -> tuple[Vector, Vector]:
        """Return vectors whose product is what an intercept changes by: w·shift − origin."""
        if self.rows.shift is None:
            return self._only_sides
        return np.append(w, -self.origin), np.append(self.rows.shift, 1.0)

    @cached_property
    def _only_sides(self) -> tuple[Vector, Vector]:
        return np.array([-self.origin]), np.ones(1)

    def _compensated_primal(self, w: Vector, b: float, allowed: float) -> tuple[float, Bound]:
        """Return P at an intercept from scores in compensated sums, and the intercept.

        It does not move: rows lie at kinks on both sides.
        """
        return b, self._compensated_at(w, b)[2]

    @property
    def offset_error(self) -> float:
        """What rounding can do to a target relative to the origin, and to a residual."""
        return float(growth(4.0)) * float(self.loss.tube.unit)

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data.

        Where all targets fit into the tube around a constant, P = 0 at w = 0 exactly, and there is
        nothing to allow for.
        """
        nothing = self._fitting_constant
        if nothing is not None and self.rows.shift is None:
            zero = self.cold_point()
            return Point(zero.w, nothing, zero.alpha), Certificate(0.0, 0.0)
        return super().certify(point, accuracy)

    @cached_property
    def _fitting_constant(self) -> float | None:
        """The intercept at which w = 0 has no loss, by exact comparisons; None if there is none."""
        # The loss has fl(t − o). That it is below ε implies t − o < ε, rounding is monotone; and it
        # is zero only if t = o.
        return 0.0 if self.loss.tube.holds_zero(self.cost) else None


def _best_constant(target: Vector, cost: Vector, loss: tuple[str, float]) -> float:
    """Return the best constant; the middle of the targets if the tube around it holds them all."""
    used = target[cost > 0.0]
    middle = 0.5 * float(used.min()) + 0.5 * float(used.max()) if used.size else 0.0
    if (np.abs(used - middle) < loss[1]).all():
        return middle
    tube = TubeLoss.named(loss[0], target, loss[1])
    return tube.best_intercept(target, cost, np.zeros(target.size), middle)
