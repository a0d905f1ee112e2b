"""Logistic regression on a local cluster: widemargin.dask against dask-ml.

``python -m benchmarks.scaling.dask_ml --data a9a,covtype``

Both get the same dense float64 partitions, persisted on the same two workers. dask-ml runs first,
with its default number of iterations; then widemargin with ever smaller tolerances, until its
objective is as low as dask-ml's. Both penalise the intercept. Seconds are wall-clock, those of
persisting the data are not counted. A fit of dask-ml that takes longer than ``--limit`` seconds is
stopped; widemargin then runs to its smallest tolerance, and the ratio is a lower bound.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import problems
from widemargin.dask import DaskLogisticRegression
from widemargin.data.blocks import rows_of_block

COPIES = {"a9a": 20}
"""Times that a set is repeated."""

TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def dense(name: str) -> tuple[Any, Any]:
    """Return examples as a dense array, and labels 0 and 1."""
    X, y = problems.load(name)
    copies = COPIES.get(name, 1)
    return np.tile(X.toarray(), (copies, 1)), np.tile((y > 0).astype(int), copies)


def objective(X: Any, y: Any, coef: Any, intercept: Any, C: float) -> float:
    """Return ½‖(w, b)‖² + C Σ log(1 + exp(−y (w·x + b)))."""
    w, b = np.ravel(coef), float(np.ravel(intercept)[0])
    margins = np.where(y > 0, 1.0, -1.0) * (X @ w + b)
    return 0.5 * float(w @ w + b * b) + C * float(np.logaddexp(0.0, -margins).sum())


def timed(model: Any, X: Any, y: Any, limit: int = 0) -> tuple[float, bool]:
    """Fit; return the seconds, and whether it ended within the limit."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    began = time.perf_counter()
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    try:
        model.fit(X, y)
    except TimeoutError:
        return time.perf_counter() - began, False
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return time.perf_counter() - began, True


@contextlib.contextmanager
def cluster() -> Iterator[Any]:
    """Start two workers."""
    from distributed import Client, LocalCluster

    local = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with LocalCluster(n_workers=2, **local) as workers, Client(workers) as client:
        yield client


def persisted(client: Any, X: Any, y: Any) -> list[Any]:
    """Return the data in partitions of whole blocks, on the workers."""
    import dask.array as da

    rows = rows_of_block(X)
    parts = max(4, -(-len(y) // (8 * rows)))
    chunk = rows * -(-len(y) // (parts * rows))
    arrays = client.persist(
        [da.from_array(X, chunks=(chunk, X.shape[1])), da.from_array(y, chunks=chunk)]
    )
    client.gather(client.compute([array.sum() for array in arrays]))
    return list(arrays)


def compare(name: str, solver: str, C: float, limit: int) -> None:
    """Print the times and objectives of both on one data set."""
    from dask_ml.linear_model import LogisticRegression

    X, y = dense(name)
    print(f"{name}: {X.shape[0]} x {X.shape[1]}", flush=True)
    with cluster() as client:
        arrays = persisted(client, X, y)
        theirs = LogisticRegression(solver=solver, C=C)
        slow, ended = timed(theirs, *arrays, limit)
        if ended:
            target = objective(X, y, theirs.coef_, theirs.intercept_, C)
            print(f"  dask-ml {solver}: {slow:.1f} s, objective {target:.6g}", flush=True)
            follow(client, X, y, C, (slow, target))
            return
    print(f"  dask-ml {solver}: stopped after {slow:.0f} s", flush=True)
    # Its tasks are still running on those workers.
    with cluster() as client:
        follow(client, X, y, C, (slow, None))


def follow(client: Any, X: Any, y: Any, C: float, rival: tuple[float, float | None]) -> None:
    """Fit to ever smaller tolerances until the rival's objective is reached, if it is known."""
    arrays, (slow, target) = persisted(client, X, y), rival
    for tol in TOLERANCES[-1:] if target is None else TOLERANCES:
        ours = DaskLogisticRegression(client=client, C=C, tol=tol, fit_intercept="penalised")
        fast, _ = timed(ours, *arrays)
        reached = objective(X, y, ours.coef_, ours.intercept_, C)
        print(
            f"  widemargin {tol:g}: {fast:.2f} s, {ours.n_iter_} steps, objective "
            f"{reached:.6g}, gap {ours.certificate_.relative_gap:.1e}",
            flush=True,
        )
        if target is None or reached <= target:
            print(f"  {'at least ' * (target is None)}{slow / fast:.1f}x faster", flush=True)
            return


def main() -> None:
    """Compare on each data set, each solver on a cluster of its own."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="a9a,covtype")
    parser.add_argument("--solvers", default="lbfgs,admm")
    parser.add_argument("-C", type=float, default=1.0)
    parser.add_argument("--limit", type=int, default=0, help="seconds of a dask-ml fit; 0: none")
    options = parser.parse_args()
    for name in options.data.split(","):
        for solver in options.solvers.split(","):
            compare(name, solver, options.C, options.limit)


if __name__ == "__main__":
    main()
