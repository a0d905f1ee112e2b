"""What single rows tell: margins, the hardest examples, support vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.report.charts import Chart, Mark, Series, bar_list
from widemargin.report.html import Markup, paragraph, table, tag
from widemargin.report.page import Section
from widemargin.report.scales import Scale, number, percent, signed
from widemargin.report.subject import Examples, Subject

MOST_DRAWN = 8
"""Classes of which margins are drawn apart."""
_BINS = 36
_HARDEST = 10


def margins_section(subject: Subject) -> Section:
    """Return the histogram of margins by class."""
    margins, codes = subject.margins, subject.judged.codes
    low, high = np.quantile(margins, [0.002, 0.998])
    low, high = min(low, -0.2), max(high, 1.2)
    edges = np.linspace(low, high, _BINS + 1)
    inside = np.clip(margins, low, high)
    k = len(subject.classes)
    groups = [(name, codes == place) for place, name in enumerate(subject.classes)]
    if k > MOST_DRAWN:
        groups = [("all classes", np.ones(codes.size, dtype=bool))]
    counts = [np.histogram(inside[rows], edges)[0] for _, rows in groups]
    shares = [c / max(1, c.sum()) for c in counts]
    top = max(float(s.max()) for s in shares)
    title = "margin y (w·x + b)" if k == 2 else "score of the own class − best other score"
    chart = Chart(
        Scale(low, high),
        Scale(0.0, 1.08 * top),
        title,
        "share of the class",
        "histogram of margins by class",
    )
    for place, ((name, _), share, count) in enumerate(zip(groups, shares, counts, strict=True)):
        notes = [
            f"{name}: {n:,} rows with a margin from {number(a)} to {number(b)}"
            for n, a, b in zip(count, edges[:-1], edges[1:], strict=True)
        ]
        middle = ((edges[:-1] + edges[1:]) / 2).tolist()
        if len(groups) <= 2:
            chart.bars(edges.tolist(), share.tolist(), place + 1, notes)
            chart.legend.append(tag("span", tag("i", class_=f"k{place + 1}"), name))
        else:
            chart.line(Series(name, middle, share.tolist(), place + 1, notes=notes, dots=False))
    chart.mark(Mark(0.0, "right side from here on"))
    if k == 2:
        chart.mark(Mark(1.0, "margin 1", level=1))
    wrong = float((margins <= 0).mean())
    close = float(((margins > 0) & (margins < 1)).mean())
    words = paragraph(
        f"{percent(wrong)} of the {subject.judged_name} lie on the wrong side, {percent(close)} "
        "on the right "
        "side but with a margin below 1.",
        class_="note",
    )
    return Section("margins", "Margins", [words, chart.svg()])


def hardest_section(subject: Subject) -> Section:
    """Return the rows with the lowest margins, and what made the model think so."""
    margins, judged = subject.margins, subject.judged
    order = np.argsort(margins, kind="stable")[:_HARDEST]
    names, documents = subject.classes, _documents(judged)
    rows = []
    for place in order.tolist():
        shown: list[Any] = [_reasons(subject, place)]
        if documents is not None:
            shown.append(tag("blockquote", _excerpt(documents[place])))
        rows.append(
            (
                _row_name(judged, place),
                names[judged.codes[place]],
                names[subject.predicted[place]],
                number(margins[place]),
                shown,
            )
        )
    head = ("row", "true", "predicted", "margin", "what decided (feature: share of the score)")
    words = paragraph(
        f"The {len(rows)} rows of the {subject.judged_name} with the lowest margins: wrong "
        "labels and "
        "missing features are found here first.",
        class_="note",
    )
    listed = table(head, rows, words=3, class_="hard")
    return Section("hardest", "Hardest examples", [words, listed], wide=True)


def _row_name(examples: Examples, place: int) -> str:
    index = getattr(examples.given, "index", None)
    return str(place if index is None or callable(index) else index[place])


def _documents(examples: Examples) -> Any:
    """Return the rows if they are texts."""
    given = examples.given
    if sp.issparse(given) or hasattr(given, "columns"):
        return None
    if getattr(given, "ndim", 1) != 1 or len(given) == 0:
        return None
    texts = given.tolist() if hasattr(given, "tolist") else list(given)
    return texts if isinstance(texts[0], str) else None


def _excerpt(text: str, most: int = 220) -> str:
    short = " ".join(text.split())
    return short if len(short) <= most else short[:most] + "…"


def _reasons(subject: Subject, place: int, most: int = 4) -> Markup | None:
    """Return the features that pulled a row towards the class that it was given."""
    coef = subject.coef
    if coef is None:
        return None
    given, own = int(subject.predicted[place]), int(subject.judged.codes[place])
    if coef.shape[0] == 1:
        direction = coef[0] if given == 1 else -coef[0]
    elif given == own:
        direction = coef[own]
    else:
        direction = coef[given] - coef[own]
    X = subject.judged.X
    if sp.issparse(X):
        row = X[[place]].tocsr()
        columns, values = row.indices, row.data
    else:
        row = X.iloc[place] if hasattr(X, "iloc") else X[place]
        values = np.asarray(row, dtype=np.float64)
        columns = np.arange(values.size)
    shares: NDArray[Any] = values * direction[columns]
    order = np.argsort(-np.abs(shares), kind="stable")[:most]
    chips = [
        tag(
            "span",
            f"{subject.names[int(columns[j])]}: {signed(shares[j], 2)}",
            class_=f"chip {'pos' if shares[j] > 0 else 'neg'}",
        )
        for j in order.tolist()
        if shares[j] != 0.0
    ]
    return tag("div", chips) if chips else None


def support_section(subject: Subject) -> Section | None:
    """Return how many rows carry the model; None if the model has no dual variables."""
    estimator = subject.estimator
    support = getattr(estimator, "support_", None)
    dual = getattr(estimator, "dual_coef_", None)
    if support is None or dual is None or 0 in dual.shape or len(support) == 0:
        return None
    codes, count = subject.train.codes, subject.train.count
    if int(np.max(support)) >= count:
        return None
    totals = np.bincount(codes, minlength=len(subject.classes))
    own = np.bincount(codes[support], minlength=len(subject.classes))
    rows = [
        (name, float(n / max(1, t)), f"{n:,} of {t:,} ({percent(n / max(1, t))})")
        for name, n, t in zip(subject.classes, own.tolist(), totals.tolist(), strict=True)
    ]
    words = paragraph(
        f"{len(support):,} of {count:,} training rows ({percent(len(support) / count)}) are "
        "support vectors. "
        "The model is the same without all other rows.",
        class_="note",
    )
    return Section("support", "Support vectors", [words, bar_list(rows[:30])])
