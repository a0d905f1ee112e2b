"""LinearSVC(multi_class=...) as users meet it: checks, refusals, files, the command."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracle_multiclass import RULES, make_classes
from widemargin import LinearSVC, load_liblinear, load_model, save_liblinear, save_model
from widemargin.cli.main import main
from widemargin.model_io import model_of


@parametrize_with_checks([LinearSVC("hinge", multi_class=rule) for rule in RULES])
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(params=RULES)
def rule(request: pytest.FixtureRequest) -> str:
    return str(request.param)


REFUSED = {
    "name": ({"multi_class": "all"}, "multi_class must be one of 'ovr', 'weston_watkins', "),
    "loss": ({"loss": "squared_hinge"}, "needs loss='hinge'; got loss='squared_hinge'"),
    "solver": ({"solver": "newton"}, "solver 'newton' does not support multiclass problems; those"),
    "binary": ({"multi_class": "ovr", "solver": "shark"}, "does not support binary problems"),
    "shark": (
        {"multi_class": "crammer_singer", "solver": "shark"},
        "'block_dual_cd' and 'walrus' support 'crammer_singer'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    arguments, message = REFUSED[case]
    X, y = load_iris(return_X_y=True)
    arguments = {"loss": "hinge", "multi_class": "weston_watkins"} | arguments
    with pytest.raises(ValueError, match=message):
        LinearSVC(**arguments).fit(X, y)


def test_pickle_and_repeatable(rule: str) -> None:
    X, y = make_classes()
    one = LinearSVC("hinge", multi_class=rule).fit(X, y)
    two = LinearSVC("hinge", multi_class=rule).fit(X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.decision_function(X), one.decision_function(X))
    assert again.certificate_ == one.certificate_


def test_one_warning_when_tol_is_not_reached(rule: str) -> None:
    X, y = make_classes()
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations") as caught:
        model = LinearSVC("hinge", multi_class=rule, tol=1e-9, max_iter=2).fit(X, y)
    assert len(caught) == 1
    assert model.status_ == ["iteration_limit"]
    assert model.history_[0]["relative_gap"][-1] == pytest.approx(model.certificate_.relative_gap)


def test_callback_stops(rule: str) -> None:
    X, y = make_classes()
    seen = []

    def stop(title: str, record: Any) -> bool:
        seen.append((title, record))
        return True

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        LinearSVC(
            "hinge",
            multi_class=rule,
            solver="block_dual_cd",
            tol=1e-12,
            callback=stop,
            max_iter=10_000,
        ).fit(X, y)
    assert seen[0][0] == "all classes"


@pytest.mark.parametrize("k", [2, 4])
def test_model_files(rule: str, k: int, tmp_path: Path) -> None:
    X, y = make_classes(k=k)
    model = LinearSVC("hinge", multi_class=rule, fit_intercept="penalised").fit(X, y)
    save_model(model, tmp_path / "own.model")
    kept = load_model(tmp_path / "own.model")
    assert (kept.multi_class, kept.loss, kept.problems) == (rule, "hinge", 1)
    assert kept.certificates == model.certificates_
    np.testing.assert_array_equal(kept.predict(X), model.predict(X))
    back = kept.to_estimator()
    assert back.multi_class == rule
    back.set_params(warm_start=True).fit(X, y)
    assert back.certificate_.relative_gap <= 1e-4
    if rule == "weston_watkins" and k > 2:
        with pytest.raises(ValueError, match="no Weston-Watkins model"):
            save_liblinear(model, tmp_path / "text.model")
        return
    save_liblinear(model, tmp_path / "text.model")
    theirs = load_liblinear(tmp_path / "text.model")
    np.testing.assert_array_equal(theirs.predict(X), model.predict(X))
    if rule == "crammer_singer":
        assert theirs.multi_class == rule
        np.testing.assert_allclose(
            theirs.decision_function(X), model_of(model).decision_function(X)
        )


@pytest.mark.parametrize("intercept", ["exact", "penalised", "none"])
def test_command(rule: str, intercept: str, tmp_path: Path, capsys: Any) -> None:
    X, y = make_classes()
    data, model = str(tmp_path / "data.svm"), str(tmp_path / "a.model")
    dump_svmlight_file(X, y, data, zero_based=False)
    arguments = ["--loss", "hinge", "--multi-class", rule, "--intercept", intercept, "--json"]
    assert main(["train", data, model, *arguments]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["multi_class"] == rule
    assert len(report["problems"]) == 1
    assert main(["certify", model, data, "--json"]) == 0
    proof = json.loads(capsys.readouterr().out)
    assert proof["certified"]
    assert proof["problems"][0]["class"] == "all classes"
    assert proof["problems"][0]["primal"] == pytest.approx(report["primal"], rel=1e-9)
    assert main(["predict", data, model, "-o", str(tmp_path / "labels")]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--multi-class", "weston_watkins"], "--multi-class weston_watkins needs --loss hinge"),
        (
            ["--multi-class", "weston_watkins", "--loss", "hinge", "--format", "liblinear"],
            "no Weston-Watkins model",
        ),
        (
            ["--multi-class", "crammer_singer", "--loss", "hinge", "--solver", "shark"],
            "solver 'shark' supports multi_class='weston_watkins' only",
        ),
    ],
)
def test_command_refuses(arguments: list[str], message: str, tmp_path: Path, capsys: Any) -> None:
    X, y = make_classes()
    data = str(tmp_path / "data.svm")
    dump_svmlight_file(X, y, data, zero_based=False)
    assert main(["train", data, str(tmp_path / "a.model"), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_command_refuses_shark_before_it_reads(tmp_path: Path, capsys: Any) -> None:
    arguments = ["--multi-class", "crammer_singer", "--loss", "hinge", "--solver", "shark"]
    assert main(["train", str(tmp_path / "missing"), str(tmp_path / "a.model"), *arguments]) == 2
    assert "solver 'shark' supports" in capsys.readouterr().err


def test_command_with_one_job_and_two_classes_for_liblinear(tmp_path: Path) -> None:
    X, y = make_classes(k=2)
    data, model = str(tmp_path / "data.svm"), str(tmp_path / "a.model")
    dump_svmlight_file(X, y, data, zero_based=False)
    arguments = ["--multi-class", "weston_watkins", "--loss", "hinge", "--format", "liblinear"]
    assert main(["train", data, model, *arguments, "-j", "1", "--json"]) == 0
    assert load_liblinear(model).coef.shape[0] == 1
