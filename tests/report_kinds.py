"""One report of every kind, small enough to be made in a second or two."""

from __future__ import annotations

import functools

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import widemargin
from widemargin.benchmark import compare
from widemargin.benchmark.tasks import Examples

EVIL = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>&amp;{{7*7}}"
"""What must never become an element: as a class, a feature, a document, a title."""

KINDS = ("fit", "search", "robust", "comparison", "text", "iris")


@functools.cache
def cancer():
    bunch = load_breast_cancer(as_frame=True)
    y = bunch.target_names[bunch.target]
    return train_test_split(bunch.data, y, random_state=0, stratify=y)


def documents():
    random = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(60)])
    texts, labels = [], []
    for place in range(120):
        topic = place % 2
        own = words[:30] if topic else words[30:]
        texts.append(" ".join(random.choice(own, 12)) + " " + random.choice(words) + " " + EVIL)
        labels.append(EVIL if topic else "plain")
    return texts, np.array(labels)


@functools.cache
def made(kind: str) -> widemargin.report.Report:
    """Return a report of a kind."""
    X, X_test, y, y_test = cancer()
    scaled = StandardScaler()
    if kind == "comparison":
        data = load_breast_cancer()
        examples = Examples(f"cancer {EVIL}", scale(data.data), data.target)
        methods = ["auto", "dual_cd", "newton", "scikit_learn"]
        return widemargin.report(compare("squared_hinge", [examples], methods, until=1e-5))
    if kind == "text":
        texts, labels = documents()
        model = make_pipeline(TfidfVectorizer(), widemargin.LogisticRegression(C=10.0))
        model.fit(texts[:90], labels[:90])
        return widemargin.report(model, texts[:90], labels[:90], texts[90:], labels[90:])
    if kind == "iris":
        X, y = load_iris(return_X_y=True)
        names = [f"{EVIL} {place}" for place in range(4)]
        model = widemargin.LinearSVC("hinge", C=0.1).fit(X, y)
        return widemargin.report(model, X, y, feature_names=names, title=EVIL)
    last = {
        "fit": widemargin.LinearSVC("hinge", C=10.0, tol=1e-6),
        "search": widemargin.LinearSVCCV(
            "hinge", fit_intercept="penalised", certify=0.01, Cs=[0.003, 0.03, 0.3]
        ),
        "robust": widemargin.RobustSVC(radius=0.1),
    }[kind]
    model = make_pipeline(scaled, last).fit(X, y)
    return widemargin.report(model, X, y, X_test, y_test)
