"""The command as a whole: help, errors in one line, exit codes, Ctrl-C, demo."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from widemargin.cli.main import main
from widemargin.model_io import load_model

COMMANDS = ("train", "predict", "certify", "convert", "demo")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], *([c, "--help"] for c in COMMANDS)]
)
def test_help(run, arguments):
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert "widemargin" in out


def test_help_names_every_command(run):
    _, out, _ = run("--help")
    assert all(command in out for command in COMMANDS)


BAD_USAGE = [
    [],
    ["learn"],
    ["train"],
    ["train", "cancer.svm", "--loss", "ramp"],
    ["train", "cancer.svm", "-C", "0"],
    ["train", "cancer.svm", "-C", "nan"],
    ["train", "cancer.svm", "-C", "many"],
    ["train", "cancer.svm", "--tol", "-1"],
    ["train", "cancer.svm", "--max-iter", "0"],
    ["train", "cancer.svm", "--jobs", "0"],
    ["train", "cancer.svm", "--quiet", "--verbose"],
    ["predict", "cancer.svm"],
    ["predict", "cancer.svm", "a.model", "--proba", "--scores"],
]


@pytest.mark.parametrize("arguments", BAD_USAGE, ids=" ".join)
def test_bad_usage(run, arguments):
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert "usage: widemargin" in err


def test_an_unknown_command_is_told_the_others(run):
    _, _, err = run("learn")
    assert "there is no command 'learn'; there are train, tune, predict" in err
    assert "--task" not in err


BAD_FILES = {
    "gap.csv": ("a,b,y\n1,,2\n1,2,3\n", "gap.csv:2:2: the cell is empty (column 'b')"),
    "word.csv": ("a,b,y\n1,2,1\n1,x,2\n", "word.csv:3:2: 'x' is not a number (column 'b')"),
    "nan.csv": ("1,2,0\n1,nan,1\n", "nan.csv:2:2: 'nan' is not finite"),
    "ragged.csv": ("1,2,0\n1,2,3,1\n", "ragged.csv:2:1: there are 4 cells, the first line has 3"),
    "short.csv": ("1,2,0\n1,2\n", "short.csv:2:1: there are 2 cells, the first line has 3"),
    "label.csv": ("1,2,a\n1,2,\n", "label.csv:2:3: the label is empty"),
    "mixed.csv": ("1,2,a\n3,4,b\n1,2,7\n", "mixed.csv:3:3: the label '7' is a number, unlike"),
    "header.csv": (
        "0,1,y\n1,2,3\n4,5,6\n",
        "if the first line holds column names, pass --header yes",
    ),
    "empty.csv": ("", "empty.csv: the file is empty"),
    "only.csv": ("a,b,y\n", "only.csv: there are no examples in the file"),
    "twice.csv": ("a,a,y\n1,2,3\n", "twice.csv:1:1: two columns are called 'a'"),
    "thin.csv": ("y\n1\n2\n", "thin.csv:1:1: there is no column besides the label"),
    "one.csv": ("1,2,3\n4,5,3\n", "only one class"),
    "binary.csv": ("\0\1\2", "binary.csv:1:1: the file is not text"),
    "bad.csv.gz": ("no gzip", "bad.csv.gz: the file cannot be decompressed"),
    "bad.parquet": ("no parquet", "bad.parquet: not a usable Parquet file"),
    "bad.svm": ("1 1:x\n", "bad.svm"),
    "empty.svm": ("", "empty.svm"),
    "one.svm": ("1 1:1\n1 1:2\n", "only one class"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_data_is_refused_in_one_line(run, folder, name):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    text, message = BAD_FILES[name]
    (folder / name).write_text(text)
    code, out, err = run("train", name, "a.model")
    assert code == 2
    assert out == ""
    assert err.startswith("widemargin: ")
    assert err.count("\n") == 1
    assert message in err
    assert not (folder / "a.model").exists()


REFUSALS = {
    "no such data": (["train", "none.svm"], "none.svm: No such file or directory"),
    "no such model": (["predict", "iris.svm", "none"], "none: No such file or directory"),
    "directory": (["train", "iris.svm", "."], ". is a directory"),
    "nowhere": (["train", "iris.svm", "x/y.model"], "there is no directory"),
    "solver": (["train", "iris.svm", "--solver", "magic"], "solver must be one of"),
    "label of svm": (["train", "iris.svm", "--label", "y"], "--label is for CSV and Parquet"),
    "label name": (["train", "iris.csv", "--label", "nope"], "there is no column 'nope'"),
    "label number": (["train", "iris.csv", "--label", "9"], "there is no column 9"),
    "text feature": (["train", "iris.csv", "--label", "1"], "'setosa' is not a number"),
    "weight": (["train", "iris.svm", "--class-weight", "1:2"], "takes LABEL=WEIGHT"),
    "weight of nobody": (
        ["train", "iris.svm", "--class-weight", "9=2"],
        "names the class 9, which is not in the data",
    ),
    "negative weight": (["train", "iris.svm", "--class-weight", "1=-2"], "positive weight"),
    "weight twice": (["train", "iris.svm", "--class-weight", "1=2,1.0=3"], "twice"),
    "scaling": (["train", "iris.svm", "--intercept-scaling", "2"], "needs --intercept penalised"),
    "not a model": (
        ["predict", "iris.svm", "iris.csv"],
        "neither a widemargin nor a LIBLINEAR model",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_are_one_line(run, folder, name):
    arguments, message = REFUSALS[name]
    before = sorted(folder.iterdir())
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert message in err
    assert sorted(folder.iterdir()) == before


def test_wrong_features_and_probabilities(run, folder):
    run("train", "iris.csv", "a.model")
    (folder / "narrow.csv").write_text("1,2,3\n4,5,6\n")
    code, _, err = run("predict", "narrow.csv", "a.model")
    assert code == 2
    assert "narrow.csv has 2 features, the model has 4" in err
    (folder / "other.csv").write_text("sl,sw,pl,width,species\n1,2,3,4,setosa\n")
    code, _, err = run("predict", "other.csv", "a.model")
    assert code == 2
    assert "there is no column 'pw', which the model needs" in err
    code, _, err = run("predict", "iris.csv", "a.model", "--proba")
    assert code == 2
    assert "; a.model was trained with squared_hinge" in err
    assert "--proba is for the logistic loss" in err


def test_parquet_without_pyarrow(run, folder, monkeypatch):
    (folder / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = run("train", "a.parquet")
    assert code == 2
    assert err == "widemargin: Parquet files need pyarrow: pip install 'widemargin[parquet]'\n"


def test_parquet_refusals(run, folder):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def refused(columns):
        parquet.write_table(arrow.table(columns), folder / "a.parquet")
        code, _, err = run("train", "a.parquet")
        assert code == 2
        return err

    assert "row 2, column 'x': the value is missing" in refused({"x": [1.0, None], "y": [0, 1]})
    assert "row 1, column 'x': nan is not finite" in refused({"x": [np.nan, 1.0], "y": [0, 1]})
    assert "column 'x' contains string, not numbers" in refused({"x": ["a", "b"], "y": [0, 1]})
    assert "row 1, column 'y': the value is missing" in refused({"x": [1, 2], "y": [None, "b"]})
    assert "there is no column besides the label" in refused({"y": [0, 1]})


@pytest.mark.parametrize("way", ["variable", "option"])
def test_traceback_on_request(run, monkeypatch, way):
    if way == "variable":
        monkeypatch.setenv("WIDEMARGIN_TRACEBACK", "1")
    code, _, err = run("train", "none.svm", *(["--debug"] if way == "option" else []))
    assert code == 2
    assert "Traceback (most recent call last)" in err
    assert err.endswith("widemargin: none.svm: No such file or directory\n")


@pytest.mark.parametrize(
    "error", [RuntimeError("dual above\n primal"), IndexError("3"), KeyError(1)]
)
def test_an_internal_error_is_one_line_and_code_3(run, folder, monkeypatch, error):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr("widemargin.estimators.linear_svc.LinearSVC.fit", broken)
    code, out, err = run("train", "iris.svm", "a.model")
    assert (code, out) == (3, "")
    assert err.count("\n") == 1
    assert err.startswith(f"widemargin: internal error: {type(error).__name__}: ")
    assert "this is a bug in widemargin: please report it, with the output of --debug" in err
    assert "written" not in err
    code, _, err = run("train", "iris.svm", "a.model", "--debug")
    assert code == 3
    assert "in broken" in err


def test_an_internal_error_after_writing_names_the_file(run, folder, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("no report")

    monkeypatch.setattr("widemargin.cli.train._report", broken)
    code, _, err = run("train", "iris.svm", "a.model")
    assert code == 3
    assert "a.model had been written" in err
    assert load_model("a.model").status == ("converged",) * 3


def test_interrupt_after_writing_says_so(run, folder, monkeypatch):
    """Also where a file of that name was there before."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("widemargin.cli.train._report", interrupted)
    for _ in range(2):
        code, _, err = run("train", "iris.svm", "a.model")
        assert code == 1
        assert err == "widemargin: interrupted after a.model had been written\n"
    monkeypatch.setattr("widemargin.cli.training.read_data", interrupted)
    code, _, err = run("train", "iris.svm", "a.model")
    assert (code, err) == (130, "widemargin: interrupted; nothing was written\n")


@pytest.mark.skipif(os.name != "posix", reason="limits are POSIX's")
@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "wide.svm", "out"],
        ["train", "wide.svm", "out", "--format", "liblinear"],
        ["convert", "wide.svm", "out", "--to", "csv"],
        ["convert", "wide.svm", "out", "--to", "parquet"],
        ["convert", "wide.svm", "out", "--to", "svm"],
    ],
)
def test_a_full_disk_names_the_file(folder, arguments):
    """A limit on the size of files stands for the disk."""
    import resource

    random = np.random.default_rng(0)
    lines = [
        f"{i % 2} " + " ".join(f"{j + 1}:{random.random()}" for j in range(900)) for i in range(9)
    ]
    (folder / "wide.svm").write_text("\n".join(lines) + "\n")
    (folder / "out").write_text("before")

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    process = command(*arguments, preexec_fn=limited)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err == "widemargin: out: File too large\n"
    assert (folder / "out").read_text() == "before"
    assert not list(folder.glob(".out*"))


def test_interrupt_with_nothing_written(run, folder, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("widemargin.cli.training.read_data", interrupted)
    code, _, err = run("train", "iris.svm", "a.model")
    assert code == 130
    assert err == "widemargin: interrupted; nothing was written\n"
    assert not (folder / "a.model").exists()


def command(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "widemargin.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_ctrl_c_keeps_the_best_point(folder):
    random = np.random.default_rng(0)
    X, y = random.standard_normal((3000, 40)), random.integers(0, 2, 3000)
    np.savetxt(folder / "noise.csv", np.column_stack([X, y]), delimiter=",")
    process = command(
        "train", "noise.csv", "a.model", "--loss", "hinge", "-C", "1000", "--tol", "1e-15",
        "--solver", "dual_cd", "--max-iter", "1000000000", "--verbose",
    )  # fmt: skip
    assert process.stderr.readline() != ""  # the first check: training is under way
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "interrupted: the best point so far was kept and written to a.model" in err
    assert "Traceback" not in err
    assert "relative gap" in out
    model = load_model(folder / "a.model")
    assert model.status == ("interrupted",)
    assert 0.0 < model.certificates[0].relative_gap < 1.0


def test_as_a_program(folder):
    process = command("train", "iris.svm", "--json")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["model"] == "iris.svm.model"
    process = command("train", "none.svm")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err == "widemargin: none.svm: No such file or directory\n"


def test_a_closed_pipe_is_no_drama(folder):
    main(["train", "iris.svm", "a.model", "--quiet"])
    process = command("predict", "iris.svm", "a.model", "-q")
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    process.wait(timeout=60)


def test_demo(run, folder):
    code, out, _ = run("demo")
    assert code == 0
    table = {line.split("│")[1].strip(): line for line in out.splitlines() if "│" in line}
    ours = float(table["widemargin, certified"].split("│")[3].split()[0])
    default = float(table["scikit-learn, max_iter=1,000"].split("│")[3].split()[0])
    assert ours <= 1e-4
    assert default > 100
    assert "Choosing C: digits" in out
    assert "widemargin-report.html" in out
    page = (folder / "widemargin-report.html").read_text(encoding="utf-8")
    assert "handwritten digits" in page
    assert len(page.encode()) < 1_000_000
