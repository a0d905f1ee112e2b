"""How good the predictions are: accuracy, confusion matrix, precision and recall, calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, log_loss, precision_recall_curve

from widemargin.report.charts import Chart, Series
from widemargin.report.html import Markup, paragraph, table, tag, views
from widemargin.report.page import Section
from widemargin.report.scales import Scale, number, percent
from widemargin.report.subject import Subject

MOST_CLASSES = 25
"""Classes of which curves and confusion matrices are drawn."""
_BINS = 10

Vector = NDArray[Any]


def accuracy(subject: Subject) -> float:
    """Return the share of right answers."""
    return float((subject.predicted == subject.judged.codes).mean())


def quality_sections(subject: Subject) -> list[Section]:
    """Return the sections about predictions."""
    name = subject.judged_name
    intro = paragraph(
        f"On {subject.judged.count:,} rows of {name}"
        + (
            "."
            if subject.test is not None
            else ", for want of held-out data: too optimistic for new rows."
        ),
        class_="note",
    )
    matrix = confusion(subject)
    return [
        Section("quality", f"Predictions on {name}", [intro, _per_class(matrix, subject)]),
        Section("confusion", "Confusion matrix", [_confusion(matrix, subject)]),
        Section("precision-recall", "Precision and recall", _precision_recall(subject)),
        Section("calibration", "Calibration", _calibration(subject)),
    ]


def confusion(subject: Subject) -> NDArray[np.int64]:
    """Return how many rows of each class (down) are given each class (across)."""
    k = len(subject.classes)
    pairs = subject.judged.codes * k + subject.predicted
    return np.bincount(pairs, minlength=k * k).reshape(k, k).astype(np.int64)


def _share(part: Vector, total: Vector) -> Vector:
    return np.divide(part, total, out=np.full(len(part), np.nan), where=np.asarray(total) > 0)


def _per_class(matrix: NDArray[np.int64], subject: Subject) -> Markup:
    right = np.diag(matrix).astype(float)
    recall, precision = _share(right, matrix.sum(axis=1)), _share(right, matrix.sum(axis=0))
    f1 = _share(2 * right, matrix.sum(axis=1) + matrix.sum(axis=0))
    rows = [
        (name, *(percent(v) if np.isfinite(v) else "–" for v in (p, r, f)), f"{n:,}")
        for name, p, r, f, n in zip(
            subject.classes, precision, recall, f1, matrix.sum(axis=1), strict=True
        )
    ]
    whole = [
        ("accuracy", percent(float(right.sum() / matrix.sum()), 2)),
        ("balanced accuracy", percent(float(np.nanmean(recall)), 2)),
        ("macro F1", percent(float(np.nanmean(f1)), 2)),
    ]
    chips = [tag("span", tag("b", value), f" {name}", class_="chip") for name, value in whole]
    head = ("class", "precision", "recall", "F1", "rows")
    return tag("div", tag("p", chips), table(head, rows, sortable=True))


def _confusion(matrix: NDArray[np.int64], subject: Subject) -> Markup:
    names, k = subject.classes, len(subject.classes)
    if k > MOST_CLASSES:
        return _largest_confusions(matrix, names)
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    head = tag("tr", tag("th", "true ↓ given →"), [tag("th", name, class_="n") for name in names])
    rows = []
    for place, name in enumerate(names):
        cells = [
            _cell(int(matrix[place, j]), float(shares[place, j]), name, names[j]) for j in range(k)
        ]
        rows.append(tag("tr", tag("th", name, class_="r", scope="row"), cells))
    grid = tag("table", tag("thead", head), tag("tbody", rows), class_="confusion")
    parts: list[Any] = [tag("div", grid, class_="scroll")]
    if k > 3:
        parts.append(_largest_confusions(matrix, names))
    return tag("div", parts)


def _cell(count: int, share: float, true: str, given: str) -> Markup:
    colour = f"background:rgba(var(--heat),{0.07 + 0.55 * share:.2f})" if count else "opacity:.45"
    note = f"{count:,} rows of class {true} predicted as {given} ({percent(share)} of the class)"
    return tag("td", f"{count:,}", class_="c", style=colour, data_t=note)


def _largest_confusions(matrix: NDArray[np.int64], names: list[str], most: int = 8) -> Markup:
    wrong = matrix - np.diag(np.diag(matrix))
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    places = [divmod(int(place), len(names)) for place in order]
    rows = [(names[a], names[b], f"{wrong[a, b]:,}") for a, b in places if wrong[a, b] > 0]
    if not rows:
        return paragraph("No row is given a wrong class.")
    return tag(
        "div",
        tag("h3", "Most frequent confusions"),
        table(("true", "predicted", "rows"), rows, words=2),
    )


def _curves_of(subject: Subject) -> list[int]:
    """Return the classes to draw curves of: the positive one of two, else all up to a limit."""
    k = len(subject.classes)
    return [1] if k == 2 else list(range(min(k, MOST_CLASSES)))


def _precision_recall(subject: Subject) -> list[Any]:
    panes = []
    for place in _curves_of(subject):
        truth = subject.judged.codes == place
        if not truth.any() or truth.all():
            continue
        scores = subject.judged_scores[:, place]
        precision, recall, thresholds = precision_recall_curve(truth, scores)
        average = float(average_precision_score(truth, scores))
        chart = Chart(
            Scale(0.0, 1.0),
            Scale(0.0, 1.0),
            "recall",
            "precision",
            f"precision over recall of {subject.classes[place]}",
        )
        notes = [
            f"precision {percent(p)}, recall {percent(r)} at scores above {number(t)}"
            for p, r, t in zip(precision, recall, [*thresholds, np.inf], strict=True)
        ]
        chart.line(Series("", recall.tolist(), precision.tolist(), 1, notes=notes, dots=False))
        name = subject.classes[place]
        words = paragraph(
            f"Class {name}: average precision {average:.3f}; a model that guesses has "
            f"{truth.mean():.3f}.",
            class_="note",
        )
        panes.append((name, tag("div", words, chart.svg())))
    return [views(panes)] if panes else [paragraph("The data have only one class.")]


def _calibration(subject: Subject) -> list[Any]:
    """Compare predicted probabilities with frequencies; without probabilities, scores with them."""
    if not hasattr(subject.estimator, "predict_proba"):
        return _score_calibration(subject)
    probabilities = np.asarray(subject.estimator.predict_proba(subject.judged.X), dtype=np.float64)
    codes, k = subject.judged.codes, len(subject.classes)
    loss = float(log_loss(codes, probabilities, labels=np.arange(k)))
    truth = np.eye(k)[codes]
    brier = float(((probabilities - truth) ** 2).sum(axis=1).mean()) / (2.0 if k == 2 else 1.0)
    panes = []
    for place in _curves_of(subject):
        x, y, count = _reliability(
            probabilities[:, place], codes == place, np.linspace(0, 1, _BINS + 1)
        )
        chart = Chart(
            Scale(0.0, 1.0),
            Scale(0.0, 1.0),
            "predicted probability",
            "observed frequency",
            f"observed frequency over predicted probability of {subject.classes[place]}",
        )
        chart.line(Series("perfect", [0.0, 1.0], [0.0, 1.0], 6, dashed=True, dots=False))
        notes = [
            f"predicted {percent(a)}, observed {percent(b)} of {n:,} rows"
            for a, b, n in zip(x, y, count, strict=True)
        ]
        chart.line(Series("model", x, y, 1, notes=notes))
        panes.append((subject.classes[place], chart.svg()))
    words = paragraph(
        f"Log loss {loss:.4f}, Brier score {brier:.4f}. Points on the dashed line are calibrated.",
        class_="note",
    )
    return [words, views(panes)]


def _score_calibration(subject: Subject) -> list[Any]:
    panes = []
    for place in _curves_of(subject):
        scores, truth = subject.judged_scores[:, place], subject.judged.codes == place
        edges = np.unique(np.quantile(scores, np.linspace(0, 1, _BINS + 1)))
        if edges.size < 3:
            continue
        x, y, count = _reliability(scores, truth, edges)
        chart = Chart(
            Scale.over(x),
            Scale(0.0, 1.0),
            "score (mean of a tenth of the rows)",
            "observed frequency",
            f"observed frequency over score of {subject.classes[place]}",
        )
        notes = [
            f"score {number(a)}: {percent(b)} of {n:,} rows are {subject.classes[place]}"
            for a, b, n in zip(x, y, count, strict=True)
        ]
        chart.line(Series("", x, y, 1, notes=notes))
        panes.append((subject.classes[place], chart.svg()))
    words = paragraph(
        "Scores of this model are distances, not probabilities: the curve shows how often rows "
        "of a score "
        "belong to the class. For probabilities use LogisticRegression, or wrap the model in "
        "CalibratedClassifierCV.",
        class_="note",
    )
    return [words, views(panes)] if panes else [words]


def _reliability(
    values: Vector, truth: Vector, edges: Vector
) -> tuple[list[float], list[float], list[int]]:
    """Return the mean value, the share of true ones and the number of rows of each bin."""
    bins = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    count = np.bincount(bins, minlength=len(edges) - 1)
    filled = np.flatnonzero(count)
    mean = np.bincount(bins, values, minlength=len(edges) - 1)[filled] / count[filled]
    share = np.bincount(bins, truth.astype(float), minlength=len(edges) - 1)[filled] / count[filled]
    return mean.tolist(), share.tolist(), count[filled].tolist()
