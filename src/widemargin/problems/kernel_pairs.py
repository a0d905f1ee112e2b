"""One-vs-one: a binary kernel problem for every pair of classes, solved as one.

P = Σ_p P_p over the pairs p, each over the examples of its two classes. They share the examples and
nothing else, so that the certificate of the whole is the sum of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.gram import Gram
from widemargin.data.gram_part import GramPart
from widemargin.data.work import Meter
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.kernel import KernelProblem
from widemargin.problems.losses import Loss
from widemargin.problems.rounding import ACCURACY

if TYPE_CHECKING:
    from typing_extensions import Self

Vector = NDArray[np.float64]


def pairs_of(classes: int) -> list[tuple[int, int]]:
    """Return the pairs of classes in scikit-learn's order."""
    return list(combinations(range(classes), 2))


@dataclass(frozen=True, eq=False)
class KernelPairsProblem:
    """The problems of some pairs of classes; points hold theirs one after the other."""

    parts: tuple[KernelProblem, ...]
    latest: dict[str, Any] = field(default_factory=dict)
    """The certificates of the parts, with the point that they are about."""
    kind: ClassVar[str] = "one-vs-one kernel problems"

    @classmethod
    def of(
        cls,
        gram: Gram,
        ends: NDArray[np.int64],
        cost: Vector,
        loss: Loss,
        free: bool,
        pairs: Sequence[tuple[int, int]],
    ) -> KernelPairsProblem:
        """State the problems of pairs of classes; examples come class by class.

        Parameters
        ----------
        gram : Gram
        ends : ndarray of shape (classes,)
            Where the examples of each class end.
        cost : ndarray of shape (n,)
        loss : Loss
        free : bool
            Whether there are intercepts.
        pairs : sequence of pairs
            The first class of each is the positive one.
        """
        parts = []
        begins = np.concatenate([[0], ends[:-1]])
        for first, second in pairs:
            stretches = [(int(begins[c]), int(ends[c])) for c in (first, second)]
            part = GramPart.over(gram, stretches)
            y = np.ones(part.count)
            y[stretches[0][1] - stretches[0][0] :] = -1.0
            parts.append(KernelProblem(part, y, cost[part.places], loss, free))
        return cls(tuple(parts))

    def watched(self, checkpoint: Callable[[], None]) -> Self:
        """Return the same problems, calling `checkpoint` between compiled calls."""
        return replace(self, parts=tuple(part.watched(checkpoint) for part in self.parts))

    @property
    def meter(self) -> Meter:
        """Counts the work done on the kernel matrix."""
        return self.parts[0].meter

    def cold_point(self) -> Point:
        """Return the zero point."""
        return self.joined([part.cold_point() for part in self.parts])

    def joined(self, points: Sequence[Point]) -> Point:
        """Return the point that holds those of all parts."""
        return Point(
            np.concatenate([p.w for p in points]),
            np.array([float(p.b) for p in points]),
            np.concatenate([p.alpha for p in points]),
        )

    def split(self, point: Point) -> Iterator[Point]:
        """Yield the points of the parts."""
        begin = 0
        for place, part in enumerate(self.parts):
            end = begin + part.gram.count
            yield Point(point.w[begin:end], float(point.b[place]), point.alpha[begin:end])
            begin = end

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Certify every part; the bounds of the whole are their sums."""
        judged = [
            part.certify(own, accuracy)
            for part, own in zip(self.parts, self.split(point), strict=True)
        ]
        whole = self.joined([own for own, _ in judged])
        certificates = [certificate for _, certificate in judged]
        self.latest.update(point=whole, certificates=certificates)
        return whole, Certificate.of_sum(certificates)

    def certificates(self, point: Point) -> list[Certificate]:
        """Return the certificate of every part at a point."""
        known = self.latest.get("point")
        same = known is not None and all(
            np.array_equal(getattr(known, name), getattr(point, name))
            for name in ("w", "b", "alpha")
        )
        if not same:
            self.certify(point)
        return list(self.latest["certificates"])
