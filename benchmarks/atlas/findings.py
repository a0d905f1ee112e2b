"""The cells in which `auto` was found to lose, one by one, as snapshots that can be compared.

The data have the shapes of the reported cells and are generated anew, except for the documents of
the 20 newsgroups. Every fit has a free intercept and tol 1e-4; scikit-learn has its defaults,
whose answers may be far from the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..multiclass_data import newsgroups
from ..peers.base import HINGE, LOGISTIC, SQUARED_HINGE
from .children import Child, DiedError, OutOfTimeError, timed
from .data import generate
from .design import BINARY, ONE_VS_REST, WESTON_WATKINS, Cell
from .regret import CAP_SECONDS, measure
from .store import RESULTS, Row, read_rows, write_rows

SEED = 16
TABLE = RESULTS / "atlas_findings.csv"
REPORT = RESULTS / "atlas_findings.md"


@dataclass(frozen=True)
class Finding:
    """One row of the table: a problem, and where its data come from."""

    data: str
    cell: Cell
    load: Callable[[Cell], tuple[Any, np.ndarray]] = generate
    search: bool = False
    """Whether C is searched for, by the defaults of LinearSVCCV."""

    @property
    def problem(self) -> str:
        """Rule, loss and C."""
        if self.search:
            return f"LinearSVCCV, {self.cell.loss}, {self.cell.classes} classes"
        rule = "" if self.cell.kind == BINARY else f"{self.cell.kind} {self.cell.classes}, "
        return f"{rule}{self.cell.loss} C={self.cell.C:g}"


def problem(
    rows: int,
    features: int,
    loss: str,
    C: float,
    density: float = 1.0,
    kind: str = BINARY,
    classes: int = 2,
) -> Cell:
    """Give a plain problem of this shape: dense normal, or sparse positive and less balanced."""
    dense = density == 1.0
    return Cell(
        seed=SEED,
        index=rows,
        kind=kind,
        classes=classes,
        loss=loss,
        rows=rows,
        features=features,
        density=density,
        dense=dense,
        C=C,
        intercept=True,
        tol=1e-4,
        noise=0.2,
        balance=1.0 if dense else 0.3,
        correlation=0.0,
        scaling=0.0,
        shift=0.0,
        duplicates=0.0,
        tail=0.0,
        values="normal" if dense else "uniform",
        popularity=0.0,
        unit_rows=False,
    )


@lru_cache(maxsize=1)
def documents() -> tuple[Any, np.ndarray]:
    """Give the training texts of the 20 newsgroups in a random order."""
    X, y = newsgroups()
    order = np.random.default_rng(SEED).permutation(X.shape[0])
    return X[order], y[order]


def two_groups(cell: Cell) -> tuple[Any, np.ndarray]:
    """Take the first rows, half of the groups against the other half."""
    X, y = documents()
    return X[: cell.rows], (y[: cell.rows] < 10).astype(np.int64)


def five_groups(cell: Cell) -> tuple[Any, np.ndarray]:
    """Take the first rows of five groups."""
    X, y = documents()
    chosen = np.flatnonzero(y < 5)[: cell.rows]
    return X[chosen], y[chosen]


def generated(*shape: Any, **more: Any) -> Finding:
    """Make a row of generated data."""
    cell = problem(*shape, **more)
    return Finding(cell.shape, cell)


def listed() -> list[Finding]:
    """List the cells of the table."""
    sparse = partial(generated, density=0.03)
    ovr = partial(generated, 1800, 4000, HINGE, 100.0, density=0.02)
    text = partial(problem, features=100_000, loss=HINGE, density=1e-3)
    five = text(1886, C=100.0, kind=ONE_VS_REST, classes=5)
    return [
        sparse(1900, 3000, HINGE, 0.01),
        sparse(1900, 3000, HINGE, 100.0),
        generated(1500, 1500, SQUARED_HINGE, 100.0),
        generated(1500, 1500, LOGISTIC, 100.0),
        generated(1500, 1500, HINGE, 100.0),
        generated(1500, 5000, SQUARED_HINGE, 1.0),
        generated(1500, 5000, LOGISTIC, 100.0),
        generated(5000, 1000, SQUARED_HINGE, 0.01, density=0.05),
        generated(5000, 1000, LOGISTIC, 1.0, density=0.05),
        generated(3000, 1800, SQUARED_HINGE, 1.0),
        Finding("20 newsgroups, 1999 rows", text(1999, C=10.0), two_groups),
        Finding("20 newsgroups, 2001 rows", text(2001, C=10.0), two_groups),
        Finding("20 newsgroups, 1886 rows", five, five_groups),
        ovr(kind=ONE_VS_REST, classes=8),
        ovr(kind=ONE_VS_REST, classes=30),
        ovr(kind=WESTON_WATKINS, classes=30),
        generated(6000, 60, HINGE, 1.0, kind=WESTON_WATKINS, classes=20),
        generated(150, 10, HINGE, 0.01, kind=WESTON_WATKINS, classes=3),
        Finding("20 newsgroups, 1684 rows", replace(five, rows=1684), five_groups, search=True),
        generated(3089, 4, SQUARED_HINGE, 1.0),
    ]


def defaults(cell: Cell) -> Any:
    """Make scikit-learn's estimator of a cell, with its defaults."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    if cell.loss == LOGISTIC:
        return LogisticRegression(C=cell.C)
    return LinearSVC(loss=cell.loss, C=cell.C, random_state=0)


def grid(cell: Cell) -> Any:
    """Make scikit-learn's search over ten values of C and five folds."""
    from sklearn.model_selection import GridSearchCV

    return GridSearchCV(defaults(cell), {"C": np.logspace(-4, 4, 10)})


def best_of_three(make: Callable[[], Any], X: Any, y: np.ndarray, core: int | None) -> float:
    """Time an estimator, the best of three fits where one is short."""

    def work() -> Iterator[float]:
        for _ in range(3):
            yield timed(lambda: make().fit(X, y))[0]

    seconds: list[float] = []
    try:
        with Child(work, core) as child:
            while (found := child.get(CAP_SECONDS)) is not None:
                seconds.append(found)
                if found > 1.0:
                    break
    except (OutOfTimeError, DiedError):
        pass
    return min(seconds, default=math.nan)


def measured(finding: Finding, core: int | None) -> Row:
    """Measure one row of the table."""
    cell = finding.cell
    X, y = finding.load(cell)
    if finding.search:
        from widemargin import LinearSVCCV

        row: Row = {"auto": best_of_three(partial(LinearSVCCV, cell.loss), X, y, core)}
        row["auto_status"] = "over" if math.isnan(row["auto"]) else "converged"
        return row | {"scikit_learn": best_of_three(partial(grid, cell), X, y, core)}
    row = measure(cell, X, y, core=core, far=math.inf)
    joint = cell.kind == WESTON_WATKINS
    theirs = math.nan if joint else best_of_three(partial(defaults, cell), X, y, core)
    return row | {"scikit_learn": theirs}


def take(label: str, core: int | None, chosen: str, again: bool) -> Iterator[Row]:
    """Measure the cells and keep them under a label; those it holds are measured when asked."""
    known = {(row["label"], row["data"], row["problem"]) for row in read_rows(TABLE)}
    for finding in listed():
        key = (label, finding.data, finding.problem)
        if chosen not in f"{finding.data} {finding.problem}" or (key in known and not again):
            continue
        row = {"label": label, "data": finding.data, "problem": finding.problem}
        row |= measured(finding, core)
        kept = [r for r in read_rows(TABLE) if (r["label"], r["data"], r["problem"]) != key]
        write_rows(TABLE, [*kept, row])
        yield row


def seconds(value: Any) -> str:
    """Show seconds to three digits."""
    return "" if value is None or math.isnan(value) else f"{value:.3g}"


def report() -> str:
    """Give the table of all labels side by side, and write it."""
    rows = read_rows(TABLE)
    labels = list(dict.fromkeys(row["label"] for row in rows))
    head = ["data", "problem"]
    for label in labels:
        head += [f"auto {label}", f"best named {label}", f"regret {label}"]
    head += ["scikit-learn"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for finding in listed():
        data, what = finding.data, finding.problem
        found = {r["label"]: r for r in rows if (r["data"], r["problem"]) == (data, what)}
        line, theirs = [data, what], None
        for label in labels:
            row = found.get(label, {})
            more = "" if row.get("auto_status") == "converged" else "> "
            theirs = row.get("scikit_learn", theirs)
            line += [
                more + seconds(row.get("auto")) if row else "",
                f"{seconds(row.get('best_seconds'))} {row.get('best', '')}".strip(),
                more + seconds(row.get("regret")) if row else "",
            ]
        lines.append("| " + " | ".join([*line, seconds(theirs)]) + " |")
    note = (
        "CPU seconds, 1 thread, free intercept, tol 1e-4: `python -m benchmarks.atlas --findings`"
    )
    text = "\n".join(["# The cells of the findings", "", note, "", *lines, ""])
    REPORT.write_text(text)
    return text
