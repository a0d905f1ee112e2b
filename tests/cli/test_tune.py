"""widemargin tune: from a data file to a table, a plot and a model."""

import json

import numpy as np
import pytest

from widemargin import load_model


def test_table_and_model(run, folder):
    code, out, _ = run("tune", "cancer.svm", "tuned.model", "--Cs", "0.001,0.1,10")
    assert code == 0
    assert "accuracy" in out
    assert "█" in out
    model = load_model(folder / "tuned.model")
    assert model.C in (0.001, 0.1, 10.0)
    assert f"C = {model.C:g}" in out


def test_automatic_search_of_several_classes(run_json, folder):
    code, found = run_json("tune", "iris.svm", "--loss", "logistic", "--folds", 3)
    assert code == 0
    assert np.shape(found["scores"]) == (len(found["Cs"]), 3)
    assert found["best_score"] == max(np.mean(found["scores"], axis=1))
    assert found["relative_gap"] <= 1e-4
    assert (folder / "iris.svm.model").exists()


def test_all_classes_at_once(run_json, folder):
    code, found = run_json(
        "tune", "iris.svm", "--loss", "hinge", "--multi-class", "weston_watkins", "--Cs", "0.1,1"
    )
    assert code == 0
    assert found["multi_class"] == "weston_watkins"
    assert np.shape(found["scores"]) == (2, 5)
    assert load_model(folder / "iris.svm.model").multi_class == "weston_watkins"


def test_certified(run_json):
    code, found = run_json(
        "tune", "cancer.svm", "--Cs", "0.1,1", "--certify", 0.05, "--intercept", "penalised"
    )
    assert code == 0
    assert found["certified"]
    assert found["error_bound"] >= 1.0 - found["best_score"] - 0.05 - 1e-9


def test_a_score_that_the_classes_do_not_allow(run):
    code, _, err = run("tune", "iris.svm", "--Cs", 1, "--scoring", "roc_auc")
    assert code == 2
    assert "scoring='roc_auc' does not go with these labels" in err


def test_a_search_that_is_cut_short_says_so(run, folder):
    code, out, err = run("tune", "iris.svm", "cut.model", "--time-limit", "1e-6")
    assert code == 1
    assert "the time limit was reached" in out
    assert "not all values of C were tried" in err
    assert (folder / "cut.model").exists()


def test_figures_are_refused_before_any_work(run, folder, monkeypatch):
    monkeypatch.setattr("widemargin.cli.tune.find_spec", lambda name: None)
    code, _, err = run("tune", "iris.svm", "plot.model", "--png", "plot.png")
    assert code == 2
    assert "figures need matplotlib" in err
    assert not (folder / "plot.model").exists()


def test_bars_start_at_the_left(run):
    _, out, _ = run("tune", "cancer.svm", "--Cs", "0.0001,0.1")
    bars = [line.split("│")[-2] for line in out.splitlines() if "█" in line]
    assert len(bars) == 2
    assert all(bar.startswith(" █") for bar in bars)


def test_figures(run, folder):
    pytest.importorskip("matplotlib")
    code, out, _ = run(
        "tune", "iris.csv", "--Cs", "0.1,1", "--png", "plot.png", "--html", "page.html", "--quiet"
    )
    assert code == 0
    assert out == ""
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "page.html").read_text()
    assert "data:image/png;base64," in page
    assert "Choice of C for iris.csv" in page


def test_scoring_and_liblinear_format(run, folder):
    code, out, _ = run(
        "tune", "cancer.svm", "m", "--Cs", "0.1,1", "--scoring", "roc_auc", "--format", "liblinear"
    )
    assert code == 0
    assert "roc_auc" in out
    assert (folder / "m").read_text().startswith("solver_type")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--certify", "0.01"], "--certify needs --intercept penalised or none"),
        (
            ["--certify", "0.01", "--loss", "hinge", "--multi-class", "weston_watkins"],
            "--certify needs --multi-class ovr",
        ),
        (["--folds", "1"], "--folds must be 2 or more"),
        (["--folds", "400"], "--folds 400 is too many: class -1 has only 212 examples"),
        (["--scoring", "neg_log_loss"], "use LogisticRegressionCV"),
        (["--Cs", "-1"], "not a positive finite number"),
        (["--multi-class", "crammer_singer"], "needs --loss hinge"),
        (["--loss", "hinge", "--multi-class", "crammer_singer", "--solver", "shark"], "shark"),
        (["--scoring", "nonsense"], "sklearn.metrics.get_scorer_names() lists them"),
        (["--png", "no/such/place.png"], "no directory"),
    ],
)
def test_bad_usage(run, arguments, words):
    code, _, err = run("tune", "cancer.svm", *arguments)
    assert code == 2
    assert words in err
    assert err.count("\n") == 1 or "usage:" in err


def test_json_is_one_object(run):
    _, out, _ = run("tune", "iris.svm", "--Cs", 1, "--json")
    assert json.loads(out)["command"] == "tune"


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities(run, run_json, folder, method):
    code, *_ = run("tune", "iris.svm", "p.model", "--Cs", "0.1,1", "--probability", method)
    assert code == 0
    code, found = run_json("predict", "iris.svm", "p.model", "--proba")
    assert code == 0
    assert np.shape(found["probabilities"]) == (150, 3)
    np.testing.assert_allclose(np.sum(found["probabilities"], axis=1), 1.0)


@pytest.mark.parametrize("wrong", [("--loss", "logistic"), ("--format", "liblinear")])
def test_probabilities_refused(run, wrong):
    code, _, err = run("tune", "iris.svm", "--probability", "sigmoid", *wrong)
    assert code == 2
    assert "--probability" in err
