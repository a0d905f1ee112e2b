"""The command on data larger than memory: train, predict, certify, and go on after a kill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import dump_svmlight, load_model
from widemargin.cli.main import main
from widemargin.data import blocks
from widemargin.estimators.checkpoints import Checkpoints


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(blocks, "FEWEST_ROWS", 64)
    monkeypatch.setattr(blocks, "SPARSE_VALUES", 2**9)
    monkeypatch.setenv("WIDEMARGIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(4)
    X = random.standard_normal((900, 8)) * (random.random((900, 8)) < 0.5)
    y = np.where(X @ random.standard_normal(8) + random.standard_normal(900) > 0, 1, -1)
    dump_svmlight(sp.csr_array(X), y, tmp_path / "big.svm")
    return tmp_path / "big.svm"


def result(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


PROBLEMS = [(), ("--loss", "hinge", "--multi-class", "crammer_singer")]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_train_predict_certify(
    file: Path, capsys: pytest.CaptureFixture[str], problem: tuple[str, ...]
) -> None:
    limit = ("--memory-limit", "4GB")
    trained = result(capsys, "train", str(file), "disk.model", *problem, *limit)
    plain = result(capsys, "train", str(file), "plain.model", *problem)
    assert trained["primal"] == pytest.approx(plain["primal"], rel=1e-4)
    assert "not in memory" in trained["solver"]
    assert trained["training_accuracy"] == pytest.approx(plain["training_accuracy"], abs=0.01)
    assert not Path("disk.model.checkpoint").exists()
    disk, memory = (
        result(capsys, "predict", str(file), "disk.model", *more) for more in (limit, ())
    )
    assert disk["labels"] == memory["labels"]
    proved = result(capsys, "certify", "disk.model", str(file), *limit)
    assert proved["relative_gap"] <= 1e-4


def test_tune(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    search = ("tune", str(file), "tuned.model", "--Cs", "0.01,0.1", "--folds", "3")
    tuned = result(capsys, *search, "--memory-limit", "4GB")
    plain = result(capsys, *search)
    assert tuned["C"] == plain["C"]
    np.testing.assert_allclose(tuned["scores"], plain["scores"], atol=5e-3)
    assert tuned["status"] == ["converged"]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_killed_run_goes_on(
    file: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    problem: tuple[str, ...],
) -> None:
    class KilledError(BaseException):
        """As good as SIGKILL: nothing is tidied up."""

    keep = Checkpoints.keep

    def keep_and_die(self: Checkpoints, *point: Any) -> None:
        keep(self, *point)
        if np.abs(point[1]).max() > 0.1:
            raise KilledError

    train = ("train", str(file), "disk.model", "--memory-limit", "4GB", *problem)
    monkeypatch.setattr(Checkpoints, "keep", keep_and_die)
    with pytest.raises(KilledError):
        main(list(train))
    monkeypatch.setattr(Checkpoints, "keep", keep)
    assert Path("disk.model.checkpoint").exists()
    result(capsys, *train, "--resume")
    assert not Path("disk.model.checkpoint").exists()
    assert load_model("disk.model").n_features == 8
    assert main([*train, "--resume"]) == 2
    assert (
        "there is no disk.model.checkpoint to go on from: run without --resume"
        in capsys.readouterr().err
    )


def test_csv_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,2,0\n3,4,1\n")
    assert main(["train", str(path), str(tmp_path / "m"), "--memory-limit", "1GB"]) == 2
    assert "--memory-limit is for LIBSVM and Parquet data" in capsys.readouterr().err
