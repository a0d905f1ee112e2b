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

    _known: dict[str, tuple[Vector, Vector, Vector | None]] | None

    def remembering(self, memory: bool = True) -> Self:
        """Return the same rows with a memory, or without."""
        rows: Any = self
        found: Self = replace(rows, _known={} if memory else None)
        return found

    def remember(self, w: Vector, scores: Vector) -> None:
        """Keep the scores of weights, if these rows have a memory: neither is copied."""
        if self._known is not None:
            self._known["scores"] = (w, scores, None)

    def known_scores(self, w: Vector, copy: bool = True) -> Vector | None:
        """Return the scores of weights, if they were kept; by default a copy."""
        known = self._recalled("scores", w)
        return known.copy() if copy and known is not None else known

    def remember_combination(
        self, coefficients: Vector, total: Vector, signs: Vector | None = None
    ) -> None:
        """Keep what `combine` has returned for coefficients, if these rows have a memory.

        Both are copied: whoever computes with them may go on in place. The signs are not.
        """
        if self._known is not None:
            self._known["combination"] = (coefficients.copy(), total.copy(), signs)

    def known_combination(self, coefficients: Vector, signs: Vector | None = None) -> Vector | None:
        """Return the combination for coefficients, if it was kept; not to be written to.

        For the same array of signs: problems over the same rows may have others.
        """
        return self._recalled("combination", coefficients, signs)

    def _recalled(self, what: str, of: Vector, signs: Vector | None = None) -> Vector | None:
        known = None if self._known is None else self._known.get(what)
        if known is None or known[2] is not signs or not np.array_equal(known[0], of):
            return None
        return known[1]
