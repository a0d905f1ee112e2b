"""What every problem can do: start from nothing, be watched, and turn a point into a proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from widemargin.data.cached import cached_property
from widemargin.data.gram import Gram
from widemargin.data.quick_init import replaced
from widemargin.data.rows import Rows
from widemargin.data.work import Meter
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.rounding import ACCURACY, Magnitudes

if TYPE_CHECKING:
    from typing_extensions import Self

Vector = NDArray[np.float64]


class Problem(Protocol):
    """What is minimised. It knows its primal and its dual, and not how it is solved."""

    kind: ClassVar[str]
    """The plural that messages use: "binary problems"."""

    def watched(self, checkpoint: Callable[[], None]) -> Self:
        """Return the same problem, calling `checkpoint` between compiled calls."""

    @property
    def meter(self) -> Meter:
        """Counts the work done on the data, in the currency of `widemargin.data.work`."""

    def cold_point(self) -> Point:
        """Return the point a method starts from when it has no better one: nothing but zeros."""

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data.

        Where allowing for rounding would cost more than `accuracy`, a share of P, and the
        certificate could be that good, the products are computed again in compensated sums.
        """


@dataclass(frozen=True, eq=False)
class OnRows:
    """A problem over rows of features."""

    rows: Rows

    def watched(self, checkpoint: Callable[[], None]) -> Self:
        """Return the same problem, calling `checkpoint` between compiled calls."""
        return replaced(self, rows=self.rows.watched(checkpoint))

    def over(self, rows: Rows) -> Self:
        """Return the same problem on other rows of the same examples."""
        return replaced(self, rows=rows)

    @cached_property
    def scale(self) -> Magnitudes:
        """Magnitudes of the rows, for rounding."""
        rows = self.rows
        return Magnitudes(rows.frobenius, rows.longest + 1.0, rows.count, rows.weights)

    @property
    def meter(self) -> Meter:
        """Counts the work done on the rows."""
        return self.rows.meter


@dataclass(frozen=True, eq=False)
class OnKernel:
    """A problem over the matrix of a kernel."""

    gram: Gram

    def watched(self, checkpoint: Callable[[], None]) -> Self:
        """Return the same problem, calling `checkpoint` between compiled calls."""
        return replaced(self, gram=self.gram.watched(checkpoint))

    @property
    def meter(self) -> Meter:
        """Counts the work done on the kernel matrix."""
        return self.gram.meter

    @property
    def diagonal(self) -> Vector:
        """The diagonal of K."""
        return self.gram.diagonal
