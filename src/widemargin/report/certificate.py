"""The certificate as a picture and in words: primal falling, dual rising, hand-overs marked."""

from __future__ import annotations

from typing import Any

import numpy as np

from widemargin.problems.certificate import Certificate, percentage
from widemargin.report.charts import Chart, Mark, Series, bar_list
from widemargin.report.html import Markup, paragraph, table, tag, views
from widemargin.report.page import Section, Verdict
from widemargin.report.scales import Scale, number, seconds
from widemargin.report.subject import Subject
from widemargin.report.trace import Curve, problem_names

MOST_PICTURES = 20
"""Problems that get a picture of their own; the table has all."""


def whole(subject: Subject) -> Certificate | None:
    """Return the certificate of the model; None if it has none."""
    estimator = subject.estimator
    bounds = zip(estimator.primal_, estimator.dual_, estimator.rounding_, strict=True)
    parts = [Certificate(float(p), float(d), float(r)) for p, d, r in bounds]
    total = Certificate.of_sum(parts)
    return total if np.isfinite(total.primal) and np.isfinite(total.dual) else None


def verdict(subject: Subject) -> Verdict:
    """Return what was proven, in one sentence."""
    certificate, estimator = whole(subject), subject.estimator
    if certificate is None:
        return Verdict(
            False,
            "No certificate",
            "The model comes from a file without dual values. widemargin certify computes them.",
        )
    words = f"within {percentage(min(certificate.relative_gap, 1.0))} % of the optimum"
    sentence = (
        f"The objective is {certificate.primal:.8g}. A dual point proves that no weights reach a "
        "value "
        f"below {certificate.dual:.8g}, rounding included: relative gap "
        f"{number(certificate.relative_gap, 2)}, "
        f"tol {estimator.tol:g}."
    )
    short = sorted(
        {status for status in estimator.status_ if status not in ("converged", "loaded")}
    )
    if short:
        why = ", ".join(status.replace("_", " ") for status in short)
        return Verdict(False, f"Tolerance not reached: {words}", f"{sentence} Stopped by: {why}.")
    return Verdict(True, f"Certified: {words}", sentence)


def certificate_section(subject: Subject, curves: list[Curve], again: bool) -> Section:
    """Return the section with the pictures and the table of problems."""
    content: list[Any] = [
        paragraph(
            "Training stops when two numbers meet: the objective of the model (primal), and a "
            "lower "
            "bound on every possible objective (dual). The optimum lies between them."
        )
    ]
    shown = sorted(curves, key=lambda c: -c.seconds[-1])[:MOST_PICTURES]
    if len(shown) == 1:
        content.append(_pictures(shown[0], subject.estimator.tol))
    elif shown:
        panes = [(curve.name, _pictures(curve, subject.estimator.tol)) for curve in shown]
        content.append(views(panes))
    content.append(_solvers(str(subject.estimator.solver_)))
    if again:
        content.append(
            paragraph(
                "The curves are those of a second, identical run whose certificate was computed "
                "after "
                "every step, off the clock.",
                class_="note",
            )
        )
    if len(subject.estimator.status_) > 1:
        content.append(_problems(subject, curves))
    return Section("certificate", "Certificate", content, wide=True)


def _solvers(explanation: str) -> Markup:
    """Return which methods ran and why; of many problems, folded."""
    parts = explanation.split("; ")
    if len(parts) == 1:
        return paragraph(tag("b", "Solver: "), explanation.replace("->", "→"))
    items = [tag("li", part.replace("->", "→")) for part in parts]
    return tag("details", tag("summary", "Which methods ran, and why"), tag("ul", items))


def _pictures(curve: Curve, tol: float) -> Markup:
    over = (("seconds", curve.seconds, "seconds"), ("passes", curve.passes, "passes over the data"))
    panes = [
        (name, tag("div", _bounds(curve, x, title), _gap(curve, x, title, tol), class_="cols"))
        for name, x, title in over
    ]
    return views([(f"over {name}", pane) for name, pane in panes])


def _notes(curve: Curve, values: list[float], what: str) -> list[str]:
    return [
        f"{what} {number(v, 7)} after {seconds(s)}, {number(p)} passes ({m})"
        for v, s, p, m in zip(values, curve.seconds, curve.passes, curve.method, strict=True)
    ]


def _bounds(curve: Curve, x: list[float], title: str) -> Markup:
    """Draw primal and dual values, from where they are near enough to be seen."""
    final = curve.primal[-1]
    inside = [v for v in [*curve.primal, *curve.dual] if abs(v - final) <= 2.0 * abs(final)]
    chart = Chart(
        Scale.over(x),
        Scale.over(inside or [final]),
        title,
        "objective",
        f"primal and dual value of {curve.name} over {title}",
    )
    chart.band(x, curve.dual, curve.primal, 1)
    _mark_hand_overs(chart, curve, x)
    chart.line(
        Series(
            "primal (the model)", x, curve.primal, 1, notes=_notes(curve, curve.primal, "primal")
        )
    )
    chart.line(
        Series("dual (lower bound)", x, curve.dual, 2, notes=_notes(curve, curve.dual, "dual"))
    )
    return chart.svg()


def _gap(curve: Curve, x: list[float], title: str, tol: float) -> Markup:
    gaps = [g if g > 0 else float("nan") for g in curve.gaps]
    chart = Chart(
        Scale.over(x),
        Scale.over([*gaps, tol], log=True),
        title,
        "relative gap",
        f"relative gap of {curve.name} over {title}",
    )
    chart.mark(Mark(tol, f"tol {tol:g}", across=True))
    _mark_hand_overs(chart, curve, x)
    chart.line(Series("", x, gaps, 3, notes=_notes(curve, gaps, "gap")))
    return chart.svg()


def _mark_hand_overs(chart: Chart, curve: Curve, x: list[float]) -> None:
    for level, (place, after, _) in enumerate(curve.hand_overs):
        # Half-way down: the curves start at the top.
        chart.mark(Mark(x[place - 1], f"→ {after}", level=6 + level % 4))


def _problems(subject: Subject, curves: list[Curve]) -> Markup:
    estimator, own = subject.estimator, {curve.name: curve for curve in curves}
    rows = []
    bounds = zip(estimator.primal_, estimator.dual_, estimator.status_, strict=True)
    for name, (primal, dual, status) in zip(problem_names(subject), bounds, strict=True):
        gap = (primal - dual) / primal if primal > 0 else float("nan")
        spent = own[name].seconds[-1] if name in own else float("nan")
        rows.append(
            (
                name,
                f"{primal:.7g}",
                f"{dual:.7g}",
                number(gap, 2),
                number(spent),
                status.replace("_", " "),
            )
        )
    head = ("problem", "primal", "dual", "gap", "seconds", "status")
    listed = table(head, rows, sortable=True)
    return (
        listed
        if len(rows) <= 12
        else tag("details", tag("summary", f"All {len(rows)} problems"), listed)
    )


def time_section(
    subject: Subject, curves: list[Curve], measured: list[tuple[str, float]]
) -> Section:
    """Return where the time went: search, each method of the fit, and what the report measured."""
    phases: dict[str, float] = {}
    estimator = subject.estimator
    if hasattr(estimator, "path_"):
        phases["search over C"] = float(np.sum(estimator.path_["seconds"]))
    for curve in curves:
        for method, spent in curve.phases:
            phases[f"fit: {method}"] = phases.get(f"fit: {method}", 0.0) + spent
    total = [(name, spent, seconds(spent)) for name, spent in [*phases.items(), *measured]]
    problems = "" if len(curves) == 1 else f", summed over {len(curves)} problems"
    return Section(
        "time",
        "Time by phase",
        [
            paragraph(
                f"Wall time{problems}; checks of the certificate are part of a fit.", class_="note"
            ),
            bar_list(total),
        ],
    )
