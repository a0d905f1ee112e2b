"""Record every method on cells of the map: ``python -m benchmarks.atlas.record --cells 200``.

Each method runs from a cold start until it is done or has used up its seconds. After every step its
gap, its counted work and its CPU seconds are kept, so that policies can be replayed without a fit
and prices and numbers of steps can be fitted. A second run goes on where the first one ended.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..problems import cache_folder
from ..session import ONE_THREAD
from .design import DEFAULT_CELLS, JOINT, Cell, cell_at
from .regret import MAX_ITER, solvers, warm_up

CAP_SECONDS = 5.0
# All methods get this first; those that are not done then get so many times the best one's.
FIRST_SECONDS, HOPELESS = 0.3, 5.0
# Runs below this are repeated, and the fewest seconds at each step are kept.
SHORT_SECONDS, REPEATS = 0.15, 3
# Of one-vs-rest the problems of so many classes stand for all.
MOST_CLASSES = 2
ROW_SPACE = "in row space"


class OverError(Exception):
    """A method has used up its seconds."""


class Recorder:
    """A choice of one method that writes down every step."""

    def __init__(self, method: Any, cap: float) -> None:
        self.method, self.cap = method, cap
        self.began = time.process_time()
        self.steps: list[tuple[float, float, float, float, float]] = []

    @property
    def explanation(self) -> str:
        """The method's name."""
        return str(self.method.name)

    @property
    def pauses(self) -> bool:
        """Never: it does not hand over."""
        return False

    def follow(self, method: str) -> None:
        """Ignore it."""

    def first(self, problem: Any, warm: Any, tol: float) -> Any:
        """Return the method."""
        reason = self.method.refuses(problem)
        if reason is not None:
            raise ValueError(reason)
        return self.method

    def next(self, progress: Any) -> None:
        """Write the step down; never hand over."""
        self.note(progress.expected[-1], progress.work, progress.active, progress.misplaced)
        if self.steps[-1][2] > self.cap:
            raise OverError

    def note(self, gap: float, work: float, active: float, misplaced: float) -> None:
        """Write down a step."""
        self.steps.append((gap, work, time.process_time() - self.began, active, misplaced))


@dataclass
class Record:
    """One method on one problem.

    `steps` has a row for each step: estimated gap, work, CPU seconds, active examples, and
    the share of misplaced ones. `seconds` are those of the whole run with its certificates.
    """

    method: str
    place: int
    steps: np.ndarray
    seconds: float
    status: str
    gap: float

    @property
    def converged(self) -> bool:
        """Whether the tolerance was proved."""
        return self.status == "CONVERGED"


def problem_of(cell: Cell, X: Any, y: Any, place: int) -> Any:
    """State the problem of a class, or of all."""
    from widemargin.data.training_set import TrainingSet
    from widemargin.problems.binary import BinaryProblem
    from widemargin.problems.losses import LOSSES
    from widemargin.problems.multiclass import MulticlassProblem

    data = TrainingSet.of(X, y, C=cell.C, fit_intercept=cell.intercept)
    if cell.kind in JOINT:
        return MulticlassProblem.of(data, cell.kind)
    return BinaryProblem.of(data, data.positives[place], LOSSES[cell.loss])


def places_of(cell: Cell) -> list[int]:
    """Choose the one-vs-rest problems that are recorded."""
    if cell.kind in JOINT or cell.classes == 2:
        return [0]
    return [round(k) for k in np.linspace(0, cell.classes - 1, MOST_CLASSES)]


def facts_of(problem: Any, tol: float) -> dict[str, Any]:
    """Give the shape that the policy for this kind of problem sees, as plain numbers."""
    from widemargin.auto.registry import choice_of

    policy = choice_of("auto", type(problem))._policy
    facts = asdict(policy.shape_of(problem, tol, False))
    # Every record is of a problem alone.
    return {name: fact for name, fact in facts.items() if name not in ("known", "others")}


def methods_of(cell: Cell, problem: Any) -> Iterator[tuple[str, Any]]:
    """Make the methods that serve a problem, those on the factor of X Xᵀ among them."""
    from widemargin.auto.machine import MACHINE
    from widemargin.auto.registry import method_named
    from widemargin.methods.newton.row_space import RowSpace

    rows = problem.rows
    few = rows.count < rows.weights and rows.count <= MACHINE.largest_factorised
    for name in solvers(cell):
        method = method_named(name, type(problem))
        if method.refuses(problem) is None:
            yield name, method
        if few and cell.kind not in JOINT and name not in ("dual_cd", "quasi_newton"):
            yield f"{name} {ROW_SPACE}", RowSpace(method_named(name, type(problem)))


def run_once(problem: Any, name: str, place: int, method: Any, tol: float, cap: float) -> Record:
    """Run a method from a cold start and write its steps down."""
    from widemargin.run import run

    recorder = Recorder(method, cap)
    status, gap = "OVER", math.nan
    try:
        solution = run(problem, recorder, tol=tol, max_iter=MAX_ITER)
        status, gap = solution.status.name, solution.certificate.relative_gap
    except OverError:
        pass
    seconds = time.process_time() - recorder.began
    return Record(name, place, np.array(recorder.steps).reshape(-1, 5), seconds, status, gap)


def record(cell: Cell, X: Any, y: Any, cap: float = CAP_SECONDS) -> tuple[dict, list[Record]]:
    """Record every method on the problems of a cell, each on a problem made anew.

    All get a little at first; those that are not done then get a multiple of the best.
    """
    facts, found = {}, []
    for place in places_of(cell):
        first = problem_of(cell, X, y, place)
        facts[place] = facts_of(first, cell.tol)
        methods = dict(methods_of(cell, first))

        def take(name: str, limit: float, place: int = place, methods: Any = methods) -> Record:
            problem = problem_of(cell, X, y, place)
            return run_once(problem, name, place, methods[name], cell.tol, limit)

        kept = {name: take(name, min(cap, FIRST_SECONDS)) for name in methods}
        for name in methods:
            best = min((r.seconds for r in kept.values() if r.converged), default=math.inf)
            limit = min(cap, HOPELESS * best)
            if kept[name].status == "OVER" and limit > 1.5 * kept[name].seconds:
                kept[name] = take(name, limit)
            for _ in range(REPEATS - 1 if kept[name].seconds < SHORT_SECONDS else 0):
                repeat(kept[name], take(name, cap))
        found += kept.values()
    return facts, found


def repeat(kept: Record, again: Record) -> None:
    """Keep the fewest seconds of two runs that took the same steps."""
    kept.seconds = min(kept.seconds, again.seconds)
    if again.steps.shape == kept.steps.shape:
        np.minimum(kept.steps[:, 2], again.steps[:, 2], out=kept.steps[:, 2])


def folder() -> Path:
    """Give the folder of the records."""
    found = cache_folder() / "atlas" / "records"
    found.mkdir(parents=True, exist_ok=True)
    return found


def write(path: Path, facts: dict, found: list[Record]) -> None:
    """Keep the records of a cell in one file."""
    about = [
        {"method": r.method, "place": r.place, "seconds": r.seconds, "status": r.status}
        | {"gap": r.gap}
        for r in found
    ]
    arrays = {f"steps{k}": r.steps.astype(np.float32) for k, r in enumerate(found)}
    temporary = path.with_suffix(".new.npz")
    text = json.dumps({"facts": facts, "records": about})
    np.savez_compressed(temporary, about=np.array(text), **arrays)
    temporary.replace(path)


def read(path: Path) -> tuple[dict[int, dict], list[Record]]:
    """Read the records of a cell."""
    with np.load(path) as file:
        about = json.loads(str(file["about"]))
        found = [
            Record(steps=file[f"steps{k}"].astype(float), **entry)
            for k, entry in enumerate(about["records"])
        ]
    return {int(place): facts for place, facts in about["facts"].items()}, found


def cells_of(seed: int, count: int) -> list[Cell]:
    """Draw cells of a seed at random."""
    order = np.random.default_rng(seed).permutation(DEFAULT_CELLS)
    return [cell_at(seed, int(index)) for index in order[:count]]


def main() -> None:
    """Record what is not recorded yet."""
    import warnings

    from .data import generate

    parser = argparse.ArgumentParser(prog="python -m benchmarks.atlas.record", description=__doc__)
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--cells", type=int, default=200, help="cells, drawn at random")
    parser.add_argument("--cap", type=float, default=CAP_SECONDS, help="CPU seconds of a method")
    parser.add_argument("--list", default="", help="these cells only, e.g. 3,17,44")
    parser.add_argument("--again", action="store_true", help="record again what was recorded")
    parser.add_argument("--facts", action="store_true", help="renew only what policies may know")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    warm_up()
    listed = [cell_at(options.seed, int(k)) for k in options.list.split(",") if k]
    for cell in listed or cells_of(options.seed, options.cells):
        path = folder() / f"{cell.seed}-{cell.index}.npz"
        if path.exists() and not (options.again or options.facts):
            continue
        if options.facts and not path.exists():
            continue
        X, y = generate(cell)
        if options.facts:
            shapes = {k: facts_of(problem_of(cell, X, y, k), cell.tol) for k in places_of(cell)}
            write(path, shapes, read(path)[1])
            continue
        facts, found = record(cell, X, y, options.cap)
        write(path, facts, found)
        line = ", ".join(f"{r.method} {r.seconds:.3g} {r.status[:4]}" for r in found)
        print(f"{cell.index:5d} {cell.name}, {cell.shape}, C={cell.C:g}: {line}", flush=True)


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        os.environ.update(ONE_THREAD)
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.atlas.record", *sys.argv[1:]])
    main()
