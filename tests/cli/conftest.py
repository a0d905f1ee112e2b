"""Small files to run the commands on."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from widemargin.cli.main import main

FLOWERS = np.array(["setosa", "versicolor", "virginica"])


def svm_text(X, y):
    lines = (
        " ".join([f"{label:g}", *(f"{j + 1}:{value!r}" for j, value in enumerate(row) if value)])
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    )
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A directory with data, made the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WIDEMARGIN_TRACEBACK", raising=False)
    X, y = load_breast_cancer(return_X_y=True)
    (tmp_path / "cancer.svm").write_text(svm_text(scale(X), np.where(y, 1, -1)))
    X, y = load_iris(return_X_y=True)
    (tmp_path / "iris.svm").write_text(svm_text(X, y + 1))
    rows = [
        ",".join([*map(repr, row), name]) for row, name in zip(X.tolist(), FLOWERS[y], strict=True)
    ]
    (tmp_path / "iris.csv").write_text("\n".join(["sl,sw,pl,pw,species", *rows]) + "\n")
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    """Run a command in process; give exit code, stdout and stderr."""

    def command(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture
def run_json(run):
    """Run a command with ``--json``; give exit code and the object it printed."""

    def command(*arguments):
        code, out, _ = run(*arguments, "--json")
        return code, json.loads(out)

    return command
