"""Blocks on the workers of a Dask cluster.

Every round is one task for each partition, and a tree of tasks that adds up what they return. There
are futures on the scheduler and nothing else: a worker that dies is a partition that another one
loads, and a task that it computes, again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from widemargin.data.block_work import Places, Task, Threads, Tree, slices
from widemargin.data.blocks import Blocks, LocalBlocks, split_subset
from widemargin.data.rows import no_checkpoint
from widemargin.distributed import partition as on_worker

FAN_IN = 8
"""Sums that one task adds up."""

_LOST = {"CancelledError", "FutureCancelledError", "CommClosedError", "ClosedClientError"}
"""What a future, a client and a connection raise without a scheduler; by name, as the classes have
moved from version to version."""


@dataclass(frozen=True, eq=False)
class Spread:
    """An array over the examples that is on the workers: a future for each partition."""

    futures: list[Any]


class ClusterLostError(ConnectionError):
    """The scheduler cannot be reached any more, has forgotten the work, or has no workers.

    Examples
    --------
    >>> from widemargin.dask import ClusterLostError
    >>> issubclass(ClusterLostError, ConnectionError)
    True
    """


@dataclass(frozen=True, eq=False)
class DaskBlocks:
    """Blocks of partitions that are futures.

    Attributes
    ----------
    waiting : Waiting
        With the client.
    partitions : list of futures
        Each a `Partition`.
    ranges : list of tuple of two int
        The numbers of the blocks of each partition.
    cuts : ndarray
        Where the blocks begin, and the number of rows.
    threads : Threads
        For vectors over the examples, which stay with the client.
    """

    waiting: Waiting
    partitions: list[Any]
    ranges: list[tuple[int, int]]
    cuts: Places
    threads: Threads
    constant: float = 0.0
    view: ClassVar[None] = None
    compiled: ClassVar[None] = None

    @property
    def largest_sample(self) -> int:
        """All rows: a sample stays where its rows are."""
        return int(self.cuts[-1])

    def run(
        self,
        task: Task,
        over: tuple[Any, ...],
        shared: tuple[Any, ...],
        checkpoint: Callable[[], None],
        merge: Callable[[Any, Any], Any],
        shared_out: bool = True,
    ) -> tuple[Any, Any]:
        """Run a task on every block; return the numbers for all examples, and the sum."""
        with reaching_the_cluster():
            futures = [
                self._submit(on_worker.work, future, first, task, self._own(over, k), shared, merge)
                for k, (future, (first, _)) in enumerate(
                    zip(self.partitions, self.ranges, strict=True)
                )
            ]
            sums = not getattr(task, "numbers_for_examples", False)
            found = self._gathered(futures, checkpoint, merge, sums)
        tree = Tree(merge)
        for _, branches in found:
            tree.join(branches)
        numbers = [part for part, _ in found if part is not None]
        return (np.concatenate(numbers) if numbers else None), tree.total()

    def spread(self, numbers: Any) -> Spread:
        """Send an array over the examples to the workers, for several runs."""
        with reaching_the_cluster():
            return Spread(
                [
                    self._submit(on_worker.given, *self._own((numbers,), k))
                    for k in range(len(self.ranges))
                ]
            )

    def take(
        self,
        subset: Places,
        copied: bool = True,
        checkpoint: Callable[[], None] = no_checkpoint,
    ) -> Blocks:
        """Return some of the rows; they stay where they are, unless they are no more than a block.

        Those come to the client.
        """
        parts, cuts, own = split_subset(self.cuts, subset)
        few = subset.size <= self.cuts[1]
        change = on_worker.copied_rows if few else on_worker.taken
        partitions, ranges, done = [], [], 0
        with reaching_the_cluster():
            for future, (first, last) in zip(self.partitions, self.ranges, strict=True):
                begin, end = np.searchsorted(parts, [first, last]).tolist()
                if begin == end:
                    continue
                blocks = (parts[begin:end] - first).tolist()
                partitions.append(self._submit(change, future, blocks, own[begin:end]))
                ranges.append((done, done + end - begin))
                done += end - begin
            if not few:
                return replace(self, partitions=partitions, ranges=ranges, cuts=cuts)
            arrays = self.waiting.gather(partitions, checkpoint)
        return LocalBlocks.of_few(arrays, self.constant, self.threads)

    def with_constant(self, value: float) -> DaskBlocks:
        """Append a constant feature to every row."""
        return replace(self.mapped(on_worker.with_constant, value), constant=value)

    def mapped(self, change: Callable[..., Any], *arguments: Any) -> DaskBlocks:
        """Change every partition, where it is."""
        with reaching_the_cluster():
            changed = [self._submit(change, future, *arguments) for future in self.partitions]
        return replace(self, partitions=changed)

    def _own(self, over: tuple[Any, ...], k: int) -> tuple[Any, ...]:
        first, last = self.ranges[k]
        begin, end = int(self.cuts[first]), int(self.cuts[last])
        return tuple(
            numbers.futures[k] if isinstance(numbers, Spread) else slices((numbers,), begin, end)[0]
            for numbers in over
        )

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        # Arguments go through the scheduler, which sends them again if a worker dies.
        return self.waiting.client.submit(function, *arguments, pure=False)

    def _gathered(
        self,
        futures: list[Any],
        checkpoint: Callable[[], None],
        merge: Callable[[Any, Any], Any],
        tree: bool,
    ) -> list[Any]:
        """Wait for the results, sums added up on the workers."""
        while tree and len(futures) > FAN_IN:
            futures = [
                self._submit(on_worker.merged, merge, *futures[k : k + FAN_IN])
                for k in range(0, len(futures), FAN_IN)
            ]
        return self.waiting.gather(futures, checkpoint)


@dataclass(frozen=True)
class Waiting:
    """How long to wait for a cluster.

    Attributes
    ----------
    client : Client
    limit : float or None
        Seconds without a single worker after which a fit gives up; None for no limit.
    """

    client: Any
    limit: float | None = None

    def wait_for(self, futures: list[Any], checkpoint: Callable[[], None] = no_checkpoint) -> None:
        """Wait, with a checkpoint now and then.

        Raises
        ------
        ClusterLostError
            If there was no worker for too long.
        """
        from distributed import TimeoutError as NotYet
        from distributed import wait

        without, following = None, 0.0
        while True:
            try:
                wait(futures, timeout=0.2)
            except NotYet:
                checkpoint()
                now = time.monotonic()
                if self.limit is None or now < following:
                    continue
                following = now + min(2.0, 0.5 * self.limit)
                without = None if self.client.nthreads() else (without or now)
                if without is not None and now - without >= self.limit:
                    raise ClusterLostError(
                        f"the cluster has had no worker for {self.limit:g} s (worker_timeout), so "
                        "that the fit cannot go on"
                    ) from None
                continue
            checkpoint()
            return

    def gather(
        self, futures: list[Any], checkpoint: Callable[[], None] = no_checkpoint
    ) -> list[Any]:
        """Wait, and return the results."""
        self.wait_for(futures, checkpoint)
        return list(self.client.gather(futures))


class reaching_the_cluster:  # noqa: N801 - a context manager
    """Turn what a lost scheduler does to futures into one error."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        names = {base.__name__ for base in type(error).__mro__} if error is not None else set()
        if names & _LOST:
            raise ClusterLostError(
                "the connection to the Dask scheduler is lost, so that the fit cannot go on"
            ) from error
