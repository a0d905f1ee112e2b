"""widemargin.report: one HTML page about a fit, a search, a robust model or a comparison."""

from __future__ import annotations

import os
import time
import webbrowser
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from widemargin.benchmark.compare import Comparison
from widemargin.data.replacing import replacing
from widemargin.report.certificate import certificate_section, time_section, verdict, whole
from widemargin.report.comparison import comparison_page
from widemargin.report.page import Section, Tile, page
from widemargin.report.quality import accuracy, quality_sections
from widemargin.report.robust import robust_section
from widemargin.report.rows import hardest_section, margins_section, support_section
from widemargin.report.scales import number, percent, seconds
from widemargin.report.search import search_section
from widemargin.report.subject import Subject
from widemargin.report.trace import Curve, curves
from widemargin.report.training import training_section
from widemargin.report.weights import weights_section


class Report:
    """A page, ready to be saved, opened, or shown in a notebook.

    Attributes
    ----------
    html : str
        The whole document; it needs no network and no other file.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import LinearSVC, report
    >>> X, y = load_iris(return_X_y=True)
    >>> page = report(LinearSVC().fit(X, y), X, y)
    >>> page
    <Report: ... kB of HTML; save(path) writes it, open() shows it>
    >>> page.html.startswith("<!doctype html>")
    True
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str] = "widemargin-report.html") -> Path:
        """Write the page to a file and return its path."""
        with replacing(path, text=True) as file:
            file.write(self.html)
        return Path(path)

    def open(self, path: str | os.PathLike[str] = "widemargin-report.html") -> Path:
        """Write the page to a file, show it in the browser and return its path."""
        written = self.save(path)
        webbrowser.open(written.resolve().as_uri())
        return written

    def __repr__(self) -> str:
        size = f"{len(self.html) / 1e3:.0f} kB of HTML"
        return f"<Report: {size}; save(path) writes it, open() shows it>"

    def _repr_html_(self) -> str:
        inside = escape(self.html, quote=True)
        return (
            f'<iframe srcdoc="{inside}" sandbox="allow-scripts" style="width:100%;height:720px;'
            'border:1px solid #8884;border-radius:8px"></iframe>'
        )


def report(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    sample_weight: Any = None,
    title: str | None = None,
    trace: bool | str = "auto",
) -> Report:
    """Make one self-contained HTML page about a fitted model or a comparison of solvers.

    The page shows what was trained on what, the certificate as a picture, the quality of the
    predictions, the weights that matter, margins, the hardest examples, support vectors and where
    the time went. A search adds its scores over C and the certified band, a robust model its worst
    case over the radius.

    Parameters
    ----------
    estimator : classifier, Pipeline, search, LinearModel or Comparison
        A fitted classifier of widemargin, a pipeline or a search of scikit-learn that ends in one,
        a model read from a file, or what `widemargin.benchmark.compare` returns.
    X, y : array-like
        The data it was trained on, as they were passed to its ``fit``. Not for a comparison.
    X_test, y_test : array-like, optional
        Held-out data. Without them the quality is shown on the training data, and the page says so.
    feature_names : sequence of str, optional
        By default those of the pipeline's steps or of the data frame.
    sample_weight : array-like of shape (n_samples,), optional
        The weights that it was trained with.
    title : str, optional
        Heading of the page.
    trace : bool or "auto", default="auto"
        Whether to train a copy and look at the certificate after every step, for a finer picture.
        "auto": if the fit recorded few checks and took less than half a second.

    Returns
    -------
    Report

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import widemargin
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    >>> model = make_pipeline(StandardScaler(), widemargin.LinearSVC(C=0.1)).fit(X, y)
    >>> page = widemargin.report(model, X, y, X_test, y_test)
    >>> page
    <Report: ... kB of HTML; save(path) writes it, open() shows it>
    >>> path = page.save("widemargin-report.html")  # doctest: +SKIP
    """
    if isinstance(estimator, Comparison):
        return Report(comparison_page(estimator, title))
    if trace not in (True, False, "auto"):
        raise ValueError(f"trace must be True, False or 'auto'; got {trace!r}")
    began = time.perf_counter()
    subject = Subject.of(estimator, X, y, X_test, y_test, feature_names, sample_weight)
    _ = subject.predicted, subject.judged_scores
    scored = time.perf_counter() - began
    found, again = curves(subject, trace)
    sections = _sections(subject, found, again, [("this report: transform and score", scored)])
    name = title or _title(subject)
    return Report(page(name, _lede(subject), verdict(subject), _tiles(subject, found), sections))


def _sections(
    subject: Subject, found: list[Curve], again: bool, measured: list[tuple[str, float]]
) -> list[Section]:
    candidates = [
        training_section(subject),
        search_section(subject),
        certificate_section(subject, found, again),
        robust_section(subject),
        *quality_sections(subject),
        weights_section(subject),
        margins_section(subject),
        hardest_section(subject),
        support_section(subject),
        time_section(subject, found, measured),
    ]
    return [section for section in candidates if section is not None]


def _title(subject: Subject) -> str:
    rows, features = subject.train.X.shape
    return f"{type(subject.estimator).__name__} on {rows:,} rows, {features:,} features"


def _lede(subject: Subject) -> str:
    names = subject.classes
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    held = "no held-out data" if subject.test is None else f"{subject.test.count:,} held-out rows"
    return f"{len(names)} classes: {shown}. {subject.train.count:,} training rows, {held}."


def _tiles(subject: Subject, found: list[Curve]) -> list[Tile]:
    estimator, certificate = subject.estimator, whole(subject)
    tiles = [Tile("accuracy", percent(accuracy(subject)), f"on {subject.judged_name}")]
    if certificate is not None:
        tiles.append(
            Tile("relative gap", number(certificate.relative_gap, 2), f"tol {estimator.tol:g}")
        )
    if hasattr(estimator, "C"):
        tiles.append(
            Tile("C", number(estimator.C, 4), "chosen" if hasattr(estimator, "C_") else "")
        )
    if hasattr(estimator, "radius_") or hasattr(estimator, "radius"):
        radius = getattr(estimator, "radius_", getattr(estimator, "radius", 0.0))
        tiles.append(Tile("radius", number(radius)))
    tiles += _time_tile(estimator)
    support = getattr(estimator, "support_", ())
    if len(support):
        share = percent(len(support) / subject.train.count)
        tiles.append(Tile("support vectors", f"{len(support):,}", f"{share} of the rows"))
    return tiles


def _time_tile(estimator: Any) -> list[Tile]:
    history = [h for h in getattr(estimator, "history_", []) if h and h["seconds"]]
    if not history:
        return []
    spent = sum(float(h["seconds"][-1]) for h in history)
    several = f"{len(history)} problems" if len(history) > 1 else ""
    return [Tile("training time", seconds(spent), several)]
