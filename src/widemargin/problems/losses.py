"""The binary losses: what they can do, and the sums that problems and methods need of them.

Outside this file, ask a loss for what it can do, never for its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.instruction_sets import core

Vector = NDArray[np.float64]


class Line(NamedTuple):
    """Labelled, weighted examples whose scores change: scores + t slopes, b + t slope_b."""

    y: Vector
    cost: Vector
    scores: Vector
    b: float
    slopes: Vector
    slope_b: float


class LossSums(NamedTuple):
    """Losses, and how steep they are near the margins."""

    total: float
    slopes: float
    """Σ c_i |ℓ′|, each the largest within reach of the margin."""
    squares: float
    """Σ (c_i |ℓ′|)²."""


class DualSums(NamedTuple):
    """Sums over dual variables."""

    value: float
    """Σ φ_i(α_i)."""
    size: float
    """Of the magnitudes that the value was summed from."""
    linear: float
    squares: float
    residual: float
    """Σ y_i α_i, from compensated sums."""


@dataclass(frozen=True)
class Loss(ABC):
    """A loss ℓ of the margin m = y (w·x + b), with the dual term φ(α) = −c ℓ*(−α/c).

    Attributes
    ----------
    name : str
    bounded : bool
        Whether the dual variables are at most c.
    smooth : bool
        Whether the loss has a (generalised) second derivative, as Newton's method needs.
    sparse : bool
        Whether examples with a large margin have α = 0, so that sweeps can leave them out. If not,
        α never reaches the ends of its range.
    dual_quadratic : float or None
        q where φ(α) = α − q α² / (2c); None where φ is no such parabola.
    curvature_level : float or None
        h where ℓ″ is either 0 or h; None where it takes other values or there is none.
    slope_at_zero : float
        −ℓ′(0).
    stiffness : float
        What an example alone can do to its own margin, in multiples of c ‖x‖².
    visit_cost : int
        Stored values that take as long to read as a step of coordinate descent takes beside its
        row.
    """

    name: str
    bounded: bool
    smooth: bool
    sparse: bool
    dual_quadratic: float | None
    curvature_level: float | None
    slope_at_zero: float
    stiffness: float
    visit_cost: int

    compiled: ClassVar[bool]
    """Whether coordinate descent and the other compiled loops know it."""
    of_margins: ClassVar[bool] = True
    """Whether it is a function of the margin alone, not of a target."""

    @abstractmethod
    def total(self, y: Vector, cost: Vector, scores: Vector, b: float) -> float:
        """Return Σ c_i ℓ(y_i (scores_i + b))."""

    @abstractmethod
    def dual_total(self, alpha: Vector, cost: Vector) -> float:
        """Return Σ φ_i(α_i)."""

    @abstractmethod
    def sums(
        self, y: Vector, cost: Vector, scores: Vector, b: float, reach: float = 0.0
    ) -> LossSums:
        """Return the total loss, and how fast it can grow within `reach` of the margins."""

    @abstractmethod
    def dual_sums(self, y: Vector, cost: Vector, alpha: Vector) -> DualSums:
        """Return Σ φ_i(α_i) and the sums that bound its rounding."""

    @abstractmethod
    def intercept_reach(self, up: float, down: float) -> float:
        """Bound optimal intercepts where all scores are zero, for the costs of the two classes.

        Where scores are at most ρ, some optimal b has |b| ≤ ρ plus this.
        """

    @abstractmethod
    def terms(self, y: Vector, cost: Vector, scores: Vector, b: float) -> tuple[Vector, Vector]:
        """Return α_i = −c_i ℓ′ and the curvatures c_i ℓ″ that belong to the scores."""

    def fill_terms(
        self, y: Vector, cost: Vector, scores: Vector, b: float, alpha: Vector, curvature: Vector
    ) -> None:
        """Write what `terms` returns into arrays."""
        alpha[:], curvature[:] = self.terms(y, cost, scores, b)

    @abstractmethod
    def duals(self, y: Vector, cost: Vector, scores: Vector, b: float) -> Vector:
        """Return α_i = −c_i ℓ′ alone; of a corner, any subgradient."""

    @abstractmethod
    def best_intercept(self, y: Vector, cost: Vector, scores: Vector, b: float) -> float:
        """Return the b that minimises the total for these scores, searching from b."""

    @abstractmethod
    def derivatives_along(self, line: Line, t: float) -> tuple[float, float]:
        """Return both derivatives of the total along a line, at t."""

    @abstractmethod
    def linearised_move(self, line: Line, step: float) -> None:
        """Move the scores of a line by step · slopes, in place.

        Its slopes become the dual variables of the conditions linearised at the old scores,
        α − h y (slopes + slope_b), which are not yet clipped.
        """

    @property
    def linear_dual(self) -> bool:
        """Whether the dual is linear in a box, φ(α) = α for 0 ≤ α ≤ c: the hinge's."""
        return self.bounded and self.dual_quadratic == 0.0

    def upper(self, cost: Vector) -> Vector | None:
        """Return the upper bounds of the dual variables, or None if there are none.

        Without cost a dual variable is zero, whatever the loss.
        """
        if self.bounded:
            return cost
        return None if (cost > 0.0).all() else np.where(cost > 0.0, np.inf, 0.0)

    def clip(self, alpha: Vector, cost: Vector) -> Vector:
        """Return the point of the dual variables' ranges that is nearest to α, as a new array."""
        clipped = np.maximum(alpha, 0.0)
        upper = self.upper(cost)
        return clipped if upper is None else np.minimum(clipped, upper, out=clipped)

    def balance(self, alpha: Vector, y: Vector, cost: Vector) -> Vector:
        """Return the nearest point of the ranges with Σ α_i y_i = 0, as a new array."""
        balanced = np.array(alpha, dtype=np.float64)
        core.project_box_equality(balanced, y, self.upper(cost))
        return balanced

    def middle(self, cost: Vector) -> Vector:
        """Return the middle of the dual variables' ranges, where they are bounded."""
        return 0.5 * cost

    @property
    def unit(self) -> float:
        """The size of a change of score that counts: that from margin zero to one."""
        return 1.0

    def best_scale(self, alpha: Vector, cost: Vector, sums: DualSums, squared: float) -> float:
        """Return argmax over t of Σ φ(tα) − ½ t² squared, where that has a closed form; else 1.

        Near the optimum the best multiple is one, up to what rounding and tolerance leave.
        """
        linear = sums.linear
        if self.dual_quadratic is None or not linear > 0.0:
            return 1.0
        quadratic = squared
        if self.dual_quadratic > 0.0:
            quadratic += 2.0 * (linear - sums.value)
        if not quadratic > 0.0:
            return 1.0
        scale = linear / quadratic
        if 0.5 * (scale - 1.0) ** 2 * quadratic <= 1e-13 * linear:
            return 1.0
        if self.bounded and scale > 1.0:
            scale = min(scale, 1.0 / self.largest_share(alpha, cost))
        return scale

    def largest_share(self, alpha: Vector, cost: Vector) -> float:
        """Return the largest |α_i| / c_i; examples without cost have none."""
        return core.largest_share(alpha, cost)


class CompiledLoss(Loss):
    """A loss whose formulas are in core/losses."""

    compiled = True

    @classmethod
    def named(cls, name: str) -> CompiledLoss:
        """Return the loss of that name, as its header describes it."""
        traits = core.loss_traits(name)
        return cls(**{field.name: getattr(traits, field.name) for field in fields(cls)})

    def total(self, y: Vector, cost: Vector, scores: Vector, b: float) -> float:
        """Return Σ c_i ℓ(y_i (scores_i + b))."""
        return core.loss_sum(self.name, y, cost, scores, b)

    def dual_total(self, alpha: Vector, cost: Vector) -> float:
        """Return Σ φ_i(α_i)."""
        return core.dual_sum(self.name, alpha, cost)

    def sums(
        self, y: Vector, cost: Vector, scores: Vector, b: float, reach: float = 0.0
    ) -> LossSums:
        """Return the total loss, and how fast it can grow within `reach` of the margins."""
        return LossSums(*core.loss_sums(self.name, y, cost, scores, b, reach))

    def dual_sums(self, y: Vector, cost: Vector, alpha: Vector) -> DualSums:
        """Return Σ φ_i(α_i) and the sums that bound its rounding."""
        return DualSums(*core.dual_sums(self.name, y, cost, alpha))

    def intercept_reach(self, up: float, down: float) -> float:
        """Bound optimal intercepts where all scores are zero."""
        return core.intercept_reach(self.name, up, down)

    def terms(self, y: Vector, cost: Vector, scores: Vector, b: float) -> tuple[Vector, Vector]:
        """Return the dual variables and the curvatures that belong to the scores."""
        alpha, curvature = np.empty_like(scores), np.empty_like(scores)
        self.fill_terms(y, cost, scores, b, alpha, curvature)
        return alpha, curvature

    def fill_terms(
        self, y: Vector, cost: Vector, scores: Vector, b: float, alpha: Vector, curvature: Vector
    ) -> None:
        """Write what `terms` returns into arrays."""
        core.loss_terms(self.name, y, cost, scores, b, alpha, curvature)

    def duals(self, y: Vector, cost: Vector, scores: Vector, b: float) -> Vector:
        """Return the dual variables that belong to the scores."""
        if self.smooth:
            return self.terms(y, cost, scores, b)[0]
        # The only one with a corner is the hinge.
        return np.where(y * (scores + b) < 1.0, cost, 0.0)

    def best_intercept(self, y: Vector, cost: Vector, scores: Vector, b: float) -> float:
        """Return the b that minimises the total for these scores, searching from b."""
        return core.best_intercept(self.name, y, cost, scores, b)

    def derivatives_along(self, line: Line, t: float) -> tuple[float, float]:
        """Return both derivatives of the total along a line."""
        return core.derivatives_along(self.name, *line, t)

    def linearised_move(self, line: Line, step: float) -> None:
        """Move the scores, and turn the slopes into dual variables."""
        core.linearised_move(self.name, *line, step)


LOSSES: dict[str, Loss] = {name: CompiledLoss.named(name) for name in core.loss_names()}
"""Every loss by its name."""

HINGE, SQUARED_HINGE, LOGISTIC = (LOSSES[n] for n in ("hinge", "squared_hinge", "logistic"))


def gives_probabilities(name: str) -> bool:
    """Whether scores trained with the loss of this name are log odds."""
    return name == LOGISTIC.name


def trains_jointly(name: str) -> bool:
    """Whether the joint multiclass rules are made of the loss of this name."""
    return name in LOSSES and LOSSES[name].linear_dual


def register(loss: Loss) -> None:
    """Make a loss known by its name, as the estimators' ``loss`` takes it.

    Raises
    ------
    ValueError
        If the name is taken.
    """
    if loss.name in LOSSES:
        raise ValueError(f"there is a loss {loss.name!r} already")
    LOSSES[loss.name] = loss
