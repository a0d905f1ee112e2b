"""Rows in blocks: the same products as rows in one piece, the same bits for any threads."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.auto.machine import MACHINE
from widemargin.data import blocks
from widemargin.data.block_work import Threads, Tree
from widemargin.data.blocked_rows import BlockedRows
from widemargin.data.blocks import cuts_of, rows_of_block
from widemargin.data.memory_rows import MemoryRows, rows_in_blocks
from widemargin.data.rows import Rows
from widemargin.problems import threaded
from widemargin.problems.losses import LOSSES, Line
from widemargin.problems.threaded import ThreadedLoss

COUNT, WIDTH = 403, 7


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "FEWEST_ROWS", 16)
    monkeypatch.setattr(blocks, "DENSE_VALUES", 256)
    monkeypatch.setattr(blocks, "SPARSE_VALUES", 128)
    monkeypatch.setattr(blocks, "MATRIX_ROWS", 1)
    monkeypatch.setattr(threaded, "CHUNK", 64)
    monkeypatch.setattr("widemargin.data.blocked_rows.MACHINE", _Sharing())


class _Sharing:
    """However small the work, it is shared out."""

    hand_out = 0.0


def matrix(layout: str) -> Any:
    random = np.random.default_rng(3)
    X = random.standard_normal((COUNT, WIDTH)) * (random.random((COUNT, WIDTH)) < 0.6)
    return sp.csr_array(X) if layout == "csr" else X.astype(layout)


def results(rows: Rows) -> dict[str, Any]:
    random = np.random.default_rng(5)
    w, a, c = (random.standard_normal(k) for k in (rows.weights, rows.count, rows.count))
    h, y = (
        np.abs(c) * (random.random(rows.count) < 0.5),
        np.sign(random.standard_normal(rows.count)),
    )
    scores, combination = rows.scores_and_combination(w, a, y)
    image, share = rows.curvature_product(h, w, 0.3)
    again = image, share, rows.scores(w)
    if isinstance(rows, BlockedRows):
        again = rows.curvature_product_and_scores(h, w, 0.3)
    return {
        "scores": rows.scores(w),
        "fused scores": scores,
        "fused combination": combination,
        "combine": rows.combine(a),
        "signed": rows.combine(a, y),
        "change": rows.combine_change(a, c, y),
        "compensated scores": rows.compensated_scores(w, (0.5, 1e-20)),
        "compensated combination": rows.compensated_combination(a, y),
        "product": image,
        "share": share,
        "product with scores": again[0],
        "share with scores": again[1],
        "scores of a product": again[2],
        "diagonal": rows.curvature_diagonal(h),
        "gram": rows.gram(h, True),
        "plain gram": rows.gram(h, False),
        "norms": rows.norms,
        "some rows' gram": rows.glance(np.arange(3, 12)).gram(h[3:12].copy(), True),
        "mean norm": rows.mean_squared_norm,
        "frobenius": rows.frobenius,
    }


@pytest.mark.parametrize("subset", [False, True])
@pytest.mark.parametrize("constant", [0.0, 2.0])
@pytest.mark.parametrize("layout", ["float64", "float32", "csr"])
def test_every_product_is_that_of_the_whole(layout: str, constant: float, subset: bool) -> None:
    def prepared(threads: int | None) -> Rows:
        rows = Rows.of(matrix(layout))
        rows = rows.with_constant(constant) if constant else rows
        rows = rows if threads is None else rows_in_blocks(rows, Threads(threads))
        places = np.flatnonzero(np.arange(COUNT) % 3 == 1)
        return rows.take(places).take(np.arange(5, places.size)) if subset else rows

    whole, one = results(prepared(None)), results(prepared(1))
    assert prepared(1).blocked
    for name, expected in whole.items():
        np.testing.assert_allclose(one[name], expected, rtol=1e-12, atol=1e-12, err_msg=name)
    for threads in (2, 3, 8):
        for name, numbers in results(prepared(threads)).items():
            np.testing.assert_array_equal(numbers, one[name], err_msg=f"{name}, {threads} threads")


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("subset", [False, True])
@pytest.mark.parametrize("layout", ["float64", "float32", "csr"])
def test_one_compiled_call_has_the_bits_of_block_by_block(
    layout: str, subset: bool, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks on a disk or a cluster are worked on one by one; calls may be cut short."""
    X = matrix(layout)
    if wide:  # Gram matrices by BLAS
        X = np.tile(X.toarray() if layout == "csr" else X, (1, 20))
    rows = rows_in_blocks(Rows.of(X), Threads(3))
    assert isinstance(rows, MemoryRows)
    if subset:
        rows = rows.take(np.flatnonzero(np.arange(COUNT) % 3 == 1))
    held = {name: getattr(rows, name) for name in ("view", "blocks", "dimensions", "_whole")}
    expected = results(BlockedRows(**held))
    monkeypatch.setattr("widemargin.data.memory_rows.MACHINE", _ShortCalls())
    for again in (False, True):
        if again:
            monkeypatch.undo()
        for name, numbers in results(rows.watched(rows.checkpoint)).items():
            np.testing.assert_array_equal(numbers, expected[name], err_msg=name)


def test_blocks_of_whole_rows() -> None:
    """A block that stores every value is read as a dense one where it stands alone."""
    full, sparse = np.random.default_rng(0).standard_normal((40, WIDTH)), matrix("csr")
    X = sp.csr_array(sp.vstack([full, sparse], format="csr"))
    rows = rows_in_blocks(Rows.of(X), Threads(2))
    assert isinstance(rows, MemoryRows)
    cuts = rows.blocks.cuts
    alone = [Rows.of(blocks.sliced(X, int(b), int(e))) for b, e in itertools.pairwise(cuts)]
    apart = replace(rows.blocks, load=alone.__getitem__)
    expected = results(BlockedRows(rows.view, blocks=apart, dimensions=rows.dimensions))
    for name, numbers in results(rows).items():
        np.testing.assert_array_equal(numbers, expected[name], err_msg=name)


class _ShortCalls:
    """No call works on more than a few blocks."""

    call = 500.0
    blas_side, blas_density, blas_rows = MACHINE.blas_side, MACHINE.blas_density, MACHINE.blas_rows


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "logistic"])
def test_losses_in_threads(name: str) -> None:
    random = np.random.default_rng(1)
    y, cost = np.sign(random.standard_normal(COUNT)), random.random(COUNT) + 0.1
    scores, slopes = random.standard_normal(COUNT), random.standard_normal(COUNT)
    alpha = cost * random.random(COUNT)
    plain = LOSSES[name]
    for loss in (ThreadedLoss.of(plain, Threads(k)) for k in (1, 3)):
        assert loss.compiled
        assert loss.smooth == plain.smooth
        assert loss.total(y, cost, scores, 0.2) == pytest.approx(plain.total(y, cost, scores, 0.2))
        assert loss.dual_total(alpha, cost) == pytest.approx(plain.dual_total(alpha, cost))
        assert loss.sums(y, cost, scores, 0.2, 1e-3) == pytest.approx(
            plain.sums(y, cost, scores, 0.2, 1e-3)
        )
        np.testing.assert_array_equal(loss.middle(cost), plain.middle(cost))
        assert loss.largest_share(alpha, cost) == plain.largest_share(alpha, cost)
        balanced = loss.balance(alpha, y, cost)
        np.testing.assert_array_equal(balanced, plain.balance(alpha, y, cost))
        assert abs(float(balanced @ y)) <= 1e-12 * cost.sum()
        ours, theirs = loss.dual_sums(y, cost, alpha), plain.dual_sums(y, cost, alpha)
        assert ours == pytest.approx(theirs)
        # A bound is what the certificate takes it for.
        assert abs(ours.residual) >= abs(theirs.residual)
        np.testing.assert_array_equal(
            loss.duals(y, cost, scores, 0.2), plain.duals(y, cost, scores, 0.2)
        )
        np.testing.assert_array_equal(loss.clip(alpha - 0.2, cost), plain.clip(alpha - 0.2, cost))
        if plain.smooth:
            for ours_, theirs_ in zip(
                loss.terms(y, cost, scores, 0.2), plain.terms(y, cost, scores, 0.2), strict=True
            ):
                np.testing.assert_array_equal(ours_, theirs_)
            lines = [Line(y, cost, scores.copy(), 0.2, slopes.copy(), 0.4) for _ in range(2)]
            assert loss.derivatives_along(lines[0], 0.7) == pytest.approx(
                plain.derivatives_along(lines[1], 0.7)
            )
            loss.linearised_move(lines[0], 0.7)
            plain.linearised_move(lines[1], 0.7)
            np.testing.assert_array_equal(lines[0].scores, lines[1].scores)
            np.testing.assert_array_equal(lines[0].slopes, lines[1].slopes)


def test_a_tree_does_not_depend_on_the_order() -> None:
    random = np.random.default_rng(0)
    values = [f"{k:x}" for k in range(13)]
    found = set()
    for _ in range(20):
        tree = Tree(lambda left, right: f"({left}{right})")
        for place in random.permutation(13):
            tree.add(int(place), values[place])
        found.add(tree.total())
    assert found == {"((((01)(23))((45)(67)))(((89)(ab))c))"}


def test_branches_of_a_tree_add_up_to_the_same_tree() -> None:
    def merged(left: str, right: str) -> str:
        return f"({left}{right})"

    whole, top = Tree(merged), Tree(merged)
    for place in range(11):
        whole.add(place, f"{place:x}")
    for begin, end in ((7, 11), (0, 3), (3, 7)):
        part = Tree(merged)
        for place in range(begin, end):
            part.add(place, f"{place:x}")
        for level, place, value in part.branches():
            top.add(place, value, level)
    assert top.total() == whole.total()


def test_cuts_depend_on_the_rows_alone() -> None:
    X = matrix("float64")
    assert rows_of_block(X) == rows_of_block(X[:20]) == 32
    assert rows_of_block(matrix("csr")) == 16
    np.testing.assert_array_equal(cuts_of(70, 32), [0, 32, 64, 70])
    np.testing.assert_array_equal(cuts_of(64, 32), [0, 32, 64])


def test_threads_run_at_once_and_stop_together() -> None:
    barrier = threading.Barrier(3, timeout=10)
    Threads(3).each(3, lambda place: barrier.wait())
    seen: list[int] = []

    def work(place: int) -> None:
        seen.append(place)
        if place == 3:
            raise ValueError("three")

    with pytest.raises(ValueError, match="three"):
        Threads(2).each(1000, work)
    assert len(seen) < 1000


def test_a_checkpoint_ends_the_work() -> None:
    def checkpoint() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Threads(2).each(1000, lambda place: None, checkpoint)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_compiled_threads_after_a_fork() -> None:
    """A child process has none of its parent's threads: it starts its own, and joins no others."""
    threads, numbers = Threads(3), np.arange(1e5)
    expected = threads.dot(numbers, numbers)
    child = os.fork()
    if child == 0:
        same = threads.dot(numbers, numbers) == expected
        del threads
        os._exit(0 if same else 1)
    for _ in range(200):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0
    assert threads.dot(numbers, numbers) == expected


def test_compiled_threads_that_are_in_use_do_not_wait() -> None:
    """A second caller works alone, with the same result."""
    threads, numbers = Threads(2), np.arange(3e5)
    expected, found = threads.dot(numbers, numbers), []
    callers = [
        threading.Thread(
            target=lambda: found.extend(threads.dot(numbers, numbers) for _ in range(50))
        )
        for _ in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert found == [expected] * 200
