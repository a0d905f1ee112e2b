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


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_search_goes_on(run_json, folder, loss):
    """From a loose tolerance to a strict one, with the values of C that were seen kept."""
    common = ("tune", "iris.svm", "a.model", "--loss", loss, "--state", "s")
    code, first = run_json(*common, "--search-tol", "0.3")
    assert code == 0
    code, more = run_json(*common, "--search-tol", "1e-3", "--continue")
    assert code == 0
    assert len(more["Cs"]) > len(first["Cs"])
    np.testing.assert_array_equal(more["Cs"][: len(first["Cs"])], first["Cs"])
    kept = len(first["Cs"]) - 1  # the last C is solved again
    np.testing.assert_array_equal(more["scores"][:kept], first["scores"][:kept])
    assert more["C"] == load_model(folder / "a.model").C


def test_a_grid_goes_on_after_a_time_limit(run_json):
    common = ("tune", "iris.svm", "a.model", "--state", "s", "--Cs")
    code, first = run_json(*common, "0.01,0.1,1,10", "--time-limit", "1e-6")
    assert code == 1
    code, more = run_json(*common, "0.01,0.1,1,10", "--continue")
    assert code == 0
    assert len(first["Cs"]) < 4
    np.testing.assert_allclose(more["Cs"], [0.01, 0.1, 1.0, 10.0])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("--loss", "hinge"), "state of another search: loss"),
        (("--folds", "3"), "state of another search: folds"),
        (("--certify", "0.1", "--intercept", "none"), "without --certify"),
    ],
)
def test_another_search_is_refused(run, change, says):
    run("tune", "iris.svm", "a.model", "--state", "s", "--Cs", "1")
    code, _, err = run("tune", "iris.svm", "a.model", "--state", "s", "--continue", *change)
    assert code == 2
    assert says in err


def test_no_state_to_go_on_from(run, folder):
    assert "needs --state" in run("tune", "iris.svm", "--continue")[2]
    assert "there is no s" in run("tune", "iris.svm", "--continue", "--state", "s")[2]
    (folder / "s").write_bytes(b"PK\x03\x04 nothing")
    code, _, err = run("tune", "iris.svm", "--continue", "--state", "s")
    assert code == 2
    assert "not the state of a search" in err
    run("tune", "iris.svm", "a.model", "--state", "s", "--Cs", "1")
    code, _, err = run("tune", "cancer.svm", "--continue", "--state", "s")
    assert code == 2
    assert "other data" in err


def test_progress_counts_the_values_of_C(run):
    err = run("tune", "iris.svm", "a.model", "--Cs", "0.1,1,10", "--verbose")[2]
    assert "C 1 of 3 (0.1): " in err
    assert "C 3 of 3 (10): " in err
