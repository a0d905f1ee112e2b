"""Fits on rows in blocks, in threads or from disk, with blocks of a few rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import scipy.sparse as sp
from tests.fuzz.nasty import Data

from widemargin import DiskData
from widemargin.data import blocks

_SMALL = {"FEWEST_ROWS": 2, "DENSE_VALUES": 8, "SPARSE_VALUES": 8}
_PIECE = 5
"""Rows of a piece that is written to disk: not a multiple of a block's."""


@contextmanager
def small_blocks() -> Iterator[None]:
    """Cut rows into blocks of a few, so that small problems have many."""
    before = {name: getattr(blocks, name) for name in _SMALL}
    vars(blocks).update(_SMALL)
    try:
        yield
    finally:
        vars(blocks).update(before)


def fit_in_blocks(model: Any, data: Data) -> None:
    """Fit with rows in memory, in blocks."""
    with small_blocks():
        model.fit(data.X, data.y, data.sample_weight)


def fit_from_disk(model: Any, data: Data) -> None:
    """Fit with rows on disk."""
    X = data.X.tocsr() if sp.issparse(data.X) else data.X
    pieces = [slice(begin, begin + _PIECE) for begin in range(0, X.shape[0], _PIECE)]
    with tempfile.TemporaryDirectory() as folder, small_blocks():
        source = DiskData([X[piece] for piece in pieces], cache=folder)
        model.fit(source, data.y, data.sample_weight)
