"""Products that rows have made and may be asked for again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from typing_extensions import Self

Vector = NDArray[np.float64]


class KnownProducts:
    """A memory for the scores of one weight vector, and for one combination of the rows."""

    _known: dict[str, tuple[Vector, Vector]] | None

    def remembering(self, memory: bool = True) -> Self:
        """Return the same rows with a memory, or without."""
        rows: Any = self
        found: Self = replace(rows, _known={} if memory else None)
        return found

    def remember(self, w: Vector, scores: Vector) -> None:
        """Keep the scores of weights, if these rows have a memory: neither is copied."""
        if self._known is not None:
            self._known["scores"] = (w, scores)

    def known_scores(self, w: Vector, copy: bool = True) -> Vector | None:
        """Return the scores of weights, if they were kept; by default a copy."""
        known = self._recalled("scores", w)
        return known.copy() if copy and known is not None else known

    def remember_combination(self, coefficients: Vector, total: Vector) -> None:
        """Keep what `combine` has returned for coefficients, if these rows have a memory.

        Both are copied: whoever computes with them may go on in place.
        """
        if self._known is not None:
            self._known["combination"] = (coefficients.copy(), total.copy())

    def known_combination(self, coefficients: Vector) -> Vector | None:
        """Return the combination for coefficients, if it was kept; not to be written to."""
        return self._recalled("combination", coefficients)

    def _recalled(self, what: str, of: Vector) -> Vector | None:
        known = None if self._known is None else self._known.get(what)
        return known[1] if known is not None and np.array_equal(known[0], of) else None
