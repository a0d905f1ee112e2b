"""train and predict: files in, models and predictions out."""

import bz2
import gzip
import lzma

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from widemargin import LinearSVC, LogisticRegression
from widemargin.model_io import load_liblinear, load_model


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("intercept", ["exact", "penalised", "none"])
def test_train_gives_what_the_estimator_gives(run_json, loss, intercept):
    code, result = run_json(
        "train", "cancer.svm", "a.model", "--loss", loss, "-C", 0.1, "--intercept", intercept,
        "--tol", 1e-6,
    )  # fmt: skip
    settings = {
        "C": 0.1,
        "tol": 1e-6,
        "fit_intercept": {"exact": True, "none": False}.get(intercept, "penalised"),
    }
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X), np.where(y, 1, -1)
    if loss == "logistic":
        expected = LogisticRegression(**settings).fit(X, y)
    else:
        expected = LinearSVC(loss, **settings).fit(X, y)
    model = load_model("a.model")
    assert code == 0
    assert (model.loss, model.C, model.intercept_kind) == (loss, 0.1, intercept)
    assert result["relative_gap"] <= 1e-6
    assert result["primal"] == pytest.approx(expected.certificate_.primal, rel=2e-6)
    assert result["rows"] == 569
    assert result["features"] == 30
    assert result["classes"] == [-1, 1]
    assert result["status"] == ["converged"]
    assert result["training_accuracy"] == pytest.approx(expected.score(X, y), abs=2 / 569)
    assert model.certificates[0].relative_gap <= 1e-6


def test_the_table_says_what_matters(run):
    code, out, err = run("train", "cancer.svm")
    assert code == 0
    assert err == ""
    for word in (
        "rows", "features", "classes", "solver", "primal", "dual", "relative gap",
        "training accuracy", "seconds reading", "seconds training", "cancer.svm.model",
    ):  # fmt: skip
        assert word in out
    assert load_model("cancer.svm.model").classes.tolist() == [-1, 1]


def test_quiet_says_nothing(run):
    assert run("train", "cancer.svm", "--quiet") == (0, "", "")


def test_verbose_follows_the_run_on_stderr(run):
    _, _, err = run("train", "cancer.svm", "--verbose", "--solver", "dual_cd", "--loss", "hinge")
    assert "dual_cd, iteration" in err
    assert "gap" in err


@pytest.mark.parametrize(("suffix", "opener"), [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
@pytest.mark.parametrize("name", ["iris.svm", "iris.csv"])
def test_packed_files_are_read(run_json, folder, suffix, opener, name):
    with opener.open(folder / (name + suffix), "wt") as file:
        file.write((folder / name).read_text())
    _, packed = run_json("train", name + suffix, "packed.model")
    _, plain = run_json("train", name, "plain.model")
    assert packed["primal"] == plain["primal"]
    np.testing.assert_array_equal(load_model("packed.model").coef, load_model("plain.model").coef)


def test_csv_and_svm_give_the_same_model(run_json):
    run_json("train", "iris.csv", "csv.model")
    run_json("train", "iris.svm", "svm.model")
    csv, svm = load_model("csv.model"), load_model("svm.model")
    np.testing.assert_allclose(csv.coef, svm.coef, rtol=1e-9)
    assert csv.feature_names == ("sl", "sw", "pl", "pw")
    assert csv.classes.tolist() == ["setosa", "versicolor", "virginica"]


def test_class_weights_by_name(run_json):
    code, _ = run_json("train", "iris.csv", "w.model", "--class-weight", "setosa=2,virginica=0.5")
    X, y = load_iris(return_X_y=True)
    expected = LinearSVC(class_weight={0: 2.0, 2: 0.5}).fit(X, y)
    assert code == 0
    np.testing.assert_allclose(load_model("w.model").coef, expected.coef_, rtol=1e-6)
    assert load_model("w.model").class_weight == {"setosa": 2.0, "virginica": 0.5}


def test_class_weights_by_number_and_balanced(run_json):
    assert (
        run_json(
            "train", "iris.svm", "w.model", "--class-weight", "1=3", "--class-weight", "2.0=1"
        )[0]
        == 0
    )
    assert load_model("w.model").class_weight == {1.0: 3.0, 2.0: 1.0}
    assert run_json("train", "iris.svm", "w.model", "--class-weight", "balanced")[0] == 0
    assert load_model("w.model").class_weight == "balanced"


def test_exit_code_1_when_the_tolerance_is_not_reached(run):
    code, _, err = run(
        "train", "cancer.svm", "a.model", "--tol", 1e-12, "--max-iter", 1, "--solver", "dual_cd"
    )
    assert code == 1
    assert "the tolerance was not reached (iteration limit)" in err
    assert "Warning" not in err
    assert load_model("a.model").status == ("iteration_limit",)


def test_time_limit(run_json):
    code, result = run_json(
        "train", "cancer.svm", "--tol", 1e-15, "-C", 1e6, "--loss", "hinge", "--solver", "dual_cd",
        "--max-iter", 10**9, "--time-limit", 0.2,
    )  # fmt: skip
    assert code == 1
    assert result["status"] == ["time_limit"]
    assert result["seconds_training"] < 5.0


def test_jobs_and_seed_do_not_change_the_model(run_json, folder):
    for jobs in (1, 2):
        run_json("train", "iris.svm", f"{jobs}.model", "--jobs", jobs, "--seed", 3)
    np.testing.assert_array_equal(load_model("1.model").coef, load_model("2.model").coef)


def test_liblinear_format(run_json):
    code, result = run_json("train", "iris.svm", "a.model", "--format", "liblinear")
    assert code == 0
    assert result["format"] == "liblinear"
    assert load_liblinear("a.model").classes.tolist() == [1, 2, 3]


def test_liblinear_format_refuses_text_labels_before_training(run, monkeypatch):
    monkeypatch.setattr(LinearSVC, "fit", lambda *_: pytest.fail("it trained"))
    code, _, err = run("train", "iris.csv", "a.model", "--format", "liblinear")
    assert code == 2
    assert "LIBLINEAR's labels are 32-bit integers; the model has 'setosa'" in err


@pytest.mark.parametrize("model_format", ["own", "liblinear"])
def test_predict_prints_labels_and_accuracy(run, folder, model_format):
    run("train", "iris.svm", "a.model", "--format", model_format)
    code, out, err = run("predict", "iris.svm", "a.model")
    assert code == 0
    assert set(out.split()) == {"1", "2", "3"}
    assert "accuracy" in err
    code, summary, err = run("predict", "iris.svm", "a.model", "-o", "out.txt")
    assert (code, err) == (0, "")
    assert "accuracy" in summary
    assert (folder / "out.txt").read_text() == out
    # LIBLINEAR's third file.
    assert run("predict", "iris.svm", "-q", "a.model", "third.txt")[0] == 0
    assert (folder / "third.txt").read_text() == out
    code, _, err = run("predict", "iris.svm", "a.model", "third.txt", "-o", "out.txt")
    assert code == 2
    assert "the predictions have two files" in err


def test_predict_json(run_json):
    run_json("train", "iris.csv", "a.model", "--loss", "logistic")
    code, result = run_json("predict", "iris.csv", "a.model", "--proba")
    assert code == 0
    assert result["accuracy"] > 0.9
    assert len(result["labels"]) == 150
    np.testing.assert_allclose(np.sum(result["probabilities"], axis=1), 1.0)
    assert result["classes"] == ["setosa", "versicolor", "virginica"]
    picked = np.array(result["classes"])[np.argmax(result["probabilities"], axis=1)]
    assert picked.tolist() == result["labels"]


def test_predict_scores_of_two_classes(run, run_json):
    run("train", "cancer.svm", "a.model")
    code, out, _ = run("predict", "cancer.svm", "a.model", "--scores")
    head, *lines = out.splitlines()
    assert code == 0
    assert head == "labels 1"
    assert all((float(line.split()[1]) > 0) == (line.split()[0] == "1") for line in lines)


def test_predict_without_labels(run_json, folder):
    run_json("train", "iris.csv", "a.model")
    rows = [line.rsplit(",", 1)[0] for line in (folder / "iris.csv").read_text().splitlines()]
    (folder / "bare.csv").write_text("\n".join(rows) + "\n")
    (folder / "nameless.csv").write_text("\n".join(rows[1:]) + "\n")
    _, full = run_json("predict", "iris.csv", "a.model")
    for name in ("bare.csv", "nameless.csv"):
        _, result = run_json("predict", name, "a.model")
        assert result["accuracy"] is None
        assert result["labels"] == full["labels"]


def test_predict_finds_columns_by_name(run_json, folder):
    """Columns in another order, with one more that is not a number."""
    run_json("train", "iris.csv", "a.model")
    lines = [line.split(",") for line in (folder / "iris.csv").read_text().splitlines()]
    mixed = [[c[2], f"id{i}", c[0], c[3], c[1], c[4]] for i, c in enumerate(lines)]
    (folder / "mixed.csv").write_text("\n".join(map(",".join, mixed)) + "\n")
    _, full = run_json("predict", "iris.csv", "a.model")
    code, result = run_json("predict", "mixed.csv", "a.model", "--label", "species")
    assert code == 0
    assert result["labels"] == full["labels"]
    assert result["accuracy"] == full["accuracy"]


def test_predict_takes_fewer_and_more_features(run, folder):
    run("train", "cancer.svm", "a.model")
    (folder / "few.svm").write_text("1 1:0.5 3:2\n-1\n")
    assert run("predict", "few.svm", "a.model", "--pad")[0] == 0
    (folder / "many.svm").write_text("1 1:0.5 3:2 99:4\n-1 1:2\n")
    code, _, err = run("predict", "many.svm", "a.model", "--pad")
    assert code == 0
    assert "those beyond 30 are left out" in err


def test_labels_that_are_not_the_models_give_no_accuracy(run_json, folder):
    run_json("train", "cancer.svm", "a.model")
    (folder / "zeros.svm").write_text("0 1:0.5 3:2\n0 1:2\n")
    assert run_json("predict", "zeros.svm", "a.model", "--pad")[1]["accuracy"] is None


def test_parquet(run_json, folder):
    pytest.importorskip("pyarrow")
    assert run_json("convert", "iris.csv", "iris.parquet")[0] == 0
    _, from_csv = run_json("train", "iris.csv", "csv.model")
    _, from_parquet = run_json("train", "iris.parquet", "parquet.model")
    assert from_parquet["primal"] == from_csv["primal"]
    assert load_model("parquet.model").feature_names == ("sl", "sw", "pl", "pw")
    _, result = run_json("predict", "iris.parquet", "parquet.model")
    assert result["accuracy"] == from_csv["training_accuracy"]


def test_label_column_by_name_number_and_from_the_end(run_json, folder):
    lines = [line.split(",") for line in (folder / "iris.csv").read_text().splitlines()]
    (folder / "first.csv").write_text("\n".join(",".join([c[4], *c[:4]]) for c in lines) + "\n")
    expected = run_json("train", "iris.csv", "a.model")[1]["primal"]
    for label in ("species", "1", "-5"):
        _, result = run_json("train", "first.csv", "b.model", f"--label={label}")
        assert result["primal"] == pytest.approx(expected, rel=1e-12)


def test_files_in_the_wrong_order_are_told(run):
    run("train", "iris.svm", "a.model", "-q")
    for command, order in (
        (["predict", "a.model", "iris.svm"], "widemargin predict DATA MODEL"),
        (["certify", "iris.svm", "a.model"], "widemargin certify MODEL DATA"),
    ):
        code, _, err = run(*command)
        assert code == 2
        assert f"but a.model is; the order is: {order}" in err


def test_features_that_a_file_does_not_show_are_told(run, folder):
    run("train", "cancer.svm", "a.model", "-q")
    code, _, err = run("predict", "iris.svm", "a.model", "--pad")
    assert code == 0
    assert "iris.svm has 4 features, the model has 30: the others are taken as zero" in err
    _, _, err = run("predict", "iris.svm", "a.model", "-q", "--pad")
    assert err == ""


def test_verbose_is_offered_where_there_is_something_to_say(run):
    assert run("train", "iris.svm", "-v", "-C", 1)[2].count("gap") >= 3
    run("train", "iris.svm", "a.model", "-q")
    code, _, err = run("predict", "iris.svm", "a.model", "-v")
    assert code == 2
    assert "unrecognized arguments: -v" in err
