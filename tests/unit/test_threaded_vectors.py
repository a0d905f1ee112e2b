"""Work that compiled threads share: vectors over the examples, wide sums, matrices of few rows."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.data import blocks
from widemargin.data.block_work import CHUNK, Threads
from widemargin.data.blocked_rows import BlockedRows
from widemargin.data.memory_rows import MemoryRows, rows_in_blocks
from widemargin.data.over_examples import OverExamples
from widemargin.data.rows import Rows
from widemargin.instruction_sets import core
from widemargin.methods.newton._samples import spread_sample

COUNT = 3 * CHUNK + 5
JOBS = (1, 2, 3, 8)


def numbers(seed: int) -> Any:
    random = np.random.default_rng(seed)
    return random.standard_normal(COUNT) * (random.random(COUNT) < 0.3)


@pytest.mark.parametrize("jobs", JOBS)
def test_vectors_over_the_examples(jobs: int) -> None:
    threads, a, b = Threads(jobs), numbers(0), numbers(1)
    places = np.random.default_rng(2).integers(0, COUNT, 2 * CHUNK + 1)
    np.testing.assert_array_equal(threads.gather(a, places), a[places])
    np.testing.assert_array_equal(threads.nonzero_places(a), np.flatnonzero(a))
    assert threads.count_between(a, np.abs(b)) == np.count_nonzero((a > 0.0) & (a < np.abs(b)))
    most = np.abs(b)
    inside = (a > 0.1 * most) & (a < 0.9 * most)
    assert threads.count_between(a, most, 0.1) == np.count_nonzero(inside)
    out = np.empty(COUNT)
    threads.scaled(a, 0.3, out)
    np.testing.assert_array_equal(out, 0.3 * a)
    threads.multiply(a, b, out, 0.7)
    np.testing.assert_array_equal(out, (a + 0.7) * b)
    rest = a.copy()
    assert threads.subtract(rest, b)
    np.testing.assert_array_equal(rest, a - b)
    assert not threads.subtract(rest, a - b)
    filled = np.zeros(COUNT)
    threads.pieces(COUNT, lambda at: filled.__setitem__(at, a[at]))
    np.testing.assert_array_equal(filled, a)


def test_matrices_of_any_order() -> None:
    """What is read may have any order; what is written to in parts has to be in C order."""

    class Shared(OverExamples):
        threads = Threads(2)

    rows = Shared()
    matrix = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(rows.scaled(matrix, 2.0), 2.0 * matrix)
    total = np.ones((3, 4))
    rows.add_scaled(total, matrix, 3.0)
    np.testing.assert_array_equal(total, 1.0 + 3.0 * matrix)
    with pytest.raises(ValueError, match="C order"):
        rows.add_scaled(matrix, total, 1.0)


@pytest.mark.parametrize("jobs", JOBS)
def test_who_came_and_who_went(jobs: int) -> None:
    a, b, members = numbers(0), numbers(1), np.empty(COUNT, dtype=bool)
    came, went = Threads(jobs).positive_members(a, members, None)
    np.testing.assert_array_equal(members, a > 0.0)
    assert came.size == went.size == 0
    came, went = Threads(jobs).positive_members(b, np.empty(COUNT, dtype=bool), members)
    np.testing.assert_array_equal(came, np.flatnonzero((b > 0.0) & ~(a > 0.0)))
    np.testing.assert_array_equal(went, np.flatnonzero(~(b > 0.0) & (a > 0.0)))


def test_places_out_of_range_are_refused() -> None:
    for wrong in (-1, COUNT):
        with pytest.raises(ValueError, match="out of range"):
            Threads(2).gather(numbers(0), np.array([0, wrong]))


@pytest.mark.parametrize("jobs", JOBS)
def test_dual_variables_at_their_bounds(jobs: int) -> None:
    random = np.random.default_rng(5)
    cost, margins = random.random(COUNT) + 0.1, 1.0 + random.standard_normal(COUNT)
    alpha = cost * np.clip(random.standard_normal(COUNT), 0.0, 1.0)
    y, placed = np.sign(random.standard_normal(COUNT)), np.empty(COUNT)
    total, free = core.place_at_bounds(
        Threads(jobs).pool, y, cost, margins, alpha, placed, (0.2, 1e-6), CHUNK
    )
    low = (alpha <= 1e-6 * cost) | (margins > 1.2)
    high = (alpha >= (1.0 - 1e-6) * cost) | (margins < 0.8)
    np.testing.assert_array_equal(placed, np.where(low, 0.0, np.where(high, cost, alpha)))
    np.testing.assert_array_equal(free, np.flatnonzero(~low & ~high))
    assert total == pytest.approx(y @ np.where(low | high, placed, 0.0), rel=1e-12)
    one = core.place_at_bounds(Threads(1).pool, y, cost, margins, alpha, placed, (0.2, 1e-6), CHUNK)
    assert total == one[0]


def test_a_spread_sample_has_one_row_of_each_stretch() -> None:
    rows = Rows.of(np.ones((1003, 1)))
    problem: Any = SimpleNamespace(rows=rows, cost=np.ones(1003), represents=lambda _: True)
    found = spread_sample(problem, 77, np.random.default_rng(3))
    edges = np.linspace(0, 1003, 78).astype(np.int64)
    shares = np.random.default_rng(3).random(77)
    np.testing.assert_array_equal(found, edges[:-1] + (shares * np.diff(edges)).astype(int))


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "FEWEST_ROWS", 64)
    monkeypatch.setattr(blocks, "SPARSE_VALUES", 2**10)
    monkeypatch.setattr(blocks, "MATRIX_ROWS", 1)
    monkeypatch.setattr(blocks, "SUMS", 0)


def sparse(count: int, width: int, mean: int) -> Any:
    random = np.random.default_rng(7)
    return sp.csr_array(sp.random(count, width, mean / width, random_state=random, format="csr"))


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("count", [100, 900, 2500])
def test_sums_of_many_weights(count: int) -> None:
    """Those of a group of blocks are added up in stretches of weights, in the order of the tree."""
    X = sparse(count, 3 * CHUNK + 3, 16)
    random = np.random.default_rng(1)
    w, a = random.standard_normal(X.shape[1]), random.standard_normal(count)
    h, y = np.abs(a), np.ones(count)
    h[70:200] = 0.0  # blocks without anything to add

    def found(rows: Any) -> list[Any]:
        pair = rows.curvature_product(h, w, 0.3)
        return [rows.combine(h, y), rows.combine_change(a, a * (h > 0.0), y), *pair]

    rows = rows_in_blocks(Rows.of(X), Threads(1))
    assert isinstance(rows, MemoryRows)
    one = found(rows)
    held = {name: getattr(rows, name) for name in ("view", "blocks", "dimensions", "_whole")}
    for other in (BlockedRows(**held), *(rows_in_blocks(Rows.of(X), Threads(k)) for k in JOBS)):
        for numbers, expected in zip(found(other), one, strict=True):
            np.testing.assert_array_equal(numbers, expected)
    np.testing.assert_allclose(one[0], X.T @ h, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("_small_blocks")
def test_compensated_sums() -> None:
    """Both vectors together have all digits of the sum, and the same bits for any threads."""
    X = sparse(900, 40, 16)
    a = np.random.default_rng(2).standard_normal(900) * 10.0 ** np.arange(900) ** 0.3
    one = rows_in_blocks(Rows.of(X), Threads(1)).compensated_pair(a)
    exact = [math.fsum(column) for column in (X.multiply(a[:, None]).toarray()).T]
    np.testing.assert_allclose(one[0] + one[1], exact, rtol=1e-13)
    for jobs in JOBS[1:]:
        other = rows_in_blocks(Rows.of(X), Threads(jobs)).compensated_pair(a)
        np.testing.assert_array_equal(other, one)


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("constant", [False, True])
def test_the_matrix_of_few_rows(constant: bool) -> None:
    """One block: threads share the lines of the matrix."""
    X = sparse(600, 300, 20)
    h, few = np.random.default_rng(1).random(600), np.arange(40, 90)
    dense = np.hstack([X[few].toarray(), np.ones((few.size, int(constant)))])
    expected = (dense.T * h[few]) @ dense

    def gram(jobs: int) -> Any:
        rows = rows_in_blocks(Rows.of(X), Threads(jobs))
        assert isinstance(rows, MemoryRows)
        taken = rows.glance(few)
        assert taken.blocks.cuts.size == 2
        return taken.gram(h[few], constant)

    one = gram(1)
    np.testing.assert_allclose(one, expected, rtol=1e-12, atol=1e-12)
    for jobs in JOBS:
        np.testing.assert_array_equal(gram(jobs), one)
