"""The compiled table of names, and rows of which only the places of the ones are given."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.data.feature_dicts import PackedNames
from widemargin.instruction_sets import core

NAMES = ["w=the", "pos=DT", "", "bias", "w=Zürich", "w=日本", "half\ud800", "bias", "w=the"]


def test_names_are_numbered_in_the_order_in_which_they_come() -> None:
    table = core.NameTable()
    assert table.numbers(NAMES, True) == [0, 1, 2, 3, 4, 5, 6, 3, 0]
    assert len(table) == 7
    assert table.numbers(["bias", "unknown", ""], False) == [3, -1, 2]
    assert len(table) == 7


def test_many_names_are_told_apart() -> None:
    table = core.NameTable()
    names = [f"feature {k}" for k in range(20_000)]
    assert table.numbers(names, True) == list(range(20_000))
    assert table.numbers(names[::-1], True) == list(range(20_000))[::-1]


def test_packed_names_come_back() -> None:
    table = core.NameTable()
    table.numbers(NAMES, True)
    assert core.unpacked_names(table.packed()) == NAMES[:7]
    assert PackedNames(table).unpacked().tolist() == NAMES[:7]
    assert core.unpacked_names(core.NameTable().packed()) == []
    core.return_memory()  # what the table has freed
    assert len(table) == 7


def test_a_name_that_is_no_string_is_refused() -> None:
    with pytest.raises(TypeError, match="not a string"):
        core.NameTable().numbers(["a", 1], True)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_rows_of_ones(kind: type) -> None:
    X = sp.random_array((40, 30), density=0.2, format="csr", rng=np.random.default_rng(0))
    X.sort_indices()
    rows = core.OnesRows(X.indices.astype(kind), X.indptr.astype(kind), 30)
    assert (rows.count, rows.width, rows.weights, rows.nonzeros) == (40, 30, 30, X.nnz)
    norms = np.full(40, -1.0)
    rows.squared_norms(norms, 5, 40)
    np.testing.assert_array_equal(norms[5:], np.diff(X.indptr)[5:])
    assert (norms[:5] == -1.0).all()
    assert rows.total_squared_norm(0, 40) == X.nnz
    assert rows.total_squared_norm(7, 7) == 0.0


@pytest.mark.parametrize(
    ("indices", "pointers", "words"),
    [
        ([1, 0], [0, 2], "ascending"),
        ([0, 0], [0, 2], "ascending"),
        ([0, 3], [0, 2], "in range"),
        ([-1, 1], [0, 2], "in range"),
        ([0, 1], [0, 3], "ascending"),
        ([0, 1], [1, 2], "begin with zero"),
        ([0, 1], [0, 2, 1], "ascending"),
    ],
)
def test_rows_of_ones_are_checked(indices: list[int], pointers: list[int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        core.OnesRows(np.array(indices, np.int32), np.array(pointers, np.int32), 3)
