"""Reports of a search: score over C with folds, the certified band, what was chosen and why."""

from __future__ import annotations

from typing import Any

import numpy as np

from widemargin.report.charts import Chart, Mark, Series
from widemargin.report.html import Markup, paragraph, tag, views
from widemargin.report.page import Section
from widemargin.report.scales import Scale, number, percent, seconds
from widemargin.report.subject import Subject


def search_section(subject: Subject) -> Section | None:
    """Return the section about a search over C or over the radius; None if there was none."""
    estimator = subject.estimator
    if hasattr(estimator, "path_"):
        return _over_C(estimator)
    if hasattr(estimator, "radii_"):
        scores = np.asarray(estimator.scores_)
        picture = _scores("radius", np.asarray(estimator.radii_), scores, float(estimator.radius_))
        words = paragraph(
            f"Chosen: radius = {estimator.radius_:.4g}, mean score {estimator.best_score_:.4f} "
            "over "
            f"{scores.shape[1]} folds. The search ended because {estimator.stopped_}."
        )
        return Section("search", "Choice of the radius", [words, picture], wide=True)
    return None


def _over_C(estimator: Any) -> Section:
    path = estimator.path_
    scores = np.asarray(path["scores"])
    best = float(estimator.best_score_)
    words: list[Any] = [
        f"Chosen: C = {estimator.C:.6g}, mean score {best:.4f} over {scores.shape[1]} folds, out "
        "of "
        f"{len(path['C'])} values of C."
    ]
    panes = [("score", _scores("C", np.asarray(path["C"]), scores, estimator.C))]
    if hasattr(estimator, "band_"):
        words.append(_proof(estimator))
        panes.insert(0, ("error, with proof", _band(estimator, scores)))
    else:
        words.append(f" The search ended: {estimator.stopped_}.")
    panes.append(("cost", _cost(path)))
    content = [
        paragraph(*words),
        tag("div", views(panes), _table(estimator, path, scores), class_="cols"),
    ]
    return Section("search", "Choice of C", content, wide=True)


def _proof(estimator: Any) -> str:
    error = 1.0 - float(estimator.best_score_)
    bound = float(estimator.error_bound_)
    verdict = "It is proven that" if estimator.certified_ else "As far as was proven,"
    return (
        f" {verdict} no C between {number(estimator.Cs_[0])} and {number(estimator.Cs_[-1])} has a "
        f"cross-validation error below {percent(bound, 2)}; the chosen one has "
        f"{percent(error, 2)}. "
        f"{estimator.n_solved_} problems were solved for it."
    )


def _scores(name: str, x: Any, scores: Any, chosen: float) -> Markup:
    order = np.argsort(x)
    x, scores = x[order], scores[order]
    mean, deviation = scores.mean(axis=1), scores.std(axis=1)
    chart = Chart(
        Scale.over(x, log=bool((x > 0).all())),
        Scale.over(scores),
        name,
        "score of held-out folds",
        f"score of the folds over {name}",
    )
    chart.band(x, (mean - deviation).tolist(), (mean + deviation).tolist(), 1)
    chart.mark(Mark(chosen, f"chosen: {number(chosen)}"))
    for fold in range(scores.shape[1]):
        values = scores[:, fold].tolist()
        notes = [
            f"fold {fold + 1}: {v:.4f} at {name} = {number(a)}"
            for a, v in zip(x, values, strict=True)
        ]
        chart.line(
            Series(
                "folds" if fold == 0 else "",
                x.tolist(),
                values,
                6,
                dashed=True,
                dots=False,
                notes=notes,
            )
        )
    notes = [
        f"mean {m:.4f} ± {d:.4f} at {name} = {number(a)}"
        for a, m, d in zip(x, mean, deviation, strict=True)
    ]
    chart.line(Series("mean ± standard deviation", x.tolist(), mean.tolist(), 1, notes=notes))
    return chart.svg()


def _band(estimator: Any, scores: Any) -> Markup:
    """Draw the error of the values of C that were solved, and the bound below all others."""
    C, lower, _ = (np.asarray(part) for part in estimator.band_)
    errors = 1.0 - scores.mean(axis=1)
    chart = Chart(
        Scale.over(C, log=True),
        Scale.over([*errors, *lower, 0.0]),
        "C",
        "cross-validation error",
        "cross-validation error and its certified lower bound over C",
    )
    chart.band(
        C.tolist(), lower.tolist(), np.interp(np.log(C), np.log(estimator.Cs_), errors).tolist(), 2
    )
    chart.mark(Mark(float(estimator.C), f"chosen: {number(estimator.C)}"))
    chart.line(Series("certified lower bound", C.tolist(), lower.tolist(), 2, dots=False))
    notes = [
        f"error {percent(e, 2)} at C = {number(c)}"
        for c, e in zip(estimator.Cs_, errors, strict=True)
    ]
    chart.line(Series("error", np.asarray(estimator.Cs_).tolist(), errors.tolist(), 1, notes=notes))
    return chart.svg()


def _cost(path: Any) -> Markup:
    C, spent, passes = (np.asarray(path[name], dtype=float) for name in ("C", "seconds", "passes"))
    chart = Chart(
        Scale.over(C, log=True), Scale.over(spent, zero=True), "C", "seconds", "seconds per C"
    )
    notes = [
        f"C = {number(c)}: {seconds(s)}, {number(p)} passes"
        for c, s, p in zip(C, spent, passes, strict=True)
    ]
    chart.line(Series("", C.tolist(), spent.tolist(), 3, notes=notes))
    words = paragraph(
        f"All values of C together: {seconds(float(spent.sum()))}, {number(passes.sum())} passes "
        "over the data.",
        class_="note",
    )
    return tag("div", chart.svg(), words)


def _table(estimator: Any, path: Any, scores: Any) -> Markup:
    head = ("C", "mean score", "± std", "largest gap", "seconds")
    mean, deviation = scores.mean(axis=1), scores.std(axis=1)
    cells = []
    for place, C in enumerate(path["C"]):
        gap = estimator.certificates_[place].relative_gap
        chosen = float(C) == float(estimator.C)
        row = (
            f"{C:.4g}" + (" ← chosen" if chosen else ""),
            f"{mean[place]:.4f}",
            f"{deviation[place]:.4f}",
            number(gap, 2),
            f"{path['seconds'][place]:.3f}",
        )
        parts = [tag("td", cell, class_="w" if not i else "n") for i, cell in enumerate(row)]
        cells.append(tag("tr", parts, class_="chosen" if chosen else None))
    header = tag(
        "tr", [tag("th", cell, class_="w" if not i else "n") for i, cell in enumerate(head)]
    )
    return tag(
        "div",
        tag("table", tag("thead", header), tag("tbody", cells), class_="sort"),
        class_="scroll tall",
    )
