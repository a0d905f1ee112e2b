"""Reports of a robust model: its loss and error in the worst case, over the radius."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from widemargin.estimators.worst_case import worst_case
from widemargin.report.charts import Chart, Mark, Series
from widemargin.report.html import Markup, paragraph, table, tag, views
from widemargin.report.page import Section
from widemargin.report.scales import Scale, number, percent
from widemargin.report.subject import Subject

_RADII = 17
_MOST_CLASSES = 12


def robust_section(subject: Subject) -> Section | None:
    """Return the worst case over the radius; None if the model was not trained for one."""
    estimator = subject.estimator
    radius = getattr(estimator, "radius_", getattr(estimator, "radius", None))
    if radius is None or subject.coef is None:
        return None
    cost, norm = float(estimator.label_cost), float(estimator.norm)
    radii = np.linspace(0.0, 3.0 * float(radius) if radius > 0 else 0.3, _RADII)
    coef, classes = subject.coef, subject.classes
    places = [1] if coef.shape[0] == 1 else list(range(min(len(classes), _MOST_CLASSES)))
    panes = []
    for place in places:
        row = 0 if coef.shape[0] == 1 else place
        model = SimpleNamespace(
            coef_=coef[[row]],
            intercept_=np.atleast_1d(estimator.intercept_)[[row]],
            classes_=np.array([False, True]),
        )
        truth = subject.judged.codes == place
        cases = [
            worst_case(model, subject.judged.X, truth, float(r), label_cost=cost, norm=norm)
            for r in radii
        ]
        panes.append((classes[place], _pictures(radii, cases, float(radius), norm)))
    labels = "labels are trusted" if np.isinf(cost) else f"flipping a label costs {cost:g}"
    words = paragraph(
        f"How bad it can get on the {subject.judged_name} if the distribution may move by a "
        "radius: features "
        f"shift against the model, {labels}. The model was trained for a radius of "
        f"{number(radius)}."
    )
    return Section("robust", "Worst case", [words, views(panes)], wide=True)


def _pictures(radii: Any, cases: list[Any], trained: float, norm: float) -> Markup:
    x = radii.tolist()
    loss = Chart(
        Scale(0.0, float(radii[-1])),
        Scale.over([c.loss for c in cases], zero=True),
        "radius",
        "expected hinge loss",
        "largest expected hinge loss over the radius",
    )
    loss.mark(Mark(trained, "trained for"))
    notes = [
        f"hinge loss {number(c.loss)} at radius {number(r)}" for r, c in zip(x, cases, strict=True)
    ]
    loss.line(Series("", x, [c.loss for c in cases], 1, notes=notes))
    error = Chart(
        Scale(0.0, float(radii[-1])),
        Scale(0.0, 1.0),
        "radius",
        "error rate",
        "largest error rate over the radius",
    )
    error.mark(Mark(trained, "trained for"))
    notes = [
        f"{percent(c.error)} errors at radius {number(r)}" for r, c in zip(x, cases, strict=True)
    ]
    error.line(Series("", x, [c.error for c in cases], 2, notes=notes))
    chosen = [0, *(p for p in range(1, len(x)) if p % 4 == 0)]
    rows = [(number(x[p]), number(cases[p].loss), percent(cases[p].error)) for p in chosen]
    listed = table(("radius", "worst hinge loss", "worst error rate"), rows, words=0)
    return tag("div", tag("div", loss.svg(), error.svg(), class_="cols"), listed)
