"""Structured outputs of any kind: a user's features, loss and search for the worst output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from widemargin.data.rows import no_checkpoint
from widemargin.data.work import Meter
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.rounding import ACCURACY, growth, half_square_error, upper_norm

Vector = NDArray[np.float64]


class Model(Protocol):
    """What a user writes; see `widemargin.estimators.structured_models` for those shipped."""

    exact: bool
    """Whether the oracle always finds the worst output."""

    def features(self, x: Any, y: Any) -> Any:
        """Return the joint features of an input and an output, a vector of fixed length."""

    def loss(self, y: Any, other: Any) -> float:
        """Return what predicting `other` costs where y is right: not negative, zero for y."""

    def oracle(self, x: Any, y: Any, w: Vector) -> Any:
        """Return the output that maximises loss(y, ·) + w·features(x, ·); y is None to predict."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """Dual variables: for each example, outputs other than the right one with a share each."""

    outputs: tuple[tuple[Any, ...], ...]
    shares: tuple[Vector, ...]

    @classmethod
    def none(cls, count: int) -> Outputs:
        """Return no outputs: w = 0."""
        return cls(((),) * count, (np.zeros(0),) * count)

    def feasible(self) -> Outputs:
        """Return shares that are feasible in exact arithmetic, near these."""
        return Outputs(self.outputs, tuple(_feasible(share) for share in self.shares))


def _feasible(share: Vector) -> Vector:
    share = np.where(share > 0.0, share, 0.0)
    slack = growth(share.size + 4.0)
    total = float(share.sum())
    return share if total * (1.0 + slack) <= 1.0 else share * ((1.0 - 3.0 * slack) / total)


@dataclass(frozen=True, eq=False)
class StructuredProblem:
    """Minimise ½‖w‖² + Σ c_i max_y [Δ(y_i, y) − w·(f(x_i, y_i) − f(x_i, y))] over examples i.

    A point has w, None as b, and `Outputs` as alpha.
    """

    kind: ClassVar[str] = "structured problems"

    model: Model
    X: Sequence[Any]
    y: Sequence[Any]
    cost: Vector
    checkpoint: Callable[[], None] = no_checkpoint
    meter: Meter = field(default_factory=Meter)
    _right: dict[int, Vector] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of examples."""
        return len(self.y)

    @property
    def width(self) -> int:
        """Number of weights."""
        return int(self.right(0).size)

    def watched(self, checkpoint: Callable[[], None]) -> StructuredProblem:
        """Return the same problem, calling `checkpoint` between examples."""
        return replace(self, checkpoint=checkpoint, meter=Meter())

    def right(self, i: int) -> Vector:
        """Return the features of an example's own output."""
        if i not in self._right:
            self._right[i] = self._vector(i, self.y[i])
        return self._right[i]

    def _vector(self, i: int, y: Any) -> Vector:
        out = np.asarray(self.model.features(self.X[i], y), dtype=np.float64)
        if out.ndim != 1 or not np.isfinite(out).all():
            raise ValueError(f"features of example {i} must be a vector of finite numbers")
        if self._right and out.size != next(iter(self._right.values())).size:
            raise ValueError(f"features of example {i} have length {out.size}, not {self.width}")
        return out

    def plane(self, i: int, y: Any) -> tuple[Vector, float]:
        """Return ψ = f(x_i, y_i) − f(x_i, y) and the loss of an output."""
        loss = float(self.model.loss(self.y[i], y))
        if not 0.0 <= loss < np.inf:
            raise ValueError(f"the loss of example {i} must be finite and not negative; got {loss}")
        return self.right(i) - self._vector(i, y), loss

    def worst(self, i: int, w: Vector) -> Any:
        """Return the output that the oracle finds."""
        return self.model.oracle(self.X[i], self.y[i], w)

    def cold_point(self) -> Point:
        """Return no weights, and no output but the right ones."""
        return Point(np.zeros(self.width), None, Outputs.none(self.count))

    def combine(self, duals: Outputs) -> tuple[Vector, float, float]:
        """Return w(α), Σ c_i Σ α_i(y) Δ, and a bound on the magnitudes that were added up."""
        w, linear, size = np.zeros(self.width), 0.0, 0.0
        for i, (outputs, shares) in enumerate(zip(duals.outputs, duals.shares, strict=True)):
            for output, share in zip(outputs, shares, strict=True):
                psi, loss = self.plane(i, output)
                w += self.cost[i] * share * psi
                linear += self.cost[i] * share * loss
                size += self.cost[i] * share * float(np.linalg.norm(psi))
        return w, linear, size

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Compute the certificate from the model's own features, losses and oracle.

        Where the oracle is not exact, the primal value is that of the outputs it found: no bound.
        An exact one may compare scores in double precision.
        """
        duals, w = point.alpha.feasible(), np.asarray(point.w, dtype=np.float64)
        length = upper_norm(float(w @ w), w.size)
        losses, errors = 0.0, 0.0
        for i in range(self.count):
            psi, loss = self.plane(i, self.worst(i, w))
            losses += self.cost[i] * max(0.0, loss - float(w @ psi))
            # The oracle compares scores that are rounded, too: the worst output may be another one.
            right = self.right(i)
            sizes = float(np.linalg.norm(right)) + float(np.linalg.norm(right - psi))
            errors += self.cost[i] * growth(8.0 * w.size + 64.0) * (length * sizes + loss)
        own = float(w @ w)
        above = errors + growth(self.count + 8.0) * losses + half_square_error(own, w.size)
        combination, linear, size = self.combine(duals)
        squared = float(combination @ combination)
        terms = float(sum(len(outputs) for outputs in duals.outputs))
        off = growth(terms + 8.0) * size * 2.0
        below = growth(terms + 16.0) * linear + half_square_error(squared, w.size, off)
        primal, dual = 0.5 * own + losses, linear - 0.5 * squared
        if not self.model.exact:  # what the oracle missed can leave it below the dual value
            primal = max(primal, dual)
        return Point(w, None, duals), Certificate.bounds(primal, above, dual, below)
