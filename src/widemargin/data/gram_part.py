"""A kernel matrix restricted to some stretches of consecutive examples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.gram import Gram, Matrix
from widemargin.instruction_sets import core

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GramPart(Gram):
    """K over the stretches of another one, whose examples and rows it shares."""

    parent: Any = None
    stretches: Places = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    places: Places = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def over(cls, gram: Gram, stretches: list[tuple[int, int]]) -> GramPart:
        """Take the examples from each begin to each end."""
        places = np.concatenate([np.arange(*stretch, dtype=np.int64) for stretch in stretches])
        return cls(
            None,
            gram.kernel,
            gram.memory,
            places.size,
            gram.checkpoint,
            gram.meter,
            {"diagonal": gram.diagonal[places], "sizes": gram.sizes[places]},
            gram,
            np.array(stretches, dtype=np.int64).ravel(),
            places,
        )

    @property
    def source(self) -> core.KernelSource | None:
        """The rows of the whole."""
        return self.parent.source

    @property
    def fits_single_precision(self) -> bool:
        """As in the whole."""
        return bool(self.parent.fits_single_precision)

    @property
    def bounds(self) -> Places:
        """The stretches."""
        return self.stretches

    @property
    def whole(self) -> Matrix | None:
        """The part of K, if it fits into the memory."""
        if "all" not in self._kept and 8.0 * self.count**2 <= self.memory:
            self._kept["all"] = self.rows(np.arange(self.count, dtype=np.int64))
        return self._kept.get("all")

    def rows(self, places: Places) -> Matrix:
        """Return some rows of the part."""
        if "all" in self._kept:
            return self._kept["all"][places]
        source = self.source
        if source is None:
            return self.parent.rows(self.places[places])[:, self.places]
        out = np.empty((places.size, self.count))
        source.rows(self.places[places], self.stretches, out)
        return out

    def _in_source(self, places: Places) -> Places:
        return self.places[places]
