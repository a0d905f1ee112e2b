"""Reports of a benchmark: the gap of every solver over time."""

from __future__ import annotations

import math

from widemargin.benchmark.compare import Comparison, Measurement
from widemargin.report.charts import Chart, Mark, Series
from widemargin.report.html import Markup, paragraph, table, tag, views
from widemargin.report.page import Section, Tile, Verdict, page
from widemargin.report.scales import Scale, number, seconds

_VIEWS = (
    ("gap over seconds", "seconds", "gap", "seconds", "relative gap (proven)"),
    ("gap over passes", "passes", "gap", "passes over the data", "relative gap (proven)"),
    ("distance over seconds", "seconds", "suboptimality", "seconds", "(P − P*) / P*"),
    ("accuracy over seconds", "seconds", "accuracy", "seconds", "test accuracy"),
)


def comparison_page(comparison: Comparison, title: str | None) -> str:
    """Return the page of a comparison."""
    problem = comparison.problem.replace("_", " ")
    sections = [_section(comparison, data, place) for place, data in enumerate(comparison.data)]
    failures = [(data, method, reason) for (data, method), reason in comparison.failures.items()]
    if failures:
        listed = table(("data", "method", "reason"), failures, words=3)
        sections.append(Section("failures", "Did not run", [listed], wide=True))
    methods = list(dict.fromkeys(m.method for m in comparison.measurements))
    tiles = [
        Tile("problem", problem, comparison.setting),
        Tile("solvers", str(len(methods))),
        Tile("data sets", str(len(comparison.data))),
        Tile("target gap", f"{comparison.until:g}"),
    ]
    lede = (
        "Every solver ran on the same problem, interleaved; the certificates along its way were "
        "computed "
        "afterwards, off the clock."
    )
    return page(
        title or f"Comparison of solvers: {problem}", lede, _verdict(comparison), tiles, sections
    )


def _verdict(comparison: Comparison) -> Verdict:
    reached = [
        (comparison.seconds_to(data, method), data, method)
        for data in comparison.data
        for method in comparison.methods(data)
    ]
    within = sorted(entry for entry in reached if math.isfinite(entry[0]))
    if not within:
        return Verdict(
            False, "No solver reached the target", "The curves show how far each one came."
        )
    firsts = {
        data: next(e for e in within if e[1] == data)
        for data in dict.fromkeys(e[1] for e in within)
    }
    said = "; ".join(
        f"{data}: {method} after {seconds(spent)}"
        for spent, data, method in list(firsts.values())[:4]
    )
    words = f"{len(within)} of {len(reached)} runs reached {comparison.until:g}"
    return Verdict(len(within) == len(reached), words, f"First to reach it: {said}.")


def _section(comparison: Comparison, data: str, place: int) -> Section:
    panes = []
    for name, across, up, x_title, y_title in _VIEWS:
        curves = {m: comparison.curve(data, m) for m in comparison.methods(data)}
        values = [getattr(p, up) for curve in curves.values() for p in curve]
        if any(math.isfinite(v) for v in values):
            panes.append((name, _chart(comparison, curves, (across, up, x_title, y_title))))
    times = {m: comparison.seconds_to(data, m) for m in comparison.methods(data)}
    best = min(times.values())
    rows = []
    for method in sorted(times, key=lambda m: times[m]):
        last = comparison.curve(data, method)[-1]
        spent = times[method]
        ratio = f"{spent / best:.3g}x" if math.isfinite(spent) and best > 0 else "–"
        rows.append(
            (
                method,
                number(spent) if math.isfinite(spent) else "not reached",
                ratio,
                number(last.seconds),
                number(last.passes),
                number(last.gap, 2),
                number(last.suboptimality, 2),
            )
        )
    head = (
        "solver",
        f"seconds to {comparison.until:g}",
        "relative",
        "seconds",
        "passes",
        "gap",
        "(P − P*)/P*",
    )
    content = [tag("div", views(panes), table(head, rows, sortable=True), class_="cols few")]
    return Section(f"data-{place}", data, content, wide=True)


def _chart(
    comparison: Comparison, curves: dict[str, list[Measurement]], axes: tuple[str, ...]
) -> Markup:
    across, up, x_title, y_title = axes
    log = up != "accuracy"
    drawn = {method: _drawable(curve, across, up, log) for method, curve in curves.items()}
    x = [getattr(p, across) for curve in drawn.values() for p in curve]
    y = [getattr(p, up) for curve in drawn.values() for p in curve]
    if log:
        y = [min(max(value, 0.05 * comparison.until), 10.0) for value in y] + [comparison.until]
    chart = Chart(
        Scale.over(x, log=True),
        Scale.over(y, log=log),
        x_title,
        y_title,
        f"{y_title} over {x_title} of every solver",
    )
    if log:
        chart.mark(Mark(comparison.until, "target", across=True))
    for place, (method, curve) in enumerate(drawn.items()):
        if curve:
            chart.line(_series(method, curve, place, across, up))
    if up != "gap":
        return chart.svg()
    note = paragraph("Other libraries have no dual bound: see distance.", class_="note")
    return tag("div", chart.svg(), note)


def _drawable(curve: list[Measurement], across: str, up: str, log: bool) -> list[Measurement]:
    """Return the points that have a place on the axes."""
    kept = []
    for point in curve:
        x, y = getattr(point, across), getattr(point, up)
        if math.isfinite(x) and math.isfinite(y) and x > 0 and (y > 0 or not log):
            kept.append(point)
    return kept


def _series(method: str, curve: list[Measurement], place: int, across: str, up: str) -> Series:
    y = [getattr(point, up) for point in curve]
    notes = [
        f"{method}: {number(value, 2)} after {seconds(point.seconds)}"
        for value, point in zip(y, curve, strict=True)
    ]
    x = [getattr(point, across) for point in curve]
    return Series(method, x, y, place % 8 + 1, dashed=place >= 8, notes=notes)
