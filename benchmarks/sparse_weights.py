"""Speed of sparse weights: ``python -m benchmarks.sparse_weights [--data a9a,w8a]``.

Fits with the 1-norm and without an intercept, one thread, against LIBLINEAR (-s 5, -s 6),
scikit-learn's saga, skglm and celer, at equal true suboptimality: (P − P*) / P* ≤ 1e-3 and 1e-6.
C is 10, 100 and 1000 times the smallest C that has a weight. widemargin is given ``tol`` = target,
so that its certificate proves the target; the rivals the loosest level of a ladder of half decades
that reaches it. P* is the dual bound of widemargin at 1e-9. Converting the data to a rival's own
format is not counted, nor is compiling skglm.

Seconds are CPU seconds. Where the kernel stalls on huge pages (tens of milliseconds of system time
in fits of twenty), set ``NUMPY_MADVISE_HUGEPAGE=0``. Each rival climbs its ladder in a process of
its own, within forty times what widemargin took for the last target, and at least five seconds.
Results go to benchmarks/results/sparse_weights.csv, cell by cell; cells that are there already are
kept.
``--path`` measures a path of 100 values of C instead, ``--summary`` prints what was measured.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from scipy.sparse import csr_matrix

from widemargin import LinearSVC, LogisticRegression, path, smallest_C

from . import problems
from .multiclass_data import FILES, load

RESULTS = Path(__file__).parent / "results" / "sparse_weights.csv"
TARGETS = (1e-3, 1e-6)
MULTIPLES = (10.0, 100.0, 1000.0)
LADDER = tuple(10.0 ** (-0.5 * step) for step in range(1, 19))
FIELDS = (
    *("data", "loss", "multiple", "target", "widemargin", "rival", "rival_seconds", "level"),
    *("ratio", "weights"),
)
SETS = {
    "a9a": ("a9a", None),
    "w8a": ("w8a", None),
    "ijcnn1": ("ijcnn1", None),
    "covtype": ("covtype.libsvm.binary.scale", None),
    "madelon": ("madelon", None),
    "leu": ("leu", None),
    "mnist8": ("mnist.scale", 8),
    "news20-1": ("news20.scale", 0),
}
TEXTS = ("20newsgroups", "text")
Fit = Callable[[Any, float, float], np.ndarray]


def read(name: str) -> tuple[csr_matrix, np.ndarray]:
    """Read a set as CSR with labels −1 and +1; columns of madelon are standardised.

    "text" is generated: 60,000 documents, 50,000 words.
    """
    if name in TEXTS:
        return problems.load(name)
    file, positive = SETS[name]
    FILES.setdefault(name, file)
    X, y = load(name)
    y = np.where(y == (y.max() if positive is None else positive), 1.0, -1.0)
    if name == "madelon":
        dense = X.toarray()
        X = csr_matrix((dense - dense.mean(0)) / np.maximum(dense.std(0), 1e-12))
    return X, y


def primal(X: csr_matrix, y: np.ndarray, w: np.ndarray, C: float, loss: str) -> float:
    """Return P of any weights."""
    m = y * (X @ w)
    terms = np.logaddexp(0.0, -m) if loss == "logistic" else np.maximum(0.0, 1.0 - m) ** 2
    return float(np.abs(w).sum() + C * terms.sum())


def _liblinear(X: csr_matrix, y: np.ndarray, loss: str) -> Fit:
    from liblinear.liblinear import problem

    return _liblinear_fit(problem(y, X), loss)


def _liblinear_fit(data: Any, loss: str) -> Fit:
    """Return LIBLINEAR's fit of data that it has."""
    from liblinear.liblinearutil import train

    solver = 6 if loss == "logistic" else 5

    def fit(_: Any, C: float, level: float) -> np.ndarray:
        model = train(data, f"-s {solver} -c {C!r} -e {level!r} -q")
        w = np.ctypeslib.as_array(model.w, shape=(model.nr_feature,)).copy()
        return w if model.label[0] == 1 else -w

    return fit


def _saga(X: csr_matrix, y: np.ndarray, loss: str) -> Fit:
    from sklearn.linear_model import LogisticRegression as Theirs

    def fit(_: Any, C: float, level: float) -> np.ndarray:
        settings = {"solver": "saga", "l1_ratio": 1.0, "fit_intercept": False, "max_iter": 10**5}
        return np.ravel(Theirs(C=C, tol=level, **settings).fit(X, y).coef_)

    return fit


def _skglm(X: csr_matrix, y: np.ndarray, loss: str) -> Fit:
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    columns = X.tocsc()

    def fit(_: Any, C: float, level: float) -> np.ndarray:
        solver = ProxNewton(tol=level / y.size, fit_intercept=False, max_iter=1000)
        model = GeneralizedLinearEstimator(Logistic(), L1(1.0 / (C * y.size)), solver)
        return np.ravel(model.fit(columns, y).coef_)

    return fit


def _celer(X: csr_matrix, y: np.ndarray, loss: str) -> Fit:
    from celer import LogisticRegression as Theirs

    columns = X.tocsc()

    def fit(_: Any, C: float, level: float) -> np.ndarray:
        model = Theirs(C=C, tol=level, fit_intercept=False, max_iter=200)
        return np.ravel(model.fit(columns, y).coef_)

    return fit


RIVALS = {
    "liblinear": (("logistic", "squared_hinge"), _liblinear),
    "saga": (("logistic",), _saga),
    "skglm": (("logistic",), _skglm),
    "celer": (("logistic",), _celer),
}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the median CPU seconds of some turns, and the answer; long work has one turn."""
    seconds: list[float] = []
    while not seconds or (sum(seconds) < 0.5 and len(seconds) < 5):
        began = time.process_time()
        answer = work()
        seconds.append(time.process_time() - began)
    return statistics.median(seconds), answer


def climb(
    pipe: Any, name: str, X: csr_matrix, y: np.ndarray, loss: str, C: float, best: float
) -> None:
    """Send (target, level, seconds) of one rival for each target, as they are reached."""
    warnings.simplefilter("ignore")
    fit = RIVALS[name][1](X, y, loss)
    if name in ("skglm", "celer"):
        fit(None, C / 3.0, 0.1)  # compiled and in the cache
    targets = list(TARGETS)
    for level in LADDER:
        began = time.process_time()
        w = fit(None, C, level)
        first = time.process_time() - began
        reached = (primal(X, y, w, C, loss) - best) / best
        while targets and reached <= targets[0]:
            seconds = first
            if first < 0.2:
                seconds, _ = timed(lambda at=level: fit(None, C, at))
            pipe.send((targets.pop(0), level, seconds))
        if not targets:
            return


def spent(process: psutil.Process) -> float:
    """Return the CPU seconds of a process; those of one that has ended are none."""
    try:
        return float(sum(process.cpu_times()[:2]))
    except psutil.Error:
        return 0.0


def ours(X: csr_matrix, y: np.ndarray, loss: str, C: float, tol: float) -> Any:
    """Fit widemargin."""
    settings = {"penalty": "l1", "C": C, "tol": tol, "fit_intercept": False}
    model = LogisticRegression(**settings) if loss == "logistic" else LinearSVC(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def cells(name: str, loss: str, multiple: float) -> list[dict[str, Any]]:
    """Measure one problem at both targets."""
    X, y = read(name)
    C = multiple * smallest_C(X, y, loss=loss, fit_intercept=False)
    exact = ours(X, y, loss, C, 1e-9)
    best = float(exact.certificate_.dual)
    mine = {target: timed(lambda at=target: ours(X, y, loss, C, at))[0] for target in TARGETS}
    found: dict[float, list[tuple[float, str, float]]] = {target: [] for target in TARGETS}
    context = multiprocessing.get_context("fork")
    for rival, (losses, _) in RIVALS.items():
        if loss not in losses:
            continue
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=climb, args=(there, rival, X, y, loss, C, best))
        child.start()
        # CPU seconds, so that a busy machine is no reason to give up.
        limit, used = max(5.0, 40.0 * mine[TARGETS[-1]]), psutil.Process(child.pid)
        while child.is_alive() and spent(used) < limit:
            child.join(0.05)
            while here.poll():
                target, level, seconds = here.recv()
                found[target].append((seconds, rival, level))
        while here.poll():
            target, level, seconds = here.recv()
            found[target].append((seconds, rival, level))
        child.kill()
        child.join()
    rows = []
    for target in TARGETS:
        seconds, rival, level = min(found[target], default=(float("nan"), "none in time", 0.0))
        rows.append(
            {
                "data": name,
                "loss": loss,
                "multiple": f"{multiple:g}",
                "target": f"{target:g}",
                "widemargin": f"{mine[target]:.4g}",
                "rival": rival,
                "rival_seconds": f"{seconds:.4g}",
                "level": f"{level:.1e}",
                "ratio": f"{seconds / mine[target]:.3g}",
                "weights": str(np.count_nonzero(exact.coef_)),
            }
        )
    return rows


def paths(names: list[str]) -> None:
    """Print the CPU seconds of a path of 100 values of C, against celer's and LIBLINEAR's.

    Every point of a path has to be within 1e-4 of its optimum, which our certificates prove; the
    rivals get the loosest tolerance that does it, of decades. P* is the dual bound at 1e-7.
    """
    from celer import celer_path
    from liblinear.liblinear import problem

    warnings.simplefilter("ignore")
    for name in names:
        X, y = read(name)
        first = smallest_C(X, y, loss="logistic", fit_intercept=False)
        Cs = first * np.logspace(0.0, 3.0, 100)
        settings = {"loss": "logistic", "l1_ratio": 1.0, "fit_intercept": False}
        exact = path(X, y, Cs, tol=1e-7, **settings)
        best = [each[0].certificate.dual for each in exact.solutions]
        mine, _ = timed(lambda: path(X, y, Cs, tol=1e-4, **settings))  # noqa: B023
        columns, data = X.tocsc(), problem(y, X)
        celer_path(columns, y, "logreg", alphas=1.0 / (Cs[:2]), tol=1e-2)

        def by_celer(level: float) -> np.ndarray:
            return celer_path(columns, y, "logreg", alphas=1.0 / Cs, tol=level)[1].T  # noqa: B023

        def by_liblinear(level: float) -> np.ndarray:
            fit = _liblinear_fit(data, "logistic")  # noqa: B023
            return np.array([fit(None, C, level) for C in map(float, Cs)])  # noqa: B023

        print(f"{name}: 100 values of C {mine:.3f} s", flush=True)
        for rival, along in {"celer": by_celer, "LIBLINEAR, one by one": by_liblinear}.items():
            print(f"  {rival} {_along_path(along, (X, y, Cs, best), mine)}", flush=True)


def _along_path(along: Callable[[float], np.ndarray], task: Any, mine: float) -> str:
    """Climb a rival's ladder until all points of a path are near enough; say what it took."""
    X, y, Cs, best = task
    spent = 0.0
    for level in map(float, 10.0 ** -np.arange(1.0, 9.0)):
        began = time.process_time()
        weights = along(level)
        seconds = time.process_time() - began
        spent += seconds
        pairs = zip(weights, Cs, best, strict=True)
        worst = max((primal(X, y, w, C, "logistic") - least) / least for w, C, least in pairs)
        if worst <= 1e-4:
            seconds = min(seconds, timed(lambda at=level: along(at))[0]) if seconds < 1 else seconds
            return f"{seconds:.3f} s at {level:.0e} ({seconds / mine:.2f}x)"
        if spent > max(40.0 * mine, 30.0):
            break
    return f"gave up after {spent:.1f} s, {worst:.1e} above the optimum ({spent / mine:.1f}x)"


def measured() -> list[dict[str, str]]:
    """Return the cells on record."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def summary(rows: list[dict[str, str]]) -> str:
    """Return geometric mean, least and count of the ratios."""
    ratios = [float(row["ratio"]) for row in rows if row["ratio"] != "nan"]
    lost = len(rows) - len(ratios)
    mean = float(np.exp(np.mean(np.log(ratios)))) if ratios else float("nan")
    return (
        f"{len(ratios)} cells: geometric mean {mean:.2f}x the fastest rival, least "
        f"{min(ratios, default=float('nan')):.2f}x; {lost} more that no rival reached in time"
    )


def main() -> None:
    """Measure the cells that are not on record, within the seconds given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=",".join([*SETS, *TEXTS]))
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--path", action="store_true")
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    names, began = options.data.split(","), time.monotonic()
    if options.path:
        paths(names)
        return
    rows = measured()
    wanted = [
        (name, loss, multiple)
        for name in names
        for multiple in MULTIPLES
        for loss in ("logistic", "squared_hinge")
    ]
    for name, loss, multiple in [] if options.summary else wanted:
        key = (name, loss, f"{multiple:g}")
        known = any((row["data"], row["loss"], row["multiple"]) == key for row in rows)
        if (known and not options.again) or time.monotonic() - began > options.seconds:
            continue
        rows = [row for row in rows if (row["data"], row["loss"], row["multiple"]) != key]
        rows += cells(name, loss, multiple)
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(rows)
    for row in rows:
        print(" ".join(row[field] for field in FIELDS))
    print(summary(rows))


if __name__ == "__main__":
    main()
