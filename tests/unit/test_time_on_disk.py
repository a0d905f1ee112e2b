"""A time limit on data larger than memory: no pass over them is begun when the time is up.

The clock is a fake one, on which reading a block takes a second and nothing else takes any time.
"""

from __future__ import annotations

import time
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from widemargin import DiskData, LinearSVC, LogisticRegression
from widemargin.data import block_file, blocks
from widemargin.data.block_file import BlockFile
from widemargin.problems import threaded

COUNT, WIDTH, BLOCKS = 2048, 12, 32


class Clock:
    """Seconds are blocks that were read."""

    def __init__(self) -> None:
        self.read = 0

    def __call__(self) -> float:
        return float(self.read)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Clock:
    monkeypatch.setattr(blocks, "FEWEST_ROWS", 64)
    monkeypatch.setattr(blocks, "DENSE_VALUES", 64 * WIDTH)
    monkeypatch.setattr(threaded, "CHUNK", 256)
    monkeypatch.setenv("WIDEMARGIN_CACHE", str(tmp_path))
    # Blocks are so small that seeking in them would not pay.
    monkeypatch.setattr(block_file, "MACHINE", SimpleNamespace(seek_bytes=0))
    made = Clock()
    read = BlockFile._read

    def count(self: BlockFile, place: int, buffer: Any) -> None:
        made.read += 1
        read(self, place, buffer)

    monkeypatch.setattr(BlockFile, "_read", count)
    monkeypatch.setattr(time, "perf_counter", made)
    return made


@pytest.fixture
def data(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> DiskData:
    random = np.random.default_rng(3)
    X = random.standard_normal((COUNT, WIDTH)).astype(np.float32)
    y = np.where(X[:, 0] + 0.7 * random.standard_normal(COUNT) > 0, 1, -1)
    # No room for blocks that stay: every pass reads all of them.
    monkeypatch.setattr(DiskData, "_free", lambda self, threads, kept: 0)
    found = DiskData(iter([(X, y)]), memory_limit="1GB")
    assert found._file.lengths.size == BLOCKS
    return found


def model(loss: str, **given: Any) -> Any:
    if loss == "crammer_singer":
        return LinearSVC("hinge", multi_class=loss, **given)
    if loss == "logistic":
        return LogisticRegression(**given)
    return LinearSVC(loss, **given)


@pytest.mark.filterwarnings("ignore:stopped after")
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "crammer_singer"])
def test_no_more_than_one_pass_after_the_limit(loss: str, data: DiskData, clock: Clock) -> None:
    began = clock.read
    tol = 1e-2 if loss == "crammer_singer" else 1e-4
    whole = model(loss, tol=tol).fit(data)
    needed = clock.read - began
    assert whole.status_ == ["converged"]
    for limit in range(1, needed, needed // 6):
        began = clock.read
        found = model(loss, tol=tol, time_limit=float(limit)).fit(data)
        # Where nothing was certified before, one pass is what the first certificate takes.
        assert clock.read - began <= limit + BLOCKS + 1
        assert found.certificate_.primal >= whole.certificate_.dual
        assert found.certificate_.dual <= whole.certificate_.primal


@pytest.mark.filterwarnings("ignore:stopped after")
def test_one_pass_for_a_point_that_promises_more(data: DiskData, clock: Clock) -> None:
    """Without it, a fit that is repeated from where it was would return its start each time."""
    first = LinearSVC("hinge", tol=0.5).fit(data)
    assert first.status_ == ["converged"]
    better = 0
    for limit in range(6 * BLOCKS, 12 * BLOCKS, 45):
        again = deepcopy(first).set_params(tol=1e-9, warm_start=True, time_limit=float(limit))
        began = clock.read
        again.fit(data)
        # The start was certified first. A block that was begun is read to its end.
        assert clock.read - began <= limit + 1 + BLOCKS
        assert again.status_ == ["time_limit"]
        # The best intercept of the same weights is found anew, up to rounding.
        start = (1.0 + 1e-9) * first.certificate_.relative_gap
        assert again.certificate_.relative_gap <= start
        better += again.certificate_.relative_gap < 0.5 * first.certificate_.relative_gap
    assert better >= 2


def test_the_rest_of_the_time_is_for_what_comes_after_a_run(data: DiskData, clock: Clock) -> None:
    began = clock.read
    LinearSVC("hinge", tol=1e-3).fit(data)
    needed = clock.read - began
    # The last passes settle the support and judge weights in single precision.
    found = LinearSVC("hinge", tol=1e-3, time_limit=needed - BLOCKS // 2)
    began = clock.read
    found.fit(data)
    assert found.status_ == ["converged"]
    assert clock.read - began <= needed - BLOCKS // 2 + 1
    assert found.coef_.dtype == np.float64


@pytest.mark.parametrize("step", [2, 64])
def test_a_sample_is_copied_until_the_time_is_up(step: int, data: DiskData) -> None:
    rows, asked = data.rows(1, False), 0

    def pick(place: int, subset: Any) -> Any:
        nonlocal asked
        asked += 1
        return picked(place, subset)

    def stop() -> None:
        if asked == 3:
            raise TimeoutError

    picked = rows.blocks.pick
    rows = replace(rows, blocks=replace(rows.blocks, room=COUNT, pick=pick)).watched(stop)
    with pytest.raises(TimeoutError):
        rows.take(np.arange(0, COUNT, step))
    assert asked == 3
