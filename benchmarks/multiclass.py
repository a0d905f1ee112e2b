"""Speed of the multiclass rules: ``python -m benchmarks.multiclass PART [--data ...] [--C ...]``.

A single cell: ``python -m benchmarks.multiclass crammer_singer --data letter --C 1 --keep``.

Parts:

crammer_singer  against LIBLINEAR -s 4 to true suboptimalities of 1e-3 and 1e-5, no intercept
weston_watkins  against `shark`, same targets as gap
many_classes    1000 classes: the gap down by 100, against `walrus` (sorting, nothing left out)
memory          1000 classes at tol 1e-3: peak memory of the process
one_vs_rest     20 newsgroups, one thread and two, and scikit-learn's LinearSVC

Seconds are CPU seconds of the one thread that works: they stay comparable on a busy machine.
LIBLINEAR is given the loosest ``-e`` of a ladder that reaches the target, widemargin the fastest
``tol`` of {10, 3, 1} times the target that does; what ``tol`` = target costs, with its proof, is a
column of its own. A rival that does not get there within ``--limit`` seconds a fit has a row all
the same, marked as not reached: its ratio is a lower bound, and counted apart. Results go to
benchmarks/results/multiclass_PART.csv, cell by cell; ``--keep`` replaces only what is measured now.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import resource
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from .multiclass_data import NAMES, load

RESULTS = Path(__file__).parent / "results"
TARGETS = (1e-3, 1e-5)
LADDER = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 1e-5)
LOOSE = (10.0, 3.0, 1.0)
LIMIT = 120.0


def objective(X: Any, y: np.ndarray, W: np.ndarray, C: float) -> float:
    """P of Crammer-Singer without intercept."""
    places = np.arange(y.size)
    scores = X @ W.T
    slack = 1.0 + scores - scores[places, y][:, None]
    slack[places, y] = 0.0
    return 0.5 * float((W * W).sum()) + C * float(slack.max(axis=1).sum())


def _liblinear(X: Any, y: np.ndarray, C: float, level: float, pipe: Any) -> None:
    from liblinear.liblinear import problem
    from liblinear.liblinearutil import train

    data = problem(y.astype(float), X)
    began = time.process_time()
    model = train(data, f"-s 4 -c {C!r} -e {level!r} -q")
    seconds = time.process_time() - began
    k = int(y.max()) + 1
    w = np.ctypeslib.as_array(model.w, shape=(model.nr_feature * k,)).reshape(-1, k).T
    W = np.zeros((k, X.shape[1]))
    W[[int(label) for label in model.label[:k]], : model.nr_feature] = w
    pipe.send((seconds, objective(X, y, W, C)))


def liblinear(X: Any, y: np.ndarray, C: float, level: float, limit: float) -> tuple[float, float]:
    """CPU seconds and objective, from a process of its own.

    A process that takes too long is ended: its seconds so far, and no objective.
    """
    ours, theirs = multiprocessing.Pipe()
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    process = multiprocessing.Process(target=_liblinear, args=(X, y, C, level, theirs))
    process.start()
    began = time.perf_counter()
    while process.is_alive() and time.perf_counter() - began < limit:
        if ours.poll(0.05):
            process.join()
            return tuple(ours.recv())
    process.terminate()
    process.join()
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, np.inf


def estimator(rule: str, C: float, tol: float, solver: str = "auto", limit: float = LIMIT) -> Any:
    """The estimator without intercept."""
    from widemargin import LinearSVC

    return LinearSVC(
        "hinge",
        C=C,
        multi_class=rule,
        tol=tol,
        solver=solver,
        fit_intercept=False,
        max_iter=100_000,
        time_limit=limit,
    )


def timed(model: Any, X: Any, y: np.ndarray) -> tuple[float, Any]:
    """CPU seconds of a fit; short ones are repeated and the median taken."""
    seconds: list[float] = []
    while len(seconds) < 5 and sum(seconds) < 2.0:
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        seconds.append(time.process_time() - began)
    return float(np.median(seconds)), model


def reached(
    X: Any, y: np.ndarray, C: float, best: float, limit: float
) -> dict[float, dict[str, Any]]:
    """For each target the loosest -e of LIBLINEAR that reaches it; the last one tried if none."""
    found: dict[float, dict[str, Any]] = {}
    row: dict[str, Any] = {}
    for level in LADDER:
        runs = [liblinear(X, y, C, level, limit)]
        while len(runs) < 3 and runs[0][0] < 1.0:
            runs.append(liblinear(X, y, C, level, limit))
        seconds, value = float(np.median([run[0] for run in runs])), runs[0][1]
        row = {"liblinear": seconds, "e": level, "not_reached": True}
        for target in TARGETS:
            if value - best <= target * best and target not in found:
                found[target] = {**row, "not_reached": False}
        if len(found) == len(TARGETS) or not np.isfinite(value):
            break
    return {target: found.get(target, row) for target in TARGETS}


def crammer_singer(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Compare with LIBLINEAR, cell by cell.

    `ratio` compares the fastest setting of each that reaches the target, `proved_ratio` the same of
    LIBLINEAR with ``tol`` = target, where the certificate proves that it was reached.
    """
    for name in options.data:
        X, y = load(name)
        for C in track(options.C, f"{name}, k = {y.max() + 1}", console=Console(stderr=True)):
            runs = {
                tol: timed(estimator("crammer_singer", C, tol), X, y)
                for tol in (1e-6, *(loose * target for target in TARGETS for loose in LOOSE))
            }
            best = max(float(model.certificate_.dual) for _, model in runs.values())
            theirs = reached(X, y, C, best, options.limit)
            for target in TARGETS:
                proved, model = runs[target]
                tols = [loose * target for loose in LOOSE]
                good = [t for t in tols if runs[t][1].certificate_.primal - best <= target * best]
                tol = min(good, key=lambda t: runs[t][0], default=target)
                seconds = runs[tol][0]
                rival = theirs[target]["liblinear"]
                yield {
                    "data": name,
                    "k": int(y.max()) + 1,
                    "C": C,
                    "target": target,
                    "widemargin": round(seconds, 4),
                    "tol": tol,
                    "proved": round(proved, 4),
                    "liblinear": round(rival, 4),
                    "e": theirs[target].get("e"),
                    "not_reached": theirs[target]["not_reached"],
                    "ratio": round(rival / seconds, 2),
                    "proved_ratio": round(rival / proved, 2),
                    "relative_gap": model.certificate_.relative_gap,
                    "solver": model.solver_,
                }


def weston_watkins(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Compare with `shark`, both to the same certified gap."""
    for name in options.data:
        X, y = load(name)
        for C in track(options.C, name, console=Console(stderr=True)):
            for target in TARGETS:
                row: dict[str, Any] = {
                    "data": name,
                    "k": int(y.max()) + 1,
                    "C": C,
                    "target": target,
                }
                for solver in ("auto", "shark"):
                    model = estimator("weston_watkins", C, target, solver, options.limit)
                    seconds, model = timed(model, X, y)
                    row[solver] = round(seconds, 4)
                    row[f"{solver}_gap"] = model.certificate_.relative_gap
                row["not_reached"] = row["shark_gap"] > target
                row["ratio"] = round(row["shark"] / row["auto"], 2)
                yield row


def decay(problem: Any, name: str, factor: float, most: int) -> tuple[float, int, float]:
    """CPU seconds until the gap has fallen by `factor` since the first sweep of `walrus`."""
    from widemargin.auto.registry import method_named
    from widemargin.methods.base import Settings

    method = method_named(name, type(problem))
    began = time.process_time()
    state = method.start(problem, None, Settings(1e-3, 0))
    seconds = time.process_time() - began
    first = np.inf
    for sweep in range(1, most + 1):
        began = time.process_time()
        method.advance(state)
        seconds += time.process_time() - began
        gap = problem.certify(state.point)[1].gap
        first = gap if sweep == 1 else first
        print(f"{name}: {sweep} steps, {seconds:.1f} s, gap {gap:.4g}", flush=True)
        if gap <= first / factor:
            return seconds, sweep, gap / first
    return seconds, most, gap / first


def many_classes(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The gap down by 100 with 1000 classes."""
    from widemargin.data.rows import Rows, as_rows_array
    from widemargin.problems.multiclass import MulticlassProblem

    X, y = load("aloi-like")
    for C in options.C:
        problem = MulticlassProblem(
            Rows.of(as_rows_array(X)),
            y.astype(np.int32),
            np.full(y.size, C),
            1000,
            "weston_watkins",
            False,
        )
        row: dict[str, Any] = {"data": "aloi-like", "k": 1000, "C": C}
        for name in ("block_dual_cd", "walrus"):
            row[name], row[f"{name}_steps"], row[f"{name}_decay"] = decay(problem, name, 100.0, 40)
        row["ratio"] = round(row["walrus"] / row["block_dual_cd"], 2)
        yield row


def memory(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Peak memory of generating, training and certifying 1000 classes at tol 1e-3."""
    X, y = load("aloi-like")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds, model = timed(estimator("weston_watkins", options.C[0], 1e-3), X, y)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield {
        "data": "aloi-like",
        "C": options.C[0],
        "megabytes_with_the_data": round(before),
        "megabytes_at_the_peak": round(peak),
        "seconds": round(seconds, 1),
        "relative_gap": model.certificate_.relative_gap,
    }


def one_vs_rest(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Threads, and scikit-learn; seconds here are of the clock, since threads are the point.

    widemargin gets the loosest ``tol`` at which its objective is no higher than scikit-learn's.
    """
    from sklearn.svm import LinearSVC as Theirs

    from widemargin import LinearSVC

    X, y = load("20newsgroups")
    signs = np.where(y[:, None] == np.arange(20), 1.0, -1.0)
    for C in options.C:

        def excess(W: np.ndarray, best: float, C: float = C) -> float:
            slack = np.maximum(0.0, 1.0 - signs * (X @ W.T))
            return (0.5 * float((W**2).sum()) + C * float((slack**2).sum())) / best - 1.0

        def ours(tol: float, threads: int = 1, C: float = C) -> Any:
            return LinearSVC(C=C, n_jobs=threads, fit_intercept=False, tol=tol)

        best = ours(1e-11).fit(X, y).certificate_.dual
        theirs = Theirs(C=C, fit_intercept=False, tol=1e-3)
        their_excess = excess(theirs.fit(X, y).coef_, best)
        # Descent in the dual leaves scikit-learn far closer to the optimum than its tol says.
        tols = 10.0 ** -np.arange(3.0, 11.0)
        found = {tol: excess(ours(tol).fit(X, y).coef_, best) for tol in tols}
        tol = max((t for t, e in found.items() if e <= their_excess), default=tols[-1])
        row: dict[str, Any] = {"data": "20newsgroups", "C": C, "tol": tol}
        models = {}
        for _ in range(5):
            for threads in (1, 2):
                model = ours(tol, threads)
                began = time.perf_counter()
                models[threads] = model.fit(X, y)
                key, seconds = f"threads_{threads}", time.perf_counter() - began
                row[key] = min(row.get(key, np.inf), seconds)
            began = time.perf_counter()
            theirs.fit(X, y)
            row["scikit_learn"] = min(row.get("scikit_learn", np.inf), time.perf_counter() - began)
        row["same"] = bool(np.array_equal(models[1].coef_, models[2].coef_))
        row["our_excess"], row["their_excess"] = found[tol], their_excess
        row["our_gap"] = models[1].certificate_.relative_gap
        row["speedup"] = round(row["threads_1"] / row["threads_2"], 2)
        row["ratio"] = round(row["scikit_learn"] / row["threads_1"], 2)
        yield row


PARTS = {
    part.__name__: part
    for part in (crammer_singer, weston_watkins, many_classes, memory, one_vs_rest)
}


def main() -> None:
    """Run one part and write its table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--data", nargs="+", default=list(NAMES))
    parser.add_argument("--C", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--keep", action="store_true", help="replace only the rows measured now")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds a fit of the rival")
    options = parser.parse_args()
    path = options.output or RESULTS / f"multiclass_{options.part}.csv"
    rows: list[dict[str, Any]] = []
    if options.keep and path.exists():
        with path.open() as file:
            rows = list(csv.DictReader(file))
    for row in PARTS[options.part](options):
        print(row, flush=True)
        rows = [old for old in rows if _cell(old) != _cell(row)] + [row]
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(row), extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
    for line in summary(rows):
        print(line, file=sys.stderr)


def _cell(row: dict[str, Any]) -> tuple[str, float, float]:
    return row["data"], float(row["C"]), float(row.get("target", 0.0))


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Say what the ratios come to; lower bounds apart."""
    rows = [row for row in rows if "ratio" in row]
    for title, kept in (("reached", False), ("not reached, lower bounds", True)):
        ratios = [float(r["ratio"]) for r in rows if (str(r.get("not_reached")) == "True") is kept]
        if ratios:
            mean = float(np.exp(np.mean(np.log(ratios))))
            yield f"{title}: {len(ratios)} cells, mean {mean:.2f}, lowest {min(ratios):.2f}"


if __name__ == "__main__":
    main()
