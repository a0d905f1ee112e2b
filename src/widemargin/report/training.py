"""What was trained on what: the estimator's arguments, the steps before it, the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.report.charts import bar_list
from widemargin.report.html import Markup, facts, tag
from widemargin.report.page import Section
from widemargin.report.scales import number, percent
from widemargin.report.subject import Examples, Subject

_QUIET = {"verbose", "callback", "n_jobs", "random_state", "dual", "penalty", "warm_start"}
"""Arguments that say nothing about the model."""


def training_section(subject: Subject) -> Section:
    """Return the section about estimator and data."""
    return Section(
        "training",
        "What was trained",
        [
            tag(
                "div",
                tag("div", tag("h3", "Model"), facts(_arguments(subject)), _steps(subject)),
                tag(
                    "div",
                    tag("h3", "Training data"),
                    facts(_data(subject.train)),
                    _classes(subject),
                ),
                class_="cols",
            )
        ],
        wide=True,
    )


def _arguments(subject: Subject) -> list[tuple[Any, Any]]:
    estimator = subject.estimator
    defaults = type(estimator)().get_params(deep=False)
    pairs: list[tuple[Any, Any]] = [("estimator", tag("code", type(estimator).__name__))]
    for name, value in estimator.get_params(deep=False).items():
        if name in _QUIET or value is None:
            continue
        changed = repr(value) != repr(defaults.get(name))
        shown = _short(value)
        pairs.append((name, tag("b", shown) if changed else shown))
    if hasattr(estimator, "C_"):
        pairs.append(("C chosen", tag("b", f"{estimator.C:.6g}")))
    if hasattr(estimator, "radius_"):
        pairs.append(("radius chosen", tag("b", f"{estimator.radius_:.6g}")))
    return pairs


def _short(value: Any, most: int = 80) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def _steps(subject: Subject) -> Markup | None:
    if not subject.steps:
        return None
    chips = [tag("span", type(step).__name__, class_="chip") for _, step in subject.steps]
    return tag(
        "p", "Pipeline: ", chips, tag("span", type(subject.estimator).__name__, class_="chip")
    )


def _data(examples: Examples) -> list[tuple[str, str]]:
    X = examples.X
    rows, features = X.shape
    pairs = [("rows", f"{rows:,}"), ("features", f"{features:,}")]
    if sp.issparse(X):
        pairs.append(
            ("stored values", f"{X.nnz:,} ({percent(X.nnz / max(1, rows * features), 2)})")
        )
        pairs.append(("layout", f"sparse ({X.format.upper()}), {X.dtype}"))
        size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if hasattr(X, "indptr") else 0
    else:
        array = np.asarray(X)
        pairs.append(("layout", f"dense, {array.dtype}"))
        size = array.nbytes
    pairs.append(("memory", f"{number(size / 1e6)} MB"))
    return pairs


def _classes(subject: Subject) -> Markup:
    counts = np.bincount(subject.train.codes, minlength=len(subject.classes))
    rows = [
        (name, float(count), f"{count:,} ({percent(count / counts.sum())})")
        for name, count in zip(subject.classes, counts.tolist(), strict=True)
    ]
    return tag("div", tag("h3", "Rows per class"), bar_list(rows[:30]))
