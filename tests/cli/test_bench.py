"""``widemargin bench`` and the Python function behind it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import oracle
from widemargin import RobustSVC, dump_svmlight
from widemargin.benchmark import compare
from widemargin.benchmark.compare import Comparison, Measurement
from widemargin.benchmark.rivals import rivals
from widemargin.benchmark.tasks import Examples, find_examples
from widemargin.cli.main import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with a training set, its test set, and three classes."""
    X, y = oracle.make_data("tall", 0)
    dump_svmlight(X[:120], y[:120], tmp_path / "two")
    dump_svmlight(X[120:], y[120:], tmp_path / "two.t")
    labels = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.7]))
    dump_svmlight(X, labels, tmp_path / "three")
    return tmp_path


def test_the_command_writes_every_curve(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIDEMARGIN_DATA", str(folder))
    output = folder / "out"
    methods = "dual_cd,pragam,bmrm_qp,bmrm_ls,pegasos,scikit_learn"
    line = f"bench --problem hinge --data two --methods {methods} --until 1e-3 -C 0.1"
    assert main([*line.split(), "--no-figures", "--json", "--output", str(output)]) == 0
    report = json.loads(capfd.readouterr().out)
    assert [entry["method"] for entry in report["runs"]] == methods.split(",")
    with open(output / "bench.csv", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    about = ["problem", "C", "until", "setting"]
    assert list(rows[0]) == [*Measurement.__dataclass_fields__, *about]
    assert [rows[0][name] for name in about] == ["hinge", "0.1", "0.001", "C = 0.1"]
    best = min(float(row["primal"]) for row in rows)
    for method in methods.split(","):
        curve = [row for row in rows if row["method"] == method]
        seconds = [float(row["seconds"]) for row in curve]
        primal = [float(row["primal"]) for row in curve]
        assert primal == sorted(primal, reverse=True)
        assert float(curve[-1]["suboptimality"]) == pytest.approx(primal[-1] / best - 1, abs=1e-12)
        assert 0.5 < float(curve[-1]["accuracy"]) <= 1.0
        if method != "scikit_learn":
            assert float(curve[-1]["gap"]) <= 1e-3
            assert seconds == sorted(seconds)


@pytest.mark.parametrize(
    ("problem", "data", "kernel", "methods"),
    [
        ("squared_hinge", "two", None, ["dual_of_dual", "newton", "auto"]),
        ("logistic", "two", None, ["newton", "bmrm_qp"]),
        ("squared_hinge", "two", "rbf", ["dual_of_dual", "dual_cd"]),
        ("weston_watkins", "three", "rbf", ["pairwise_frank_wolfe", "away_frank_wolfe"]),
        ("crammer_singer", "three", "linear", ["pairwise_frank_wolfe"]),
    ],
)
def test_every_kind_of_problem(
    folder: Path, problem: str, data: str, kernel: str | None, methods: list[str]
) -> None:
    result = compare(
        problem, [data], methods, until=1e-5, kernel=kernel, folder=str(folder), rounds=2, C=0.1
    )
    assert not result.failures
    assert result.methods(data) == methods
    finals = [result.curve(data, name, 1)[-1] for name in methods]
    assert all(last.gap <= 1e-5 for last in finals)
    assert all(np.isfinite(result.seconds_to(data, name)) for name in methods)
    assert np.ptp([last.primal for last in finals]) <= 1e-4 * finals[0].primal


def test_figures_can_be_drawn(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    result = compare("hinge", ["two"], ["dual_cd", "pragam"], until=1e-3, folder=str(folder))
    (path,) = result.write_figures(folder / "figures")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_method_that_refuses_is_reported_and_the_others_run(folder: Path) -> None:
    result = compare("logistic", ["two"], ["pragam", "newton"], until=1e-3, folder=str(folder))
    assert result.methods("two") == ["newton"]
    assert "supports the loss 'hinge'" in result.failures["two", "pragam"]


def test_what_cannot_be_done_is_said_at_once(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--data", "nothing", "--methods", "dual_cd"]) == 2
    assert "no data called 'nothing'" in capfd.readouterr().err
    assert main(["bench", "--data", "nothing", "--methods", "magic"]) == 2
    assert "'magic' is unknown" in capfd.readouterr().err
    if "liblinear" not in rivals():
        with pytest.raises(ValueError, match="'liblinear' is not installed"):
            compare("hinge", [], ["liblinear"])


def test_a_test_set_with_more_features(folder: Path) -> None:
    X, y = oracle.make_data("tall", 0)
    wider = np.hstack([X, np.ones((y.size, 2))])
    dump_svmlight(wider, y, folder / "two.t")
    examples = find_examples("two", str(folder))
    assert isinstance(examples, Examples)
    assert examples.X.shape[1] == examples.X_test.shape[1] == X.shape[1] + 2


def test_the_robust_problem(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The methods for it agree, also with the estimator; the radius is on the report."""
    monkeypatch.setenv("WIDEMARGIN_DATA", str(folder))
    output = folder / "out"
    line = "bench --problem robust --data two --methods auto,interior_point,hybrid,gs_admm,dual_cd"
    line += " --radius 0.2 --norm inf --label-cost 2 --intercept exact --until 1e-4 --time-limit 5"
    assert main([*line.split(), "--no-figures", "--json", "--output", str(output)]) == 0
    report = json.loads(capfd.readouterr().out)
    assert "dual_cd" in next(iter(report["failures"]))
    assert [run["gap"] <= 1e-4 for run in report["runs"][:3]] == [True] * 3
    result = Comparison.read_csv(output / "bench.csv")
    assert result.setting == "radius 0.2"
    examples = find_examples("two")
    model = RobustSVC(0.2, norm=np.inf, label_cost=2.0, tol=1e-8).fit(examples.X, examples.y)
    for method in ("auto", "hybrid"):
        last = result.curve("two", method)[-1]
        assert last.primal == pytest.approx(float(model.primal_[0]), rel=2e-4)
        assert last.accuracy == pytest.approx(
            model.score(examples.X_test, examples.y_test), abs=0.05
        )
    assert main(["report", str(output / "bench.csv"), "-o", str(folder / "page.html"), "-q"]) == 0
    assert "radius 0.2" in (folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"problem": "hinge", "radius": 0.1}, "radius is for the problem 'robust'"),
        ({"problem": "robust", "C": 2.0}, "has no C"),
        ({"problem": "robust", "kernel": "rbf"}, "is linear"),
        ({"problem": "robust", "norm": 3.0}, "norm must be 1, 2 or infinity"),
    ],
)
def test_arguments_of_another_problem(arguments: dict, message: str) -> None:
    examples = Examples("toy", np.eye(4), np.array([0, 1, 0, 1]))
    problem = arguments.pop("problem")
    with pytest.raises(ValueError, match=message):
        compare(problem, [examples], ["auto"], **arguments)
