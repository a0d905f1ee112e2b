"""Speed of multinomial logistic regression: ``python -m benchmarks.multinomial [--data ...]``.

Whole fits with an exact intercept, one thread, against every solver of scikit-learn that supports
the multinomial loss, at equal true suboptimality: (P − P*) / P* ≤ 1e-3 and 1e-6. widemargin is
given ``tol`` = target, so that its certificate proves the target; scikit-learn's solvers the
loosest ``tol`` of a ladder of half decades that reaches it. P* is known from a certificate of
widemargin at 1e-9.

Seconds are CPU seconds of the one thread that works. Rivals run in processes of their own, which
end after ``--limit`` seconds; short fits are repeated, taking turns with widemargin's, and the
median counts. Results go to benchmarks/results/multinomial.csv, cell by cell; cells that are there
already are kept, unless ``--again`` is given; ``--keep-rivals`` measures them anew with the fastest
rival and its tolerance as they are on record. ``--summary`` prints them without measuring.

Every fit of a rival is kept in multinomial_rivals.csv as well, so that a measurement goes on where
it was ended; ``--seconds`` ends one. A rival stops as soon as it is slower than another one that
reached the same target.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp

from .multiclass_data import FILES, load

RESULTS = Path(__file__).parent / "results" / "multinomial.csv"
RIVALS = RESULTS.with_name("multinomial_rivals.csv")
TARGETS = (1e-3, 1e-6)
SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky", "saga")
LADDER = tuple(10.0 ** (-0.5 * step) for step in range(1, 19))
DENSE = ("satimage", "letter", "usps", "pendigits", "covtype")
NAMES = ("digits", "dna", *DENSE, "mnist", "news20", "20newsgroups")
LARGEST_HESSIAN = 4000
FIELDS = (
    *("data", "C", "target", "widemargin", "solver", "rival", "rival_seconds", "tol", "reached"),
    *("ratio", "suboptimality"),
)
RIVAL_FIELDS = ("data", "C", "solver", "tol", "seconds", "objective", "limit")
FILES.update(pendigits="pendigits", covtype="covtype")


def read(name: str) -> tuple[Any, np.ndarray]:
    """Read a set: dense where few values are zero, columns of the raw ones scaled to [0, 1]."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
    else:
        X, y = load(name)
    if name in DENSE:
        X = np.ascontiguousarray(X.toarray())
    if name in ("digits", "pendigits", "covtype"):
        low, high = X.min(axis=0), X.max(axis=0)
        X = (X - low) / np.where(high > low, high - low, 1.0)
    return X, y


def objective(X: Any, y: np.ndarray, model: Any, C: float) -> float:
    """Return P at a fitted model, with scikit-learn's and our own alike."""
    scores = np.asarray(X @ model.coef_.T) + model.intercept_
    losses = logsumexp(scores, axis=1) - scores[np.arange(y.size), y]
    return 0.5 * float((model.coef_**2).sum()) + C * float(losses.sum())


def ours(C: float, tol: float) -> Any:
    """Return the estimator to measure."""
    from widemargin import LogisticRegression

    return LogisticRegression(C=C, tol=tol, max_iter=100_000)


def timed(model: Any, X: Any, y: np.ndarray) -> float:
    """Return the CPU seconds of a fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        model.fit(X, y)
        return time.process_time() - began


def _rival(
    X: Any, y: np.ndarray, C: float, solver: str, tol: float, limit: float, pipe: Any
) -> None:
    from sklearn.linear_model import LogisticRegression

    # The system ends a process that takes longer, in CPU seconds.
    spent = int(np.ceil(time.process_time() + limit))
    resource.setrlimit(resource.RLIMIT_CPU, (spent, spent))
    model = LogisticRegression(C=C, tol=tol, solver=solver, max_iter=1_000_000, random_state=0)
    seconds = timed(model, X, y)
    pipe.send((seconds, objective(X, y, model, C)))


def rival(
    X: Any, y: np.ndarray, C: float, solver: str, tol: float, limit: float
) -> tuple[float, float]:
    """Return CPU seconds and objective of scikit-learn, from a process of its own.

    If it takes too long: the limit, and no objective.
    """
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_rival, args=(X, y, C, solver, tol, limit, there))
    process.start()
    there.close()
    try:
        answer = tuple(here.recv())
    except EOFError:
        answer = (limit, np.inf)
    process.join()
    return answer


def serves(solver: str, X: Any, y: np.ndarray) -> bool:
    """Whether a solver's Hessian fits into memory."""
    return solver != "newton-cholesky" or X.shape[1] * (y.max() + 1) <= LARGEST_HESSIAN


class OutOfTimeError(Exception):
    """No further fit of a rival may begin."""


class Rivals:
    """Fits of rivals at one cell, kept from one call to the next."""

    def __init__(self, name: str, C: float, limit: float, deadline: float) -> None:
        self.name, self.C, self.limit, self.deadline = name, C, limit, deadline

    def kept(self) -> dict[tuple[str, float], tuple[float, float, float]]:
        """Return seconds, objective and limit of each fit so far."""
        if not RIVALS.exists():
            return {}
        with RIVALS.open(newline="") as file:
            return {
                (row["solver"], float(row["tol"])): (
                    float(row["seconds"]),
                    float(row["objective"]),
                    float(row["limit"]),
                )
                for row in csv.DictReader(file)
                if row["data"] == self.name and float(row["C"]) == self.C
            }

    def fit(
        self, X: Any, y: np.ndarray, solver: str, tol: float, useful: float
    ) -> tuple[float, float]:
        """Return CPU seconds and objective of a fit, which is ended once it is not `useful`."""
        limit = float(np.ceil(min(self.limit, useful)))
        before = self.kept().get((solver, tol))
        if before is not None and (np.isfinite(before[1]) or before[2] >= limit):
            return before[:2]
        if time.perf_counter() > self.deadline:
            raise OutOfTimeError
        seconds, value = rival(X, y, self.C, solver, tol, limit)
        self._write(solver, tol, seconds, value, limit)
        return seconds, value

    def optimum(self, X: Any, y: np.ndarray) -> float:
        """Return P*, from below, by a certificate of widemargin at 1e-9."""
        before = self.kept().get(("widemargin", 1e-9))
        if before is not None:
            return before[1]
        exact = ours(self.C, 1e-9)
        seconds = timed(exact, X, y)
        best = float(exact.certificate_.dual)
        self._write("widemargin", 1e-9, seconds, best, np.inf)
        return best

    def _write(self, solver: str, tol: float, seconds: float, value: float, limit: float) -> None:
        fresh = not RIVALS.exists()
        with RIVALS.open("a", newline="") as file:
            writer = csv.writer(file)
            if fresh:
                writer.writerow(RIVAL_FIELDS)
            writer.writerow((self.name, self.C, solver, tol, round(seconds, 5), value, limit))


def reached(
    X: Any, y: np.ndarray, solver: str, best: float, rivals: Rivals, fastest: dict[float, float]
) -> dict[float, tuple[float, float, bool]]:
    """Return for each target the seconds and the loosest tolerance that reaches it.

    `fastest` has the seconds of the fastest rival so far, and is brought up to date.
    """
    found: dict[float, tuple[float, float, bool]] = {}
    seconds, tol = 0.0, LADDER[0]
    for tol in LADDER:
        useful = max(fastest[target] for target in TARGETS if target not in found)
        seconds, value = rivals.fit(X, y, solver, tol, useful)
        for target in TARGETS:
            if value - best <= target * best and target not in found:
                found[target] = (seconds, tol, True)
                fastest[target] = min(fastest[target], seconds)
        if len(found) == len(TARGETS) or not np.isfinite(value):
            break
    return {target: found.get(target, (seconds, tol, False)) for target in TARGETS}


def on_record(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return of each target the fastest rival as it was found before."""
    found: dict[str, Any] = {}
    for row in rows:
        answer = (float(row["rival_seconds"]), float(row["tol"]), row["reached"] == "True")
        found.setdefault(row["rival"], {})[float(row["target"])] = answer
    missing = (np.inf, LADDER[0], False)
    return {r: {t: answers.get(t, missing) for t in TARGETS} for r, answers in found.items()}


def cell(
    name: str,
    X: Any,
    y: np.ndarray,
    C: float,
    solvers: list[str],
    limit: float,
    deadline: float,
    before: list[dict[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """Measure one data set at one C, against all solvers or those on record."""
    rivals, fastest_so_far = Rivals(name, C, limit, deadline), dict.fromkeys(TARGETS, limit)
    best = rivals.optimum(X, y)
    found = on_record(before or [])
    if not found:
        served = [solver for solver in solvers if serves(solver, X, y)]
        found = {solver: reached(X, y, solver, best, rivals, fastest_so_far) for solver in served}
    rows = []
    for target in TARGETS:
        model = ours(C, target)
        mine = [timed(model, X, y)]
        fastest = min(found, key=lambda s: (not found[s][target][2], found[s][target][0]))
        seconds, tol, there = found[fastest][target]
        theirs = [seconds] if before is None else [rival(X, y, C, fastest, tol, limit)[0]]
        # Short fits take turns, so that a busy moment hits both.
        while len(mine) < 5 and sum(mine) + sum(theirs) < 5.0:
            mine.append(timed(model, X, y))
            theirs.append(rival(X, y, C, fastest, tol, limit)[0])
        value = (objective(X, y, model, C) - best) / best
        ratio = float(np.median(theirs) / np.median(mine))
        rows.append(
            {
                "data": name,
                "C": C,
                "target": target,
                "widemargin": round(float(np.median(mine)), 5),
                "solver": model.solver_.split(" (")[0],
                "rival": fastest,
                "rival_seconds": round(float(np.median(theirs)), 5),
                "tol": tol,
                "reached": there,
                "ratio": round(ratio, 3),
                "suboptimality": f"{value:.1e}",
            }
        )
        print(*rows[-1].values(), flush=True)
    return rows


def kept() -> list[dict[str, Any]]:
    """Return the rows that were measured before."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def write(rows: list[dict[str, Any]]) -> None:
    """Write all rows."""
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


def summary(rows: list[dict[str, Any]]) -> None:
    """Print geometric means and the lowest cell of each target."""
    for target in TARGETS:
        ratios = [float(row["ratio"]) for row in rows if float(row["target"]) == target]
        if ratios:
            mean = float(np.exp(np.mean(np.log(ratios))))
            print(f"{target:g}: {len(ratios)} cells, mean {mean:.2f}, lowest {min(ratios):.2f}")


def main() -> None:
    """Measure the cells that are missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--C", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS), choices=SOLVERS)
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds of a rival's fit")
    parser.add_argument("--seconds", type=float, default=np.inf, help="begin no fit after these")
    parser.add_argument("--again", action="store_true", help="measure cells that are there already")
    parser.add_argument(
        "--keep-rivals", action="store_true", help="measure with the rivals on record"
    )
    parser.add_argument("--summary", action="store_true", help="only print the results")
    options = parser.parse_args()
    rows = kept()
    deadline = time.perf_counter() + options.seconds
    for name in [] if options.summary else options.data:
        X, y = read(name)
        for C in options.C:
            same = [row for row in rows if row["data"] == name and float(row["C"]) == C]
            if same and not (options.again or options.keep_rivals):
                continue
            before = same if same and options.keep_rivals else None
            try:
                fresh = cell(name, X, y, C, options.solvers, options.limit, deadline, before=before)
            except OutOfTimeError:
                print(f"{name} C = {C:g} is not finished; call again to go on")
                return
            rows = [row for row in kept() if row["data"] != name or float(row["C"]) != C] + fresh
            write(rows)
    summary(kept())


if __name__ == "__main__":
    main()
