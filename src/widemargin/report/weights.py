"""The weights that matter, by name, and what they do to a score."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.report.charts import bar_list
from widemargin.report.html import Markup, paragraph, tag, views
from widemargin.report.page import Section
from widemargin.report.scales import number, signed
from widemargin.report.subject import Subject

MOST_CLASSES = 40
_TOP = 20
"""Weights of two classes that are shown; of more classes ten each."""


def spread(X: Any) -> NDArray[np.float64]:
    """Return the standard deviation of each feature."""
    if sp.issparse(X):
        count = X.shape[0]
        csr = X.tocsr()
        values = csr.data.astype(np.float64)
        total = np.bincount(csr.indices, values, minlength=X.shape[1])
        squares = np.bincount(csr.indices, values * values, minlength=X.shape[1])
        return np.sqrt(np.maximum(squares / count - (total / count) ** 2, 0.0))
    return np.asarray(np.std(np.asarray(X, dtype=np.float64), axis=0))


def weights_section(subject: Subject) -> Section | None:
    """Return the section; None if the model has no weights of features."""
    coef = subject.coef
    if coef is None:
        return None
    deviation = spread(subject.train.X)
    classes = subject.classes
    if coef.shape[0] == 1:
        words = (
            f"Positive weights (blue) speak for {classes[1]}, negative ones (orange) for "
            f"{classes[0]}. "
        )
        shown: Markup = _bars(subject, coef[0] * deviation, coef[0], _TOP)
    else:
        words = "Positive weights (blue) speak for the class, negative ones (orange) against it. "
        shown = views(
            [
                (name, _bars(subject, coef[place] * deviation, coef[place], 12))
                for place, name in enumerate(classes[:MOST_CLASSES])
            ]
        )
    zero = int((coef == 0.0).all(axis=0).sum())
    note = (
        f"Bars: change of the score when a feature grows by one standard deviation. "
        f"{coef.shape[1] - zero:,} of {coef.shape[1]:,} features have a weight other than zero."
    )
    return Section("weights", "Weights that matter", [paragraph(words, note, class_="note"), shown])


def _bars(
    subject: Subject, effect: NDArray[np.float64], weight: NDArray[np.float64], most: int
) -> Markup:
    order = np.argsort(-np.abs(effect), kind="stable")[:most]
    order = order[np.abs(effect[order]) > 0.0]
    if order.size == 0:
        return paragraph("All weights are zero.")
    order = order[np.argsort(-effect[order], kind="stable")]
    rows = [(subject.names[j], float(effect[j]), signed(effect[j])) for j in order.tolist()]
    strongest = int(np.argmax(np.abs(effect)))
    sign = "raises" if weight[strongest] > 0 else "lowers"
    words = paragraph(
        "Strongest: ",
        tag("b", subject.names[strongest]),
        f" (weight {number(weight[strongest])}): one standard deviation more {sign} the score by "
        f"{number(abs(float(effect[strongest])))}.",
        class_="note",
    )
    return tag("div", bar_list(rows, signed=True), words)
