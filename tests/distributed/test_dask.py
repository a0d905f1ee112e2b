"""Fits on a small cluster: the bits of a fit in memory, whatever happens to its workers."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402
from sklearn.base import clone  # noqa: E402

from widemargin import (  # noqa: E402
    DiskData,
    LinearSVC,
    LinearSVCCV,
    LogisticRegression,
    LogisticRegressionCV,
)
from widemargin.dask import (  # noqa: E402
    DaskLinearSVC,
    DaskLinearSVCCV,
    DaskLogisticRegression,
    DaskLogisticRegressionCV,
)
from widemargin.data.blocks import rows_of_block  # noqa: E402

WIDTH = 64
LOSSES = ("hinge", "squared_hinge", "logistic")


def examples(count: int = 40_000) -> tuple[Any, Any]:
    random = np.random.default_rng(2)
    X = random.standard_normal((count, WIDTH))
    noise = 4.0 * random.standard_normal(count)
    return X, np.where(X @ random.standard_normal(WIDTH) + noise > 0.4, 1, -1)


def local(loss: str, **given: Any) -> Any:
    if loss == "logistic":
        return LogisticRegression(solver="newton", n_jobs=1, **given)
    solver = "proximal_newton" if loss == "hinge" else "newton"
    return LinearSVC(loss, solver=solver, n_jobs=1, **given)


def on_dask(loss: str, **given: Any) -> Any:
    if loss == "logistic":
        return DaskLogisticRegression(**given)
    return DaskLinearSVC(loss, **given)


def bits(model: Any) -> tuple[bytes, ...]:
    dual = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    kept = model.coef_, model.intercept_, model.primal_, model.dual_, dual
    return tuple(np.ascontiguousarray(numbers).tobytes() for numbers in kept)


@pytest.fixture(scope="module", autouse=True)
def _patient() -> Iterator[None]:
    # Other tests run beside these: a worker that is slow is not dead.
    with dask.config.set({"distributed.comm.timeouts.connect": "60s"}):
        yield


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    options = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with (
        distributed.LocalCluster(n_workers=2, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("loss", LOSSES)
def test_the_same_bits_as_in_memory(client: Any, loss: str) -> None:
    X, y = examples()
    rows = rows_of_block(X)
    assert len(X) > rows
    arrays = da.from_array(X, chunks=(rows, WIDTH)), da.from_array(y, chunks=rows)
    model = on_dask(loss, client=client).fit(*arrays)
    memory = local(loss).fit(X, y)
    assert bits(model) == bits(memory)
    predicted = model.predict(arrays[0])
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), memory.predict(X))


@pytest.mark.parametrize("loss", LOSSES)
def test_wide_rows_take_conjugate_gradients(client: Any, loss: str) -> None:
    random = np.random.default_rng(4)
    X = random.standard_normal((2500, 2100), dtype=np.float32)
    y = np.where(X[:, :5].sum(axis=1) + random.standard_normal(2500) > 0.3, 1, -1)
    rows = rows_of_block(X)
    assert len(X) > rows
    arrays = da.from_array(X, chunks=(rows, 2100)), da.from_array(y, chunks=rows)
    model = on_dask(loss, C=1e-4, client=client).fit(*arrays)
    assert model.status_ == ["converged"]
    assert bits(model) == bits(local(loss, C=1e-4).fit(X, y))


def test_all_classes_at_once(client: Any) -> None:
    X, _ = examples()
    y = np.argmax(X[:, :3] + np.random.default_rng(0).standard_normal((len(X), 3)), axis=1)
    rows = rows_of_block(X)
    model = DaskLogisticRegression(client=client).fit(da.from_array(X, chunks=(rows, WIDTH)), y)
    memory = LogisticRegression(solver="newton", n_jobs=1).fit(X, y)
    assert bits(model) == bits(memory)
    assert model.to_local().get_params() == LogisticRegression().get_params()


def test_joint_hinges(client: Any) -> None:
    X, _ = examples()
    y = np.argmax(X[:, :3] + np.random.default_rng(0).standard_normal((len(X), 3)), axis=1)
    rows, given = rows_of_block(X), {"multi_class": "crammer_singer", "C": 1e-3}
    arrays = da.from_array(X, chunks=(rows, WIDTH)), y
    model = DaskLinearSVC("hinge", client=client, **given).fit(*arrays)
    memory = LinearSVC("hinge", solver="proximal_newton", n_jobs=1, **given).fit(X, y)
    assert bits(model) == bits(memory)
    assert model.status_ == ["converged"]


@pytest.mark.parametrize(
    "loss",
    ["squared_hinge", *(pytest.param(loss, marks=pytest.mark.slow) for loss in LOSSES[::2])],
)
def test_searches_over_C(client: Any, loss: str, tmp_path: Path) -> None:
    X, y = examples(20_000)
    rows = rows_of_block(X)
    given: dict[str, Any] = {"Cs": [1e-4, 1e-2], "cv": 2}
    if loss == "logistic":
        given["use_legacy_attributes"] = False
        kinds: Any = DaskLogisticRegressionCV, LogisticRegressionCV
    else:
        given["loss"] = loss
        kinds = DaskLinearSVCCV, LinearSVCCV
    model = kinds[0](client=client, **given).fit(da.from_array(X, chunks=(rows, WIDTH)), y)
    disk = kinds[1](**given).fit(DiskData([(X, y)], cache=tmp_path))
    assert bits(model) == bits(disk)
    np.testing.assert_array_equal(model.path_["scores"], disk.path_["scores"])
    assert type(model.to_local()) is kinds[1]
    assert clone(model).get_params() == model.get_params()


def test_delayed_csr_blocks_and_a_penalised_intercept(client: Any) -> None:
    X, y = examples()
    S = sp.csr_array(X * (np.random.default_rng(0).random(X.shape) < 0.3))
    rows = rows_of_block(S)
    parts = [dask.delayed(S[k : k + rows]) for k in range(0, len(y), rows)]
    labels = [dask.delayed(y[k : k + rows]) for k in range(0, len(y), rows)]
    model = DaskLinearSVC(client=client, fit_intercept="penalised").fit(parts, labels)
    memory = local("squared_hinge", fit_intercept="penalised").fit(S, y)
    assert bits(model) == bits(memory)
    lazy = dask.compute(*model.decision_function(parts))
    np.testing.assert_array_equal(np.concatenate(lazy), memory.decision_function(S))


def test_frames_columns_far_from_zero_and_several_classes(client: Any) -> None:
    X, _ = examples(3000)
    names = [f"f{j}" for j in range(WIDTH)]
    frame = pd.DataFrame(X, columns=names).assign(time=1.7e9 + 1e3 * X[:, 0])
    labels = pd.Series(np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)])
    parts = dd.from_pandas(frame, npartitions=3), dd.from_pandas(labels, npartitions=3)
    model = DaskLogisticRegression(client=client, multi_class="ovr").fit(*parts)
    assert list(model.feature_names_in_) == [*names, "time"]
    assert model.status_ == ["converged"] * 3
    memory = LogisticRegression(multi_class="ovr", solver="newton").fit(frame, labels)
    assert model.certificate_.primal == pytest.approx(memory.certificate_.primal, rel=1e-4)
    chances = model.predict_proba(parts[0].to_dask_array(lengths=True))
    assert chances.compute().shape == (3000, 3)


def test_local_copies_and_pickles(client: Any) -> None:
    X, y = examples(2000)
    with client.as_current():
        model = DaskLinearSVC("hinge", C=0.1).fit(da.from_array(X, chunks=(500, WIDTH)), y)
    copy = model.to_local()
    assert type(copy) is LinearSVC
    assert copy.get_params() == LinearSVC("hinge", C=0.1).get_params()
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (lambda: da.full((40, 3), np.nan, chunks=(20, 3)), np.arange(40) % 2, "X contains NaN"),
        (lambda: da.ones((40, 3), chunks=(20, 3)), np.ones(40), "only one class"),
        (lambda: da.ones((40, 3), chunks=(20, 3)), np.arange(39) % 2, r"y has shape \(39,\)"),
        (
            lambda: [dask.delayed(np.ones((3, 2))), dask.delayed(np.ones((3, 4)))],
            np.arange(6) % 2,
            "all partitions must have the same number of features",
        ),
        (lambda: np.ones((4, 2)), np.arange(4) % 2, "X must be a dask array"),
    ],
)
def test_what_is_refused(client: Any, X: Any, y: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        DaskLinearSVC(client=client).fit(X(), y)


def kill_one(client: Any, random: np.random.Generator) -> None:
    """Kill a worker as the kernel would."""
    workers = list(client.run(os.getpid).values())
    os.kill(int(random.choice(workers)), signal.SIGKILL)


def fit_while_killing(client: Any, loss: str, delay: float, seed: int) -> tuple[Any, Any]:
    X, y = examples()
    rows = rows_of_block(X)
    arrays = da.from_array(X, chunks=(rows, WIDTH)), da.from_array(y, chunks=rows)
    random = np.random.default_rng(seed)
    killer = threading.Timer(delay, kill_one, (client, random))
    killer.start()
    model = on_dask(loss, client=client).fit(*arrays)
    killer.join()
    return model, local(loss).fit(X, y)


def test_a_killed_worker_changes_nothing(client: Any) -> None:
    killed = threading.Event()
    X, y = examples()
    rows = rows_of_block(X)
    arrays = da.from_array(X, chunks=(rows, WIDTH)), da.from_array(y, chunks=rows)

    def kill(name: str, record: Any) -> None:
        if not killed.is_set():
            killed.set()
            kill_one(client, np.random.default_rng(0))

    # The first certificate comes in mid-fit: the tolerance is not reached yet.
    model = DaskLinearSVC(client=client, tol=1e-9, callback=kill).fit(*arrays)
    assert killed.is_set()
    assert bits(model) == bits(local("squared_hinge", tol=1e-9).fit(X, y))
    client.wait_for_workers(2, timeout=120)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_workers_killed_at_random_moments(seed: int) -> None:
    random = np.random.default_rng(seed)
    loss = LOSSES[seed % 3]
    options = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with (
        distributed.LocalCluster(n_workers=2, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        model, memory = fit_while_killing(client, loss, float(random.uniform(0.0, 3.0)), seed)
    assert bits(model) == bits(memory)


@pytest.mark.slow
def test_twenty_workers_that_die_in_turn() -> None:
    X, y = examples(131_072)
    rows = rows_of_block(X)
    arrays = da.from_array(X, chunks=(rows, WIDTH)), da.from_array(y, chunks=rows)
    memory = {loss: bits(local(loss).fit(X, y)) for loss in LOSSES}
    options = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    # A task may have been on any of them.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 20}),
        distributed.LocalCluster(n_workers=20, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(20, timeout=300)
        doomed = list(client.run(os.getpid).values())
        done = threading.Event()

        def kill_in_turn() -> None:
            for pid in doomed:
                os.kill(pid, signal.SIGKILL)
                done.wait(1.0)
            done.set()

        killer = threading.Thread(target=kill_in_turn)
        killer.start()
        fits = 0
        while fits < len(LOSSES) or not done.is_set():
            loss = LOSSES[fits % len(LOSSES)]
            model = on_dask(loss, client=client).fit(*arrays)
            assert model.status_ == ["converged"]
            assert bits(model) == memory[loss]
            fits += 1
        killer.join()
        assert not set(doomed) & set(client.run(os.getpid).values())


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 4])
def test_the_number_of_workers_changes_nothing(workers: int) -> None:
    X, y = examples()
    rows = rows_of_block(X)
    arrays = da.from_array(X, chunks=(rows, WIDTH)), da.from_array(y, chunks=rows)
    options = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with (
        distributed.LocalCluster(n_workers=workers, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        for loss in LOSSES:
            assert bits(on_dask(loss, client=client).fit(*arrays)) == bits(local(loss).fit(X, y))
