"""A model of a fit on many machines: rounds x (compute + latency of the tree + bytes / bandwidth).

``python -m benchmarks.scaling.model`` measures the latency of a round on a local cluster and the
speed of a product on this machine, and prints what they predict.

Assumptions, all of them: every machine computes as fast as this one, a task on the scheduler costs
the same whatever the number of machines (``task``), messages of a round go over the client's own
link (``bandwidth``) because vectors over the examples stay with the client, data are in memory,
blocks are spread evenly, no worker fails. Passes per fit are those of Newton's method with
conjugate gradients: about ten rounds per step.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from widemargin.data.block_work import added
from widemargin.data.blocked_rows import _scores
from widemargin.data.rows import Rows, no_checkpoint
from widemargin.distributed.blocks import FAN_IN
from widemargin.distributed.data import DaskData


@dataclass(frozen=True)
class Prices:
    """What one machine and the scheduler take.

    Attributes
    ----------
    value : float
        Seconds per stored value of a product.
    task : float
        Seconds per task of a round, on the scheduler.
    latency : float
        Seconds of an empty round with one task.
    bandwidth : float
        Bytes per second of the client's link.
    """

    value: float
    task: float
    latency: float
    bandwidth: float = 1.25e9


@dataclass(frozen=True)
class Work:
    """The size of a fit."""

    rows: float
    weights: float
    values_per_row: float
    rounds: int
    partitions: int
    on_client: bool = True
    """Whether numbers for the examples go to the client and back."""


def seconds(work: Work, prices: Prices, machines: int, cores: int = 16) -> dict[str, float]:
    """Predict the parts of a fit's time."""
    compute = work.rows * work.values_per_row * prices.value / (machines * cores)
    tree = prices.latency * (1 + math.log(max(2, work.partitions), FAN_IN))
    tasks = prices.task * work.partitions * (1.0 + 1.0 / FAN_IN)
    moved = 8.0 * work.weights * (work.partitions + 1) / FAN_IN
    moved += 16.0 * work.rows if work.on_client else 0.0
    parts = {
        "compute": compute,
        "latency": tree,
        "tasks": tasks,
        "bytes": moved / prices.bandwidth,
    }
    return {name: work.rounds * value for name, value in parts.items()}


def measured() -> Prices:
    """Measure the speed of a product here, and rounds of 4 and of 64 tasks on a local cluster."""
    import dask.array as da

    from distributed import Client

    X = sp.random_array((200_000, 10_000), density=0.004, format="csr", rng=0)
    rows, w = Rows.of(X), np.ones(10_000)
    least = min(_timed(lambda: rows.scores(w)) for _ in range(3))
    rounds = {}
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        for parts in (4, 64):
            data = DaskData(client, da.ones((parts * 64, 4), chunks=(64, 4)), np.ones(parts * 64))
            blocks = data.rows(1, False).blocks
            rounds[parts] = min(
                _timed(
                    lambda blocks=blocks: blocks.run(
                        _scores, (), (np.ones(4),), no_checkpoint, added
                    )
                )
                for _ in range(8)
            )
    task = max(0.0, (rounds[64] - rounds[4]) / 60.0)
    return Prices(least / X.nnz, task, max(1e-4, rounds[4] - 4 * task))


def _timed(work: object) -> float:
    began = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - began


def main() -> None:
    """Measure, predict, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=100)
    options = parser.parse_args()
    prices = measured()
    print(prices)
    for on_client in (True, False):
        work = Work(4e9, 1e6, 39, 60, 8 * 16 * options.machines, on_client)
        parts = seconds(work, prices, options.machines)
        where = "with the client" if on_client else "with the blocks"
        print(f"Criteo, {options.machines} machines, numbers of examples {where}:")
        print("  " + ", ".join(f"{name} {value:.0f} s" for name, value in parts.items()))
        print(f"  in all {sum(parts.values()) / 60:.1f} minutes for {work.rounds} rounds")


if __name__ == "__main__":
    main()
