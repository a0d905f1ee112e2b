"""Reports: what they say is true, complete, small, and harmless whatever the data contain."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import LinearSVC as TheirSVC

import widemargin
from report_kinds import EVIL, KINDS, cancer, made
from widemargin.report.html import raw, tag, text
from widemargin.report.scales import Scale, number
from widemargin.report.subject import Subject
from widemargin.report.trace import recorded, traced

EVERY = ("training", "certificate", "quality", "confusion", "precision-recall", "calibration")
SECTIONS = {
    "fit": (*EVERY, "weights", "margins", "hardest", "support", "time"),
    "search": (*EVERY, "search", "weights", "margins", "hardest", "support", "time"),
    "robust": (*EVERY, "robust", "weights", "margins", "hardest", "support", "time"),
    "text": (*EVERY, "weights", "margins", "hardest", "support", "time"),
    "iris": (*EVERY, "weights", "margins", "hardest", "support", "time"),
    "comparison": ("data-0",),
}


class Reader(HTMLParser):
    """Collects elements, addresses, handlers and visible words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.open: list[str] = []
        self.ids: list[str] = []
        self.loaded: list[str] = []
        self.handlers: list[str] = []
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "action", "data", "poster"):
                self.loaded.append(value)
            if name.startswith("on"):
                self.handlers.append(name)

    def handle_startendtag(self, tag, attrs):
        self.elements.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words += data


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_whole_small_and_loads_nothing(kind: str) -> None:
    page = made(kind).html
    reader = Reader(page)
    assert reader.open == []
    assert set(SECTIONS[kind]) <= set(reader.ids)
    assert len(reader.ids) == len(set(reader.ids))
    assert all(address.startswith("#") for address in reader.loaded)
    assert {address[1:] for address in reader.loaded} <= set(reader.ids)
    assert len(page.encode()) < 1_000_000
    assert re.findall(r"https?://", page) == []
    assert "svg" in reader.elements
    assert not re.search(r"\bnan\b|\binf\b", reader.words.replace("label_cost", ""), re.I) or (
        kind == "robust"  # label_cost is inf
    )


@pytest.mark.parametrize("kind", ["text", "iris", "comparison"])
def test_what_users_give_never_becomes_an_element(kind: str) -> None:
    page = made(kind).html
    reader = Reader(page)
    assert reader.elements.count("script") == 1
    assert "img" not in reader.elements
    assert reader.handlers == []
    assert "<script>alert('x')</script>" in reader.words, "the words themselves are shown"
    assert "Content-Security-Policy" in page


def test_escaping_is_the_rule_and_markup_the_exception() -> None:
    assert tag("p", EVIL, title='"x"') == f'<p title="&quot;x&quot;">{text(EVIL)}</p>'
    assert "<" not in text(EVIL)
    assert tag("p", tag("b", "<")) == "<p><b>&lt;</b></p>"
    assert tag("p", [raw("<i></i>"), None, 3]) == "<p><i></i>3</p>"
    # Strings that were made from markup are strings again.
    assert tag("p", tag("b", "x") + "<") == "<p>&lt;b&gt;x&lt;/b&gt;&lt;</p>"
    assert text("a\x00b\ud800") == "a\ufffdb\ufffd"


def test_figures_are_those_of_the_model() -> None:
    X, X_test, y, y_test = cancer()
    model = make_pipeline(StandardScaler(), widemargin.LinearSVC(C=0.1)).fit(X, y)
    words = Reader(widemargin.report(model, X, y, X_test, y_test).html).words
    certificate = model[-1].certificate_
    assert f"The objective is {certificate.primal:.8g}." in words
    assert f"below {certificate.dual:.8g}" in words
    assert f"{100 * model.score(X_test, y_test):.1f} %" in words
    assert f"{len(model[-1].support_):,} of {len(y):,} training rows" in words
    strongest = np.argmax(np.abs(model[-1].coef_[0]))  # the features have unit variance
    assert f"Strongest: {X.columns[strongest]}" in words
    assert "143 held-out rows" in words
    margins = model.decision_function(X_test) * np.where(y_test == "malignant", 1, -1)
    assert number(margins.min()) in words
    assert str(X_test.index[np.argmin(margins)]) in words


def test_a_second_run_of_several_classes_keeps_their_order() -> None:
    """They are not trained in it: the class of medium size comes first."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(240, 6)), np.repeat([0, 1, 2], [150, 30, 60])
    model = widemargin.LinearSVC("hinge").fit(X, y)
    curves = traced(Subject.of(model, X, y, None, None, None, None))
    assert [curve.primal[-1] for curve in curves] == list(model.primal_)


def test_a_second_run_is_the_same_run() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = widemargin.LinearSVC("hinge", C=10.0, tol=1e-8).fit(scale(X), y)
    subject = Subject.of(model, scale(X), y, None, None, None, None)
    (first,), (second,) = recorded(subject), traced(subject)
    assert second.primal[-1] == first.primal[-1]
    assert second.dual[-1] == first.dual[-1]
    assert len(second.seconds) > len(first.seconds)
    ran = [part.split(" ")[0] for part in model.solver_.split(" -> ")]
    assert [after for _, after, _ in second.hand_overs] == ran[1:]
    assert np.all(np.diff(second.primal) <= 0)
    assert np.all(np.diff(second.dual) >= 0)
    assert np.all(np.diff(second.passes) >= 0)


def test_a_second_run_on_other_data_is_not_shown() -> None:
    X, y = load_iris(return_X_y=True)
    weight = np.linspace(0.1, 3.0, y.size)
    model = widemargin.LinearSVC().fit(X, y, weight)
    note = "second, identical run"
    assert note in widemargin.report(model, X, y, trace=True, sample_weight=weight).html
    assert note not in widemargin.report(model, X, y, trace=True).html


def test_a_fit_that_fell_short_says_so() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = widemargin.LinearSVC("hinge", C=100, tol=1e-10, max_iter=2, solver="dual_cd")
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        model.fit(scale(X), y)
    words = Reader(widemargin.report(model, scale(X), y).html).words
    assert "Tolerance not reached" in words
    assert "iteration limit" in words
    assert "Certified:" not in words


def test_other_shapes_of_data_and_models(tmp_path) -> None:
    X, y = load_iris(return_X_y=True)
    sparse = sp.csr_matrix(X.astype(np.float32))
    search = GridSearchCV(widemargin.LinearSVC(), {"C": [0.1, 1.0]}).fit(sparse, y)
    assert "sparse (CSR), float32" in widemargin.report(search, sparse, y).html
    kernel = widemargin.KernelSVC().fit(X, y)
    page = widemargin.report(kernel, X, y).html
    assert 'id="weights"' not in page
    assert 'id="support"' in page
    widemargin.save_model(widemargin.LinearSVC().fit(X, y), tmp_path / "iris.model")
    loaded = widemargin.load_model(tmp_path / "iris.model")
    page = widemargin.report(loaded, X, y).html
    assert "Certified:" in page
    assert 'id="support"' not in page


def test_a_report_is_saved_and_shown(tmp_path) -> None:
    page = made("fit")
    assert page.save(tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    assert "kB of HTML" in repr(page)
    inside = page._repr_html_()
    assert inside.startswith("<iframe srcdoc=")
    assert inside.count("<") == 2


def test_a_notebook_shows_the_certificate() -> None:
    X, y = load_iris(return_X_y=True)
    model = widemargin.LinearSVC()
    assert "of the optimum" not in model._repr_html_()
    model.fit(X, y)
    shown = model._repr_html_()
    assert "certified: within" in shown
    assert f"primal {model.certificate_.primal:.8g}" in shown
    assert "sk-top-container" in shown, "scikit-learn's diagram is there as well"
    model.solver_ = EVIL
    assert EVIL not in model._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda m, X, y: (m, None, None), "report needs X and y"),
        (lambda m, X, y: (m, X, y, X), "X_test and y_test together"),
        (lambda m, X, y: (m, X, y, X, y + 7), "y_test contains the class 7"),
        (lambda m, X, y: (m, X, y[:-1]), "inconsistent numbers"),
        (lambda m, X, y: (TheirSVC().fit(X, y), X, y), "fitted classifier of widemargin"),
        (lambda m, X, y: (widemargin.LinearSVC(), X, y), "not fitted"),
    ],
)
def test_bad_arguments_are_refused(arguments, message: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = widemargin.LinearSVC().fit(X, y)
    with pytest.raises((ValueError, TypeError), match=message):
        widemargin.report(*arguments(model, X, y))
    with pytest.raises(ValueError, match="2 names for 4 features"):
        widemargin.report(model, X, y, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="trace must be"):
        widemargin.report(model, X, y, trace="often")


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("values", [[1.0], [1e-9, 1.0], [3.0, 3.1], [1e5, 3e8], [0.02, 0.021]])
def test_ticks_are_few_round_and_inside(values: list[float], log: bool) -> None:
    scale_ = Scale.over(values, log=log)
    ticks = scale_.ticks()
    assert 2 <= len(ticks) <= 9
    assert all(scale_.low <= t <= scale_.high for t in ticks)
    assert len(set(scale_.labels())) == len(ticks)
    assert all(0.0 < scale_.place(v) < 1.0 for v in values)


def test_the_name_is_a_function_and_a_module() -> None:
    import importlib

    module = importlib.import_module("widemargin.report")
    X, y = load_iris(return_X_y=True)
    model = widemargin.LinearSVC().fit(X, y)
    assert type(module(model, X, y)) is type(widemargin.report(model, X, y)) is module.Report


def test_the_skore_check() -> None:
    skore = pytest.importorskip("skore")
    from widemargin.report.skore_check import certified_optimal

    X, X_test, y, y_test = cancer()
    codes = {}
    for name, limit in (("good", 1000), ("short", 1)):
        last = widemargin.LinearSVC("hinge", C=10, max_iter=limit, solver="dual_cd")
        with pytest.warns(ConvergenceWarning, match="limit") if limit == 1 else np.errstate():
            model = make_pipeline(StandardScaler(), last).fit(X, y)
        found = skore.EstimatorReport(model, X_test=X_test, y_test=y_test, pos_label="malignant")
        found.checks.add([certified_optimal()])
        frame = found.checks.summarize(fast_mode=True).frame()
        codes[name] = frame[frame.code == "WM001"].section.item()
    assert codes == {"good": "passed", "short": "issue"}


def test_models_without_scores_of_rows_are_refused() -> None:
    X, y = [np.eye(2), np.eye(2)], [["a", "b"], ["a", "b"]]
    with pytest.raises(TypeError, match=r"no model of sequences; got SequenceSVC"):
        widemargin.report(widemargin.SequenceSVC().fit(X, y), X, y)
    targets = [0.0, 1.0, 2.0]
    with pytest.raises(TypeError, match=r"no regression and .* got LinearSVR"):
        widemargin.report(widemargin.LinearSVR().fit(np.eye(3), targets), np.eye(3), targets)
