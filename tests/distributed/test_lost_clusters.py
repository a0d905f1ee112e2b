"""Clusters that lose their scheduler, or all of their workers, in the middle of a fit."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402

from widemargin import LinearSVC  # noqa: E402
from widemargin.dask import (  # noqa: E402
    ClusterLostError,
    DaskLinearSVC,
    DaskLogisticRegression,
)
from widemargin.estimators.checkpoints import Checkpoints  # noqa: E402

WIDTH = 64


def examples(count: int = 20_000) -> tuple[Any, Any]:
    random = np.random.default_rng(2)
    X = random.standard_normal((count, WIDTH))
    noise = 4.0 * random.standard_normal(count)
    return X, np.where(X @ random.standard_normal(WIDTH) + noise > 0.4, 1, -1)


def test_a_lost_scheduler_leaves_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = examples()
    arrays = da.from_array(X, chunks=(5000, WIDTH)), y
    file = tmp_path / "weights.npz"
    options = {"processes": False, "dashboard_address": ":0", "n_workers": 1}
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        cluster = distributed.LocalCluster(**options)
        client = distributed.Client(cluster, timeout="5s")

        def keep_and_close(self: Checkpoints, *point: Any) -> None:
            kept.append(point)
            keep(self, *point)
            if len(kept) == 5:
                cluster.close(timeout=5)

        kept: list[Any] = []
        keep = Checkpoints.keep
        monkeypatch.setattr(Checkpoints, "keep", keep_and_close)
        model = DaskLinearSVC(client=client, checkpoint=file)
        with pytest.raises(ClusterLostError, match=r"scheduler is lost.*weights\.npz"):
            model.fit(*arrays)
        client.close(timeout=5)
        monkeypatch.undo()
    with np.load(file) as written:
        np.testing.assert_array_equal(written["w0"], kept[-1][1])
    with (
        distributed.LocalCluster(**options) as again,
        distributed.Client(again) as other,
    ):
        model = DaskLinearSVC(client=other, checkpoint=file, resume=True).fit(*arrays)
    assert model.status_ == ["converged"]
    assert model.n_iter_ < LinearSVC(solver="newton", n_jobs=1).fit(X, y).n_iter_


def test_a_cluster_without_workers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workers go in mid-fit and none comes back: one error, which names the checkpoint."""
    X, y = examples()
    arrays = da.from_array(X, chunks=(5000, WIDTH)), y
    file = tmp_path / "weights.npz"
    options = {"processes": False, "dashboard_address": None, "n_workers": 1}
    keep, kept = Checkpoints.keep, []
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:

        def keep_and_retire(self: Checkpoints, *point: Any) -> None:
            kept.append(point)
            keep(self, *point)
            if len(kept) == 2:
                cluster.scale(0)
                while client.nthreads():
                    time.sleep(0.05)

        monkeypatch.setattr(Checkpoints, "keep", keep_and_retire)
        model = DaskLinearSVC(client=client, checkpoint=file, worker_timeout=1.0)
        with pytest.raises(ClusterLostError, match=r"no worker for 1 s.*weights\.npz"):
            model.fit(*arrays)
        with np.load(file) as written:
            np.testing.assert_array_equal(written["w0"], kept[-1][1])
        # Before the first step there is nothing to keep.
        with pytest.raises(ClusterLostError, match="no worker for 1 s"):
            DaskLogisticRegression(client=client, worker_timeout=1.0).fit(*arrays)
        monkeypatch.undo()
        cluster.scale(1)
        again = DaskLinearSVC(client=client, checkpoint=file, resume=True).fit(*arrays)
    assert again.status_ == ["converged"]


def test_a_worker_that_comes_in_time_goes_on() -> None:
    X, y = examples()
    options = {"processes": False, "dashboard_address": None, "n_workers": 0}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        hire = threading.Timer(1.0, cluster.scale, (1,))
        hire.start()
        model = DaskLinearSVC(client=client, worker_timeout=60.0)
        model.fit(da.from_array(X, chunks=(8192, WIDTH)), y)
        hire.join()
    assert model.status_ == ["converged"]


def test_a_limit_of_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="worker_timeout must be positive"):
        DaskLinearSVC(worker_timeout=0.0).fit(da.zeros((4, 2)), np.arange(4))
