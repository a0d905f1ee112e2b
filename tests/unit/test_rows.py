"""Products with the rows against numpy: layout x precision x index width x constant x subset."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from oracle import LAYOUTS, layout
from widemargin.auto.machine import MACHINE
from widemargin.data import rows as rows_module
from widemargin.data import work
from widemargin.data.rows import Rows, as_rows_array
from widemargin.instruction_sets import core

SHAPES = [(1, 1), (3, 17), (40, 5), (37, 33), (25, 70)]


def matrix(shape: tuple[int, int], density: float, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    X = random.normal(size=shape).astype(np.float32).astype(np.float64)
    if density < 1.0:
        X *= random.random(shape) < density
        X[shape[0] // 2] = 0.0
    return X


@pytest.fixture(params=["whole", "subset"])
def part(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[0.0, 2.5], ids=["plain", "constant"])
def constant(request: pytest.FixtureRequest) -> float:
    return float(request.param)


@pytest.fixture(params=LAYOUTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=SHAPES, ids=str)
def shape(request: pytest.FixtureRequest) -> tuple[int, int]:
    return request.param


@pytest.fixture(params=[1.0, 0.5, 0.1])
def pair(
    request: pytest.FixtureRequest,
    name: str,
    shape: tuple[int, int],
    constant: float,
    part: str,
) -> tuple[Rows, np.ndarray]:
    """The rows, and the dense matrix that they stand for."""
    X = matrix(shape, request.param)
    rows = Rows.of(layout(X, name))
    if constant:
        rows = rows.with_constant(constant)
        X = np.hstack([X, np.full((shape[0], 1), constant)])
    if part == "subset":
        random = np.random.default_rng(5)
        subset = random.integers(0, shape[0], size=max(1, shape[0] // 2)).astype(np.int64)
        rows, X = rows.take(subset), X[subset]
    return rows, X


def close(got: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    scale = np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13 * scale + 1e-300)


def test_products(pair: tuple[Rows, np.ndarray]) -> None:
    rows, X = pair
    n, d = X.shape
    random = np.random.default_rng(1)
    w, a, h = random.normal(size=d), random.normal(size=n), random.random(n)
    a[::3], h[::4] = 0.0, 0.0
    assert (rows.count, rows.weights) == (n, d)
    close(rows.norms, np.sum(X**2, axis=1))
    close(rows.scores(w), X @ w)
    close(rows.combine(a), X.T @ a)
    signs, old = np.where(h > 0.5, 1.0, -1.0), np.where(h > 0.3, a, 0.0)
    close(rows.combine_change(a, old, signs), X.T @ (signs * (a - old)))
    scores, total = rows.scores_and_combination(w, a)
    close(scores, X @ w)
    close(total, X.T @ a)
    product, share = rows.curvature_product(h, w, 0.75)
    close(product, X.T @ (h * (X @ w + 0.75)))
    assert share == pytest.approx(float(h @ (X @ w + 0.75)), rel=1e-12, abs=1e-13)
    close(rows.curvature_diagonal(h), (X**2).T @ h)
    close(rows.gram(h, False), X.T @ (h[:, None] * X))
    with_one = np.hstack([X, np.ones((n, 1))])
    close(rows.gram(h, True), with_one.T @ (h[:, None] * with_one))
    close(rows.row_gram(), X @ X.T)
    gram = rows.gram(h, True)
    np.testing.assert_array_equal(gram, gram.T)


@pytest.mark.parametrize("density", [1.0, 0.05])
def test_work_in_pieces(name: str, density: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut into many compiled calls, with a checkpoint after each, the results are the same."""
    X = matrix((200, 30), density)
    whole = Rows.of(layout(X, name))
    h, w = np.random.default_rng(2).random(200), np.random.default_rng(3).normal(size=30)
    expected = whole.scores(w), whole.combine(h), whole.gram(h, True)
    monkeypatch.setattr(rows_module, "MACHINE", replace(MACHINE, call=50.0))
    calls = []
    rows = Rows(whole.view, lambda: calls.append(1))
    np.testing.assert_array_equal(rows.scores(w), expected[0])
    assert len(calls) > 5
    close(rows.combine(h), expected[1])
    close(rows.gram(h, True), expected[2])
    close(rows.gram(h, False), expected[2][:-1, :-1])


@pytest.mark.parametrize("blas", [True, False])
@pytest.mark.parametrize("free", [True, False])
def test_large_gram(
    name: str, blas: bool, free: bool, constant: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wider than a tile and not a multiple of one; more rows than one block for BLAS."""
    machine = replace(MACHINE, blas_side=96 if blas else 10_000, blas_rows=64)
    monkeypatch.setattr(rows_module, "MACHINE", machine)
    monkeypatch.setattr(work, "MACHINE", machine)
    X = matrix((150, 203), 0.6)
    h = np.random.default_rng(4).random(150)
    h[::3] = 0.0
    rows = Rows.of(layout(X, name))
    if constant:
        rows, X = rows.with_constant(constant), np.hstack([X, np.full((150, 1), constant)])
    if free:
        X = np.hstack([X, np.ones((150, 1))])
    gram = rows.gram(h, free)
    close(gram, X.T @ (h[:, None] * X))
    np.testing.assert_array_equal(gram, gram.T)
    assert not rows.gram(np.zeros(150), free).any()


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("backwards", [True, False])
def test_whole_rows_of_a_sparse_matrix(index: type, backwards: bool) -> None:
    """Rows that store every column in order are read without their indices."""
    X = matrix((20, 31), 1.0)
    X[3, 5] = X[7, 0] = X[8, 30] = 0.0
    csr = sp.csr_matrix(X)
    csr.indices, csr.indptr = csr.indices.astype(index), csr.indptr.astype(index)
    if backwards:
        row = slice(csr.indptr[12], csr.indptr[13])
        csr.indices[row], csr.data[row] = csr.indices[row][::-1].copy(), csr.data[row][::-1].copy()
        csr.has_sorted_indices = False
    rows, random = Rows.of(as_rows_array(csr)), np.random.default_rng(1)
    w, h = random.normal(size=31), random.normal(size=20)
    close(rows.scores(w), X @ w)
    close(rows.combine(h), X.T @ h)
    close(rows.row_gram(), X @ X.T)


def test_a_full_sparse_matrix_in_any_order() -> None:
    X = matrix((5, 4), 1.0)
    full = sp.csr_array(X)
    full.indices = full.indices.reshape(5, 4)[:, ::-1].ravel().copy()
    close(Rows.of(full).scores(np.arange(4.0)), X[:, ::-1] @ np.arange(4.0))


def test_float32_accumulates_in_double() -> None:
    """1e8 + 1 − 1e8 is 0 in float32 and 1 in double."""
    X = np.array([[1e8, 1.0, -1e8]], dtype=np.float32)
    for data in (X, sp.csr_array(X)):
        rows = Rows.of(data)
        assert rows.scores(np.ones(3)) == [1.0]
        assert rows.norms == [2 * float(np.float32(1e8)) ** 2 + 1.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_read_in_place(dtype: str) -> None:
    """The view sees a later change of the array: nothing was copied."""
    X = np.ones((4, 3), dtype=dtype)
    rows = Rows.of(X)
    X[2, 1] = 5.0
    np.testing.assert_array_equal(rows.scores(np.ones(3)), [3.0, 3.0, 7.0, 3.0])
    csr = sp.csr_array(np.ones((4, 3), dtype=dtype))
    rows = Rows.of(csr)
    csr.data[7] = 5.0
    np.testing.assert_array_equal(rows.scores(np.ones(3)), [3.0, 3.0, 7.0, 3.0])


def test_rows_of_a_wider_array() -> None:
    """Contiguous rows with a stride need no copy."""
    wide = np.random.default_rng(0).normal(size=(6, 10))
    rows = Rows.of(wide[:, :4])
    w = np.arange(4.0)
    np.testing.assert_allclose(rows.scores(w), wide[:, :4] @ w, rtol=1e-14)


def test_rows_keep_their_arrays_alive() -> None:
    rows = Rows.of(np.full((1000, 50), 2.0))
    subset = rows.take(np.arange(3, dtype=np.int64))
    del rows
    for _ in range(20):
        np.full((1000, 50), -1.0)
    np.testing.assert_array_equal(subset.scores(np.ones(50)), [100.0] * 3)


def test_as_rows_array_copies_only_by_its_rules() -> None:
    X = np.random.default_rng(0).normal(size=(5, 4))
    assert np.shares_memory(as_rows_array(X), X)
    assert np.shares_memory(as_rows_array(X[1:]), X)
    ordered = as_rows_array(np.asfortranarray(X))
    assert ordered.flags.c_contiguous
    np.testing.assert_array_equal(ordered, X)
    X[2, 3] = X[4, 0] = 0.0
    csr = sp.csr_array(X)
    assert as_rows_array(csr) is csr
    mixed = sp.csr_array(X)
    mixed.indptr = mixed.indptr.astype(np.int64)
    mixed.indices = mixed.indices.astype(np.int32)
    got = as_rows_array(mixed)
    assert got.indices.dtype == got.indptr.dtype == np.int64
    assert np.shares_memory(got.data, mixed.data)


@pytest.mark.parametrize("ordered", [True, False])
def test_repeated_entries_are_summed(ordered: bool) -> None:
    indices = [0, 1, 1, 2, 0] if ordered else [1, 0, 1, 0, 2]
    data = [1.0, 2.0, 3.0, 4.0, 5.0] if ordered else [2.0, 1.0, 3.0, 5.0, 4.0]
    pointers = [0, 3, 3, 4, 5]
    repeated = sp.csr_array((data, indices, pointers), shape=(4, 3))
    expected = np.zeros((4, 3))
    for i in range(4):
        for k in range(pointers[i], pointers[i + 1]):
            expected[i, indices[k]] += data[k]
    before = repeated.data.copy()
    rows = Rows.of(as_rows_array(repeated))
    close(rows.norms, np.sum(expected**2, axis=1))
    close(rows.gram(np.ones(4), False), expected.T @ expected)
    close(rows.scores(np.array([1.0, 10.0, 100.0])), expected @ [1.0, 10.0, 100.0])
    np.testing.assert_array_equal(repeated.data, before)
    assert repeated.nnz == 5


def test_same_column_in_neighbouring_rows_is_no_repeat() -> None:
    X = sp.csr_array(np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 0.0], [4.0, 5.0]]))
    X.has_canonical_format = False
    assert as_rows_array(X) is X


def test_views_check_what_they_are_given() -> None:
    X = np.ones((4, 3))
    view = core.dense_rows(X, 0.0)
    with pytest.raises(ValueError, match="w has length 2, expected 3"):
        view.scores(np.ones(2), np.ones(4), 0, 4)
    with pytest.raises(ValueError, match="row range out of bounds"):
        view.scores(np.ones(3), np.ones(4), 0, 5)
    with pytest.raises(ValueError, match="dense rows must be two-dimensional with contiguous rows"):
        core.dense_rows(np.asfortranarray(X), 0.0)
    with pytest.raises(ValueError, match="dense rows must be float32 or float64"):
        core.dense_rows(X.astype(int), 0.0)
    with pytest.raises(ValueError, match="a row number is out of range"):
        view.take(np.array([4], dtype=np.int64))
    with pytest.raises(ValueError, match="rows are a subset already"):
        view.take(np.array([1], dtype=np.int64)).take(np.array([0], dtype=np.int64))
    with pytest.raises(
        ValueError, match="indices and row pointers must both be int32 or both int64"
    ):
        core.csr_rows(np.ones(1), np.zeros(1, np.int32), np.array([0, 1], np.int64), 1, 0.0)
    with pytest.raises(ValueError, match="row pointers are empty"):
        core.csr_rows(np.ones(0), np.zeros(0, np.int32), np.zeros(0, np.int32), 1, 0.0)


@pytest.mark.parametrize("sparse", [False, True])
def test_taking_from_what_was_taken(sparse: bool) -> None:
    X = np.arange(20.0).reshape(5, 4) % 7
    rows = Rows.of(sp.csr_matrix(X) if sparse else X)
    first, second = np.array([4, 1, 3]), np.array([2, 0])
    taken = rows.take(first).take(second)
    np.testing.assert_array_equal(taken.scores(np.ones(4)), X[first][second].sum(axis=1))
    shifted = rows.take(first).with_constant(2.0).take(second)
    np.testing.assert_array_equal(shifted.scores(np.ones(5)), X[first][second].sum(axis=1) + 2.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("count", "width"), [(7, 1), (50, 3), (101, 9), (64, 30), (33, 257)])
def test_sums_over_dense_rows_do_not_depend_on_how_they_are_cut(
    count: int, width: int, dtype: type
) -> None:
    """Rows are added four at a time, to the bits of one by one, and rows without weight skipped."""
    random = np.random.default_rng(8)
    X = random.normal(size=(count, width)).astype(dtype)
    coefficients = np.where(random.random(count) < 0.3, 0.0, random.normal(size=count))
    signs, curvature = np.sign(random.normal(size=count)), np.abs(coefficients)
    for rows in (Rows.of(X), Rows.of(X).with_constant(2.0)):
        given = X.astype(float)
        full = given if rows.weights == width else np.c_[given, np.full(count, 2.0)]
        sums, squares = np.zeros((2, rows.weights))
        for begin in range(0, count, 5):
            end = min(begin + 5, count)
            rows.view.accumulate(coefficients, signs, sums, begin, end)
            rows.view.curvature_diagonal(curvature, squares, begin, end)
        np.testing.assert_array_equal(rows.combine(coefficients, signs), sums)
        np.testing.assert_array_equal(rows.curvature_diagonal(curvature), squares)
        np.testing.assert_allclose(sums, full.T @ (coefficients * signs), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(squares, (full**2).T @ curvature, rtol=1e-10, atol=1e-12)
        w = random.normal(size=rows.weights)
        np.testing.assert_allclose(rows.scores(w), full @ w, rtol=1e-10, atol=1e-12)
        image, share = rows.curvature_product(curvature, w, 0.3)
        curved = curvature * (full @ w + 0.3)
        np.testing.assert_allclose(image, full.T @ curved, rtol=1e-9, atol=1e-11)
        assert share == pytest.approx(curved.sum(), rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bias", [0.0, 2.5], ids=["plain", "constant"])
def test_short_rows_of_uneven_length_have_the_bits_of_row_after_row(
    dtype: type, bias: float
) -> None:
    """Passes over many rows at a time take another way, which may depend on where parts begin."""
    random = np.random.default_rng(5)
    lengths = random.integers(0, 25, size=600)
    lengths[300] = 1200  # longer than what is worked on at a time
    columns = [np.sort(random.choice(1300, length, replace=False)) for length in lengths]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    values = random.normal(size=int(ends[-1])).astype(dtype)
    X = sp.csr_matrix((values, np.concatenate(columns).astype(np.int32), ends), shape=(600, 1300))
    rows = Rows.of(as_rows_array(X))
    rows = rows.with_constant(bias) if bias else rows
    w, signs = random.normal(size=rows.weights), np.where(random.random(600) < 0.5, -1.0, 1.0)
    a = random.normal(size=600) * (random.random(600) < 0.8)
    scores, total, squares = np.empty(600), np.zeros(rows.weights), np.zeros(rows.weights)
    image, share = np.zeros(rows.weights), 0.0
    for i in range(600):  # parts of one row are not worth the other way
        rows.view.scores(w, scores, i, i + 1)
        rows.view.accumulate(a, signs, total, i, i + 1)
        rows.view.curvature_diagonal(a * a, squares, i, i + 1)
        share += rows.view.curvature_product(a * a, w, 0.5, image, i, i + 1)
    assert np.array_equal(rows.scores(w), scores)
    assert np.array_equal(rows.combine(a, signs), total)
    both = rows.scores_and_combination(w, a, signs)
    assert np.array_equal(both[0], scores)
    assert np.array_equal(both[1], total)
    assert np.array_equal(rows.curvature_diagonal(a * a), squares)
    assert np.array_equal(rows.curvature_product(a * a, w, 0.5)[0], image)
    assert rows.curvature_product(a * a, w, 0.5)[1] == share
    np.testing.assert_allclose(
        rows.scores(w)[: X.shape[0]], X @ w[:1300] + bias * w[-1] * (bias != 0.0), rtol=1e-5
    )
