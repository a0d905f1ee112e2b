"""Passes over data on disk: a step by conjugate gradients takes one, and one for each product."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from widemargin import DiskData, LinearSVC, LogisticRegression
from widemargin.auto.machine import MACHINE
from widemargin.data import blocks
from widemargin.data.block_file import BlockFile
from widemargin.data.blocks import LocalBlocks
from widemargin.linalg import conjugate_gradients
from widemargin.methods.newton import _gradient_products, _system

COUNT, WIDTH = 1280, MACHINE.largest_factorised + 48
LOSSES = ("squared_hinge", "logistic", "hinge")


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(blocks, "FEWEST_ROWS", 128)
    monkeypatch.setattr(blocks, "DENSE_VALUES", 128 * WIDTH)
    monkeypatch.setenv("WIDEMARGIN_CACHE", str(tmp_path))


def examples() -> tuple[Any, Any]:
    random = np.random.default_rng(2)
    X = random.standard_normal((COUNT, WIDTH), dtype=np.float32)
    return X, np.where(X[:, :9].sum(axis=1) + 2.0 * random.standard_normal(COUNT) > 0.3, 1, -1)


def model(loss: str, jobs: int = 1) -> Any:
    given: dict[str, Any] = {"C": 1e-4, "n_jobs": jobs}
    if loss == "logistic":
        return LogisticRegression(solver="newton", **given)
    return LinearSVC(loss, solver="newton" if loss != "hinge" else "proximal_newton", **given)


def bits(model: Any) -> tuple[bytes, ...]:
    kept = model.coef_, model.intercept_, model.primal_, model.dual_, model.dual_coef_
    return tuple(np.ascontiguousarray(numbers).tobytes() for numbers in kept)


class Counts:
    """What the fits of a test have done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tasks: Counter[str] = Counter()
        self.products = self.copies = 0
        run, take = LocalBlocks.run, LocalBlocks.take

        def counted_run(blocks: Any, task: Any, *given: Any) -> Any:
            self.tasks[task.__name__] += not blocks.in_memory
            return run(blocks, task, *given)

        def counted_take(*given: Any) -> Any:
            self.copies += 1
            return take(*given)

        def counted(solve: Any) -> Any:
            def solve_and_count(*given: Any) -> Any:
                found = solve(*given)
                self.products += found[2]
                return found

            return solve_and_count

        monkeypatch.setattr(LocalBlocks, "run", counted_run)
        monkeypatch.setattr(LocalBlocks, "take", counted_take)
        for name in ("conjugate_gradients", "diagonal_gradients"):
            monkeypatch.setattr(_system, name, counted(getattr(_system, name)))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_passes_of_a_step(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = examples()
    data, counts = DiskData(iter([(X, y)]), memory_limit="8GB"), Counts(monkeypatch)
    monkeypatch.setattr(_gradient_products, "few_curved", lambda problem, curvature: False)
    found = model(loss).fit(data)
    assert found.status_ == ["converged"]
    assert counts.products > 0
    steps = int(np.max(found.n_iter_))
    assert counts.tasks["_combine_with_diagonal"] == steps
    with_scores = counts.tasks["_product_and_scores"]
    assert with_scores + counts.tasks["_curvature_product"] == counts.products
    assert with_scores > 0
    # Beside those: what was clipped in the last step, certificates, and after the run the support
    # and the weights in single precision.
    others = sum(counts.tasks.values()) - steps - counts.products
    assert others <= (7 if loss == "hinge" else 4)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_same_bits_as_in_memory(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = examples()
    data = DiskData(iter([(X, y)]), memory_limit="8GB")
    memory = model(loss).fit(X, y)
    counts = Counts(monkeypatch)
    assert bits(memory) == bits(model(loss).fit(data)) == bits(model(loss, 2).fit(data))
    assert memory.certificate_.relative_gap <= 1e-4
    # The rounded hinge ends with few rows in its corner: they are copied once per step.
    assert (counts.copies > 0) == (loss == "hinge")


def test_lengths_add_up_to_the_solution() -> None:
    random = np.random.default_rng(0)
    A = random.standard_normal((9, 6))
    A = A.T @ A + np.eye(6)
    right, slopes = random.standard_normal(6), np.zeros(6)
    last = np.zeros(6)

    def product(direction: Any) -> Any:
        last[:] = direction
        return A @ direction

    def moved(length: float) -> None:
        nonlocal slopes
        slopes = slopes + length * last

    enough = conjugate_gradients.relative_to_start(1e-12)
    x, _, _ = conjugate_gradients.conjugate_gradients(product, right, np.copy, enough, 20, moved)
    np.testing.assert_allclose(slopes, x, rtol=1e-12)


def test_few_rows_of_a_block_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = examples()
    data = DiskData(iter([(X, y)]), memory_limit="8GB")
    whole: list[int] = []
    monkeypatch.setattr(BlockFile, "matrix", lambda self, place: whole.append(place))
    before, subset = data.bytes_read, np.array([3, 7, 100])
    np.testing.assert_array_equal(data._file.picked(2, subset), X[2 * 128 + subset])
    assert data.bytes_read - before == 3 * WIDTH * 4
    assert whole == []
    with pytest.raises(TypeError):
        data._file.picked(2, np.arange(100))
    assert whole == [2]


def test_no_row_with_curvature() -> None:
    X, y = examples()
    data = DiskData(iter([(X, y)]), memory_limit="8GB")
    none = data.rows(1, False).take(np.empty(0, np.int64))
    image, share = none.curvature_product(np.empty(0), np.ones(WIDTH), 1.0)
    assert share == 0.0
    np.testing.assert_array_equal(image, np.zeros(WIDTH))
