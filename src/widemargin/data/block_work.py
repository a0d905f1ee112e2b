"""Work on numbered blocks: threads that share it out, and sums in a fixed order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from widemargin.data.rows import Rows, no_checkpoint
from widemargin.instruction_sets import core

Places = NDArray[np.int64]

CHUNK = 2**13
"""Examples of a chunk of a vector over them: 64 kB, some ten microseconds of work."""

PIECE = 2**16
"""Examples of a piece that Python works on: some fifty microseconds, ten times a call's cost."""

Task: TypeAlias = Callable[..., tuple[Any, Any]]
"""Work on one block: of its rows, arguments over the examples, and arguments that all blocks share.

Returns numbers for the examples of the block, or None, and what is to be added up, or None. One
that `fills_numbers` gets where to write one number per example as a last argument, and returns None
for them. A function of a module, so that it can be sent to another process.
"""


def added(left: Any, right: Any) -> Any:
    """Return the sum of numbers, arrays or tuples of them; arrays on the left are overwritten."""
    if isinstance(left, tuple):
        return tuple(added(*pair) for pair in zip(left, right, strict=True))
    if isinstance(left, np.ndarray):
        left += right
        return left
    return left + right


def copied(value: Any) -> Any:
    """Copy the arrays among numbers, arrays or tuples of them."""
    if isinstance(value, tuple):
        return tuple(copied(entry) for entry in value)
    return value.copy() if isinstance(value, np.ndarray) else value


class Tree:
    """Adds up numbered values in one order, whichever order they come in.

    The tree is binary and over the numbers: 2k and 2k + 1 are added first. Values that have no
    neighbour yet wait, so that about log₂ of all of them are kept. None is nothing to add, but has
    its place. core/threads/sum_tree.hpp has the same order.

    Parameters
    ----------
    merge : callable
        Adds two values.

    Examples
    --------
    >>> from widemargin.data.block_work import Tree
    >>> tree = Tree(lambda left, right: f"({left}{right})")
    >>> for place in (2, 0, 1):
    ...     tree.add(place, "abc"[place])
    >>> tree.total()
    '((ab)c)'
    """

    def __init__(self, merge: Callable[[Any, Any], Any] = added) -> None:
        self._merge = merge
        self._nodes: dict[tuple[int, int], Any] = {}
        self._lock = threading.Lock()

    def add(self, place: int, value: Any, level: int = 0) -> None:
        """Add a value, or the sum of the 2^level values of a whole branch."""
        while True:
            with self._lock:
                if (level, place ^ 1) not in self._nodes:
                    self._nodes[level, place] = value
                    return
                other = self._nodes.pop((level, place ^ 1))
            value = self._joined(other, value) if place & 1 else self._joined(value, other)
            level, place = level + 1, place >> 1

    def _joined(self, left: Any, right: Any) -> Any:
        if left is None or right is None:
            return right if left is None else left
        return self._merge(left, right)

    def join(self, branches: list[tuple[int, int, Any]]) -> None:
        """Add the branches of another tree, which stay as they are."""
        for level, place, value in branches:
            self.add(place, copied(value), level)

    def branches(self) -> list[tuple[int, int, Any]]:
        """Return the (level, place, sum) of the branches so far, in the order of their values."""
        ordered = sorted(self._nodes, key=lambda node: node[1] << node[0])
        return [(level, place, self._nodes[level, place]) for level, place in ordered]

    def total(self) -> Any:
        """Return the sum of all values, or None if there is none."""
        branches = [value for _, _, value in self.branches()]
        total = branches.pop() if branches else None
        while branches:
            total = self._joined(branches.pop(), total)
        return total


class Threads:
    """Threads that share out numbered pieces of work; the calling thread is one of them."""

    def __init__(self, count: int = 1) -> None:
        self.count = max(1, count)
        self._pool: ThreadPoolExecutor | None = None
        self._compiled: core.Pool | None = None

    @property
    def pool(self) -> core.Pool:
        """Threads of compiled code: one call for all the pieces of work."""
        if self._compiled is None:
            self._compiled = core.Pool(self.count)
        return self._compiled

    def count_nonzero(self, numbers: NDArray[np.float64]) -> int:
        """Return how many entries of a vector over the examples are not zero."""
        return core.count_nonzero(self.pool, numbers, CHUNK)

    def sum(self, numbers: NDArray[np.float64]) -> float:
        """Return the sum of a vector over the examples."""
        return core.sum(self.pool, numbers, CHUNK)

    def add_scaled(
        self, total: NDArray[np.float64], numbers: NDArray[np.float64], scale: float
    ) -> None:
        """Add a multiple of a vector over the examples to another one, in place."""
        core.add_scaled(self.pool, total, numbers, scale, CHUNK)

    def dot(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
        """Return the inner product of vectors over the examples."""
        return core.dot(self.pool, left, right, CHUNK)

    def scaled(self, numbers: NDArray[np.float64], factor: float, out: NDArray[np.float64]) -> None:
        """Write a multiple of a vector."""
        core.scale(self.pool, numbers, factor, out, CHUNK)

    def plus(
        self, left: NDArray[np.float64], right: NDArray[np.float64], factor: float
    ) -> NDArray[np.float64]:
        """Return left + factor · right."""
        out = np.empty_like(left)
        core.plus(self.pool, left, right, factor, out, CHUNK)
        return out

    def multiply(
        self,
        left: NDArray[np.float64],
        right: NDArray[np.float64],
        out: NDArray[np.float64],
        shift: float = 0.0,
    ) -> None:
        """Write (left + shift) · right, entry by entry."""
        core.multiply(self.pool, left, right, shift, out, CHUNK)

    def subtract(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> bool:
        """Subtract a vector from another one, in place; return whether anything is left."""
        return core.subtract(self.pool, left, right, CHUNK)

    def gather(self, numbers: NDArray[np.float64], places: Places) -> NDArray[np.float64]:
        """Return some entries of a vector over the examples."""
        out = np.empty(places.size)
        core.gather(self.pool, numbers, places, out, CHUNK)
        return out

    def nonzero_places(self, numbers: NDArray[np.float64]) -> Places:
        """Return where a vector over the examples is not zero."""
        return core.nonzero_places(self.pool, numbers, CHUNK)

    def count_between(
        self, numbers: NDArray[np.float64], upper: NDArray[np.float64], near: float = 0.0
    ) -> int:
        """Return how many entries lie strictly between zero and their upper bounds.

        Further from both than a share of the upper bound that is `near`.
        """
        return core.count_between(self.pool, numbers, upper, near, CHUNK)

    def positive_members(
        self,
        numbers: NDArray[np.float64],
        members: NDArray[np.bool_],
        before: NDArray[np.bool_] | None,
    ) -> tuple[Places, Places]:
        """Write down which entries are positive; return which have become so, and which ceased."""
        came, went = core.positive_members(self.pool, numbers, members, before, CHUNK)
        return came, went

    def pieces(self, count: int, work: Callable[[slice], object]) -> None:
        """Call work(slice) for pieces of vectors over the examples, long enough for Python."""
        cuts = range(0, count, PIECE)
        self.each(len(cuts), lambda k: work(slice(cuts[k], min(cuts[k] + PIECE, count))))

    def each(
        self,
        count: int,
        work: Callable[[int], object],
        checkpoint: Callable[[], None] = no_checkpoint,
        shared_out: bool = True,
    ) -> None:
        """Call work(0) … work(count − 1), each once, in about that order.

        The calling thread calls `checkpoint` after each of its own. The first error stops the
        others; when this returns or raises, none is at work any more.
        """
        helpers = min(self.count, count) - 1 if shared_out else 0
        if helpers <= 0:
            for place in range(count):
                work(place)
                checkpoint()
            return
        lock, following, stopped = threading.Lock(), iter(range(count)), threading.Event()

        def share(checkpoint: Callable[[], None]) -> None:
            try:
                while not stopped.is_set():
                    with lock:
                        place = next(following, -1)
                    if place < 0:
                        return
                    work(place)
                    checkpoint()
            except BaseException:
                stopped.set()
                raise

        self._pool = self._pool or ThreadPoolExecutor(self.count - 1)
        others = [self._pool.submit(share, no_checkpoint) for _ in range(helpers)]
        try:
            share(checkpoint)
            checkpoint()  # they may have left nothing to the calling thread
        except BaseException:
            stopped.set()
            raise
        finally:
            wait(others)
        for other in others:
            other.result()


ALONE = Threads()
"""The calling thread, for rows that have no others."""


class Work:
    """A task on blocks, block by block, by any thread and in any order.

    Parameters
    ----------
    load : callable
        Returns the rows of a block.
    cuts : ndarray
        Where the blocks begin, and the number of rows.
    call : tuple of Task, tuple and tuple
        The task, arrays over the examples or None, and what all blocks share.
    merge : callable
        Adds two sums.
    first : int
        Number of the first of these blocks among all.

    Attributes
    ----------
    numbers : ndarray or None
        Those of the examples, filled in block by block.
    tree : Tree
    """

    def __init__(
        self,
        load: Callable[[int], Rows],
        cuts: Places,
        call: tuple[Task, tuple[Any, ...], tuple[Any, ...]],
        merge: Callable[[Any, Any], Any],
        first: int = 0,
    ) -> None:
        self._load, self._cuts, self._first = load, cuts, first
        self._task, self._over, self._shared = call
        self._lock = threading.Lock()
        self._fills = getattr(call[0], "fills_numbers", False)
        self.numbers: Any = np.empty(int(cuts[-1])) if self._fills else None
        self.tree = Tree(merge)

    def __call__(self, place: int) -> None:
        """Work on one block."""
        begin, end = int(self._cuts[place]), int(self._cuts[place + 1])
        out = (self.numbers[begin:end],) if self._fills else ()
        over = slices(self._over, begin, end)
        numbers, total = self._task(self._load(place), over, self._shared, *out)
        if numbers is not None:
            with self._lock:
                if self.numbers is None:
                    self.numbers = np.empty((int(self._cuts[-1]), *numbers.shape[1:]))
            self.numbers[begin:end] = numbers
        self.tree.add(self._first + place, total)


def slices(over: tuple[Any, ...], begin: int, end: int) -> tuple[Any, ...]:
    """Return what some examples have of arrays over all of them."""
    return tuple(None if numbers is None else numbers[begin:end] for numbers in over)
