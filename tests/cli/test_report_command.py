"""``widemargin report``: a page about data, about a model, about a comparison."""

import re

import pytest


def page_of(folder, name="widemargin-report.html"):
    return (folder / name).read_text(encoding="utf-8")


def test_data_alone_are_split_searched_and_reported(run, folder):
    code, out, _ = run("report", "iris.csv", "-j", "1")
    assert code == 0
    assert re.search(r"112 rows for training, 38 held out: accuracy \d+\.\d\d %", out)
    assert "widemargin-report.html written" in out
    page = page_of(folder)
    for words in ("Choice of C", "versicolor", "StandardScaler", "38 held-out rows"):
        assert words in page
    assert "Report on iris.csv" in page
    assert ">pw<" in page, "features have the names of the columns"


def test_a_model_and_its_data(run, folder):
    run("train", "cancer.svm", "cancer.model", "--loss", "hinge")
    code, out, _ = run("report", "cancer.model", "cancer.svm", "-o", "page.html", "--title", "<T>")
    assert code == 0
    assert "page.html written" in out
    page = page_of(folder, "page.html")
    assert "Certified:" in page
    assert "<h1>&lt;T&gt;</h1>" in page


def test_a_comparison(run, folder):
    run("bench", "--data", "cancer.svm", "--methods", "dual_cd,newton", "--problem",
        "squared_hinge", "--until", "1e-4", "--no-figures")  # fmt: skip
    code, _, _ = run("report", "bench/bench.csv", "-q")
    assert code == 0
    page = page_of(folder)
    assert "newton" in page
    assert "gap over seconds" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no.csv"], "there is no file no.csv"),
        (["iris.csv", "iris.csv"], "iris.csv is not a model"),
        (["iris.csv", "--hold-out", "1"], "--hold-out must be between 0 and 1"),
        (["iris.csv", "-o", "no/page.html"], "there is no directory"),
        (["rare.csv"], "class rare has one row"),
    ],
)
def test_what_cannot_be_reported_is_refused(run, folder, words, message):
    rows = ["x,label", *(f"{place},often" for place in range(9)), "9,rare"]
    (folder / "rare.csv").write_text("\n".join(rows) + "\n")
    code, _, err = run("report", *words)
    assert code == 2
    assert re.search(message, err)
    assert err.count("\n") == 1


def test_a_model_needs_its_data(run):
    run("train", "iris.svm", "iris.model")
    code, _, err = run("report", "iris.model")
    assert code == 2
    assert "widemargin report MODEL DATA" in err
