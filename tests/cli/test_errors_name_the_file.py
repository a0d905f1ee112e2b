"""Errors about data say which file they are in; errors about arguments do not."""

from pathlib import Path

import pytest

FILES = {
    "one_class.svm": "1 1:1\n1 2:1\n",
    "long.svm": "1 1:1e308\n-1 1:-1e308\n1 2:1e308\n",
    "nothing.svm": "1\n-1\n",
    "numbers.svm": "0.5 1:1\n1.5 2:1\n0.7 1:2\n",
    "one_class.csv": "a,b,y\n1,2,0\n3,4,0\n",
}


@pytest.fixture(autouse=True)
def _files(run):
    for name, text in FILES.items():
        Path(name).write_text(text)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", ["train", "tune", "report"])
def test_data(run, command, name):
    code, _, err = run(command, name)
    assert code == 2
    assert err.startswith(f"widemargin: {name}: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(("name", "words"), [("long.svm", "overflows"), ("nothing.svm", "feature")])
def test_data_of_regressions(run, name, words):
    code, _, err = run("train", "--task", "regression", name)
    assert code == 2
    assert err.startswith(f"widemargin: {name}: ")
    assert words in err


@pytest.mark.parametrize(
    "arguments", [["--solver", "nonsense"], ["--class-weight", "1"], ["--solver", "newton"]]
)
def test_arguments(run, arguments):
    code, _, err = run("train", "cancer.svm", "--loss", "hinge", *arguments)
    assert code == 2
    assert "cancer.svm" not in err


def test_a_device_without_room(run):
    code, _, err = run("train", "cancer.svm", "/dev/full", "--quiet")
    assert code == 2
    assert "/dev/full" in err
