"""Whole fits of Newton's family with one and with two threads.

``python -m benchmarks.scaling.threads --seconds 480``

Wall-clock seconds, the least of a few interleaved runs: threads are about these, so the cores have
to be idle. ``None`` is the plain path, without blocks; the speed-up is over the faster of it and
one thread. Cells share the seconds: each gets one run of all three at least, and repeats while its
share lasts.

Two figures say what a speed-up can be. "handed out" is the share of a fit with one thread that is
work for threads: the rest is serial. For each data set, the gain of threads on bare products of the
rows, one compiled call each, is printed first: CPUs that share a core's units or a memory bus gain
little there, and no fit can gain more.
"""

from __future__ import annotations

import argparse
import contextlib
import time
import types
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

from benchmarks import problems
from widemargin import LinearSVC, LogisticRegression
from widemargin.data import block_work, blocks, memory_rows, validation
from widemargin.data.block_work import CHUNK, Threads
from widemargin.data.rows import Rows, as_rows_array
from widemargin.instruction_sets import core
from widemargin.linalg import cholesky, diagonal_gradients
from widemargin.methods.newton import _system
from widemargin.problems import support, threaded

COMPILED = (
    block_work,
    blocks,
    cholesky,
    diagonal_gradients,
    memory_rows,
    support,
    threaded,
    _system,
)
"""Modules that call compiled code which shares out work."""

OF_VECTORS = (
    "add_scaled",
    "count_between",
    "count_nonzero",
    "dot",
    "eliminate_intercept",
    "gather",
    "multiply",
    "nonzero_places",
    "place_at_bounds",
    "plus",
    "positive_members",
    "project_box_equality",
    "scale",
    "subtract",
    "sum",
)
OF_MATRICES = ("factorise", "solve_factorised", "symmetrise_by_threads")
"""Compiled functions that share out work on vectors over the examples, and on square matrices."""

GRAM = lambda *_: True  # noqa: E731
"""Whether the matrix of sparse rows is shared out: that of a single block line by line."""

TILE = 128
"""Lines of a matrix that are one thread's work."""

LOSSES = {
    "hinge": lambda jobs, C: LinearSVC("hinge", C=C, solver="proximal_newton", n_jobs=jobs),
    "squared_hinge": lambda jobs, C: LinearSVC(C=C, solver="newton", n_jobs=jobs),
    "logistic": lambda jobs, C: LogisticRegression(C=C, solver="newton", n_jobs=jobs),
}


def data_of(name: str) -> tuple[Any, Any]:
    """Return the examples of a data set by name, or a dense million."""
    if name != "dense":
        return problems.load(name)
    random = np.random.default_rng(0)
    X = random.standard_normal((1_000_000, 50), dtype=np.float32)
    noise = 3.0 * random.standard_normal(len(X), dtype=np.float32)
    return X, np.where(X @ random.standard_normal(50, dtype=np.float32) + noise > 0.3, 1, -1)


def seconds(make: Any, X: Any, y: Any) -> float:
    """Time one fit."""
    began = time.perf_counter()
    make().fit(X, y)
    return time.perf_counter() - began


def bare_gain(X: Any, threads: int) -> float:
    """Return what threads gain on products of the rows: each has its share in one compiled call."""
    view = Rows.of(as_rows_array(X)).view
    w, out = np.ones(view.width), np.empty(view.count)
    # Halves of the rows may have very different numbers of values.
    stored = X.indptr if sp.issparse(X) else np.arange(view.count + 1)
    cuts = np.searchsorted(stored, np.linspace(0, stored[-1], threads + 1)).tolist()
    best = [np.inf, np.inf]
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(9):
            began = time.perf_counter()
            view.scores(w, out, 0, view.count)
            between = time.perf_counter()
            list(pool.map(lambda k: view.scores(w, out, cuts[k], cuts[k + 1]), range(threads)))
            best = [min(best[0], between - began), min(best[1], time.perf_counter() - between)]
    return best[0] / best[1]


class HandedOut:
    """Adds up the CPU seconds of the calls that share work out among threads."""

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse
        self.seconds, self._depth = 0.0, 0

    def timed(self, call: Any, shares: Any) -> Any:
        """Wrap a call; `shares` tells from its arguments whether there is work for two threads."""

        def wrapped(*given: Any, **named: Any) -> Any:
            began, self._depth = time.thread_time(), self._depth + 1
            try:
                return call(*given, **named)
            finally:
                self._depth -= 1
                if self._depth == 0 and shares(*given, **named):
                    self.seconds += time.thread_time() - began

        return wrapped

    def patches(self) -> list[Any]:
        """Return what is to be replaced while a fit is measured."""

        def of_blocks(first: int, last: int, *rest: Any) -> bool:
            return last - first > 1

        def of_vectors(*given: Any) -> bool:
            return any(isinstance(x, np.ndarray) and x.size > CHUNK for x in given)

        def of_matrices(pool: Any, matrix: Any, *rest: Any) -> bool:
            return len(matrix) > TILE

        def of_pieces(threads: Any, count: int, *rest: Any, **named: Any) -> bool:
            told = named.get("shared_out", rest[2] if len(rest) > 2 else True)
            return count > 1 and bool(told)

        def kind(make: Any, shares: Any) -> Any:
            return lambda *given: _Timed(make(*given), self, shares)

        compiled = types.SimpleNamespace(**{name: getattr(core, name) for name in dir(core)})
        compiled.BlockRows = kind(core.BlockRows, of_blocks)
        compiled.LossThreads = kind(core.LossThreads, of_vectors)
        compiled.CornerThreads = kind(core.CornerThreads, of_vectors)
        compiled.DiagonalGradients = kind(core.DiagonalGradients, lambda *_: True)
        for name in OF_VECTORS:
            setattr(compiled, name, self.timed(getattr(core, name), of_vectors))
        for name in OF_MATRICES:
            setattr(compiled, name, self.timed(getattr(core, name), of_matrices))
        each = mock.patch.object(Threads, "each", self.timed(Threads.each, of_pieces))
        # With one thread the examples are looked through in one piece.
        check = self.timed(validation._is_finite, lambda rows, threads: rows.count > CHUNK)
        checked = mock.patch.object(validation, "_is_finite", check)
        return [
            each,
            checked,
            *(mock.patch.object(module, "core", compiled) for module in COMPILED),
        ]


class _Timed:
    """An object of the compiled core whose calls are timed."""

    def __init__(self, inner: Any, clock: HandedOut, shares: Any) -> None:
        self._inner, self._clock, self._shares = inner, clock, shares

    def __getattr__(self, name: str) -> Any:
        call, shares = getattr(self._inner, name), self._shares

        def plain(*given: Any) -> Any:
            return call(*(x._inner if isinstance(x, _Timed) else x for x in given))

        return self._clock.timed(plain, GRAM if name == "gram" and self._clock.sparse else shares)


def handed_out(make: Any, X: Any, y: Any) -> float:
    """Return the share of a fit's CPU seconds with one thread that is work for threads."""
    clock = HandedOut(sp.issparse(X))
    with contextlib.ExitStack() as replaced:
        for patch in clock.patches():
            replaced.enter_context(patch)
        began = time.thread_time()
        make().fit(X, y)
        took = time.thread_time() - began
    return clock.seconds / took


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="covtype,dense,mnist.scale,20newsgroups")
    parser.add_argument("--losses", default=",".join(LOSSES))
    parser.add_argument("--repeats", type=int, default=3, help="runs of a cell at most")
    parser.add_argument("--seconds", type=float, default=480.0, help="of the whole benchmark")
    parser.add_argument("-C", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    console, began = Console(width=100), time.perf_counter()
    cells = len(options.data.split(",")) * len(options.losses.split(","))
    count = f"{options.threads} threads"
    table = Table("data", "loss", "None", "1 thread", count, "speed-up", "handed out")
    for name in options.data.split(","):
        X, y = data_of(name)
        console.print(f"{name}: {bare_gain(X, options.threads):.2f}x on bare products")
        for loss in options.losses.split(","):
            make, best = LOSSES[loss], {}
            left = began + options.seconds - time.perf_counter()
            ends, cells = time.perf_counter() + left / cells, cells - 1
            for turn in range(options.repeats):
                if turn > 0 and time.perf_counter() > ends:
                    break
                for jobs in (None, 1, options.threads):
                    took = seconds(lambda jobs=jobs, make=make: make(jobs, options.C), X, y)
                    best[jobs] = min(took, best.get(jobs, np.inf))
            plain, one, two = (best[jobs] for jobs in (None, 1, options.threads))
            share = handed_out(lambda make=make: make(1, options.C), X, y)
            figures = [f"{figure:.3f}" for figure in (plain, one, two)]
            figures += [f"{min(plain, one) / two:.2f}", f"{share:.2f}"]
            table.add_row(name, loss, *figures)
            console.print(" ".join([name, loss, *figures]))
    console.print(table)


if __name__ == "__main__":
    main()
