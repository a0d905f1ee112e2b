"""Measure the prices of `widemargin.auto.machine` on the machine at hand.

    python -m benchmarks.calibrate            # measure and print beside the present numbers
    python -m benchmarks.calibrate --write    # and rewrite their defaults in machine.py

Each price is the CPU time of an operation on matrices of an ordinary size, the least of several
rounds. Where an operation has two prices (per value and per row), two sizes are measured and the
pair is solved for. Decisions depend on ratios of these numbers alone.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf

from widemargin.auto import machine
from widemargin.auto.machine import MACHINE
from widemargin.auto.registry import choice_of
from widemargin.data.rows import Rows, as_rows_array
from widemargin.methods.base import Settings
from widemargin.methods.coordinate.block_dual_cd import BlockDualCD
from widemargin.methods.coordinate.dual_cd import DualCD
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOSSES
from widemargin.problems.multiclass import MulticlassProblem
from widemargin.run import run

ROUNDS, LEAST_SECONDS = 5, 0.02


def nanoseconds(work: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Time some work: the mean of repetitions that fill a while, the least of several rounds."""
    best = np.inf
    for _ in range(rounds):
        count, began = 0, time.process_time()
        while time.process_time() - began < LEAST_SECONDS or count == 0:
            work()
            count += 1
        best = min(best, (time.process_time() - began) / count)
    return 1e9 * best


def dense(rows: int, weights: int) -> Rows:
    """Make dense rows of normal numbers."""
    return Rows.of(np.random.default_rng(0).normal(size=(rows, weights)))


def sparse(rows: int, weights: int, entries: int) -> Rows:
    """Make sparse rows with about so many values each, at random places."""
    random = np.random.default_rng(0)
    places = np.sort(random.integers(0, weights, (rows, entries)), axis=1).astype(np.int32)
    pointers = np.arange(0, rows * entries + 1, entries).astype(np.int32)
    values = random.normal(size=places.size)
    matrix = sp.csr_matrix((values, places.ravel(), pointers), shape=(rows, weights))
    return Rows.of(as_rows_array(matrix))


def product(rows: Rows) -> float:
    """Time a product and its transpose, each half."""
    w, c = np.ones(rows.weights), np.ones(rows.count)
    return 0.5 * (nanoseconds(lambda: rows.scores(w)) + nanoseconds(lambda: rows.combine(c)))


def per_value_and_row(work: Callable[[Rows], float], first: Rows, second: Rows) -> Any:
    """Solve for what a value and a row cost from two matrices of different shape."""
    rows = (first, second)
    counts = [[each.view.nonzeros, each.count] for each in rows]
    value, row = np.linalg.solve(counts, [work(each) for each in rows])
    return max(float(value), 0.05), max(float(row), 0.5)


def binary(rows: Rows, loss: str = "squared_hinge") -> BinaryProblem:
    """Make a noisy problem at C = 1."""
    y = np.where(np.random.default_rng(1).random(rows.count) < 0.5, 1.0, -1.0)
    return BinaryProblem(rows, y, np.ones(rows.count), LOSSES[loss], False)


def fresh_step(method: Any, problem: Any, steps: int = 3) -> float:
    """Time the first steps of a method, start not included; return one step's time."""
    best = np.inf
    for _ in range(ROUNDS):
        state = method.start(problem, None, Settings(1e-12, 0))
        began = time.process_time()
        for _ in range(steps):
            method.advance(state)
        best = min(best, (time.process_time() - began) / steps)
    return 1e9 * best


def in_a_run(name: str, problem: Any, few: int = 15) -> float:
    """Time an iteration of a method with what `run` does around it, start and end not included."""
    choice = partial(choice_of, name, type(problem))
    short, long = (
        nanoseconds(lambda steps=steps: run(problem, choice(), tol=1e-16, max_iter=steps))
        for steps in (few, 2 * few)
    )
    return (long - short) / few


def sweep(rows: Rows) -> float:
    """Time one sweep of coordinate descent."""
    problem = binary(rows)
    _ = rows.norms
    return fresh_step(DualCD(), problem)


def of_products() -> Iterator[tuple[str, float]]:
    """Yield the prices of products with vectors."""
    yield "dense_value", per_value_and_row(product, dense(100_000, 4), dense(4_000, 400))[0]
    few, many = sparse(40_000, 2_000, 5), sparse(20_000, 2_000, 80)
    value, row = per_value_and_row(product, few, many)
    yield "sparse_value", value
    yield "row", row
    vector = np.ones(200_000)
    yield "element", nanoseconds(lambda: vector * vector + vector) / (2 * vector.size)


def of_sweeps() -> Iterator[tuple[str, float]]:
    """Yield the prices of coordinate descent."""
    yield "sweep_call", in_a_run("dual_cd", binary(dense(32, 2)))
    value, visit = per_value_and_row(sweep, dense(50_000, 4), dense(2_000, 400))
    yield "swept_dense_value", value
    yield "visit", visit / LOSSES["squared_hinge"].visit_cost
    large = dense(20_000, 800)
    yield "far_dense_value", max(0.0, sweep(large) / large.view.nonzeros - value)
    few, many = sparse(40_000, 2_000, 5), sparse(20_000, 2_000, 80)
    value = per_value_and_row(sweep, few, many)[0]
    yield "swept_sparse_value", value
    large = sparse(80_000, 20_000, 200)
    yield "far_sparse_value", max(0.0, sweep(large) / large.view.nonzeros - value)


def of_matrices() -> Iterator[tuple[str, float]]:
    """Yield the prices of Gram matrices and factorisations."""
    blas_multiply = MACHINE.blas_multiply
    for name, rows, used in (
        ("blas_multiply", dense(2_000, 500), 2_000 * 500**2),
        ("tile_multiply", dense(50_000, 40), 50_000 * 40 * 48),
        ("scattered_multiply", sparse(20_000, 200, 20), 20_000 * 20 * 24),
        ("far_multiply", sparse(20_000, 1_000, 30), 20_000 * 30 * 34),
    ):
        curvature = np.ones(rows.count)
        price = nanoseconds(lambda rows=rows, h=curvature: rows.gram(h, False), 3) / used
        blas_multiply = price if name == "blas_multiply" else blas_multiply
        yield name, price
    for name, rows in (
        ("row_product", dense(500, 1_000)),
        ("sparse_row_product", sparse(1_000, 5_000, 50)),
    ):
        used = rows.count * rows.view.nonzeros
        yield name, nanoseconds(rows.row_gram, 3) / used
    small, larger = np.eye(20), np.eye(300)
    call = nanoseconds(lambda: dpotrf(small, lower=0))
    yield "small_factor", call
    columns = (nanoseconds(lambda: dpotrf(larger, lower=0)) - call) / len(larger) ** 2
    yield "thin_columns", max(0.0, columns / blas_multiply - len(larger) / 3.0)


def of_steps() -> Iterator[tuple[str, float]]:
    """Yield what a step costs in Python: on the smallest problem that is not one compiled call."""
    rows = dense(100, MACHINE.small_weights + 1)
    curvature, matrix = np.ones(rows.count), np.eye(rows.weights)
    arithmetic = nanoseconds(lambda: rows.gram(curvature, False))
    arithmetic += nanoseconds(lambda: dpotrf(matrix, lower=0))
    arithmetic += MACHINE.proximal_products * product(rows)
    found = in_a_run("proximal_newton", binary(rows, "hinge")) - arithmetic
    yield "step", max(1e3, found / MACHINE.proximal_call)


def block_visit(rows: Rows, classes: int) -> float:
    """Time a visit of block dual descent: its first sweep visits every row once."""
    label = np.random.default_rng(2).integers(0, classes, rows.count)
    problem = MulticlassProblem(
        rows, label.astype(np.int32), np.ones(rows.count), classes, "weston_watkins", False
    )
    return fresh_step(BlockDualCD(), problem, 1) / rows.count


def of_classes() -> Iterator[tuple[str, float]]:
    """Yield the prices of block dual descent."""
    shapes = ((4_000, 2, 16), (4_000, 100, 16), (4_000, 2, 64))
    times = [block_visit(dense(rows, weights), classes) for rows, weights, classes in shapes]
    counts = [[1.0, classes, weights * classes] for _, weights, classes in shapes]
    visit, of_class, value = (float(found) for found in np.linalg.solve(counts, times))
    yield "block_visit", max(50.0, visit)
    yield "block_class", max(2.0, of_class)
    yield "dense_block_value", max(0.05, value)
    near = (block_visit(sparse(4_000, 500, 80), 16) - visit - 16 * of_class) / (16 * 80)
    yield "block_value", max(0.05, near)
    far = (block_visit(sparse(4_000, 50_000, 80), 16) - visit - 16 * of_class) / (16 * 80)
    yield "far_block_value", max(0.0, far - near)


def measure() -> dict[str, float]:
    """Measure every price."""
    found: dict[str, float] = {}
    for part in (of_products, of_sweeps, of_matrices, of_steps, of_classes):
        found.update(part())
    return found


def rewrite(found: dict[str, float]) -> None:
    """Write the prices into machine.py, to two digits."""
    path = Path(machine.__file__)
    text = path.read_text()
    for name, value in found.items():
        text = re.sub(rf"(    {name}: float = )[0-9.e+-]+", rf"\g<1>{float(f'{value:.2g}')}", text)
    path.write_text(text)


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="rewrite the defaults in machine.py")
    options = parser.parse_args()
    found = measure()
    for name, value in found.items():
        print(f"{name:22s} {value:12.4g}   now {getattr(MACHINE, name):g}")
    if options.write:
        rewrite(found)


if __name__ == "__main__":
    main()
