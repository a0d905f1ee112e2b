"""Options stand anywhere, lists end where they end, and nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from widemargin.model_io import load_liblinear, load_model


@pytest.mark.parametrize(
    "words",
    [
        ("cancer.svm", "-C", "0.5", "out.model"),
        ("-C", "0.5", "cancer.svm", "out.model"),
        ("cancer.svm", "out.model", "-C", "0.5"),
        ("--class-weight=-1=1,1=1", "cancer.svm", "-C", "0.5", "--quiet", "out.model"),
    ],
)
def test_options_among_the_files(run, words):
    """``train cancer.svm -C 1 out.model`` had been refused, lists had swallowed file names."""
    code, _, err = run("train", *words)
    assert code == 0, err
    assert load_model("out.model").C == 0.5


def test_a_list_ends_with_its_value(run):
    assert run("tune", "--Cs", "0.1,1", "cancer.svm", "--Cs", "10", "out.model")[0] == 0
    assert load_model("out.model").C in (0.1, 1.0, 10.0)


def test_no_abbreviations(run):
    code, _, err = run("train", "cancer.svm", "--los", "hinge")
    assert code == 2
    assert "--los" in err


def test_convert_refuses_an_unknown_ending(run):
    code, _, err = run("convert", "iris.csv", "out.xyz")
    assert code == 2
    assert "the ending .xyz names no format; choose one by --to" in err
    assert run("convert", "cancer.svm", "out.libsvm.gz")[0] == 0
    assert run("convert", "cancer.svm", "out.xyz", "--to", "csv")[0] == 0


def test_predict_refuses_another_width(run):
    assert run("train", "cancer.svm", "a.model")[0] == 0
    code, _, err = run("predict", "iris.svm", "a.model")
    assert code == 2
    assert "iris.svm has 4 features, the model has 30; --pad to take the missing" in err
    assert run("predict", "iris.svm", "a.model", "--pad")[0] == 0


def test_the_spelling_of_liblinear(run):
    words = ("-s", 2, "-c", 0.5, "-B", 1, "-w-1", 2, "-e", 0.01, "cancer.svm", "theirs.model")
    code, _, err = run("train", "--liblinear", *words)
    assert code == 0, err
    assert "-e 0.01 bounds gradients in LIBLINEAR and is not used" in err
    ours = ("--intercept", "penalised", "--class-weight=-1=2", "cancer.svm", "ours.model")
    assert run("train", "-C", 0.5, *ours)[0] == 0
    theirs, mine = load_liblinear("theirs.model"), load_model("ours.model")
    np.testing.assert_allclose(np.abs(theirs.coef), np.abs(mine.coef))
    assert run("train", "--liblinear", "-s", 4, "iris.svm", "cs.model")[0] == 0
    for kind, name in ((5, "L1R_L2LOSS_SVC"), (6, "L1R_LR"), (11, "L2R_L2LOSS_SVR")):
        assert run("train", "--liblinear", "-s", kind, "cancer.svm", "other.model")[0] == 0
        assert load_liblinear("other.model").solver == name
    # A search prints what it has found, and writes no model, as LIBLINEAR.
    words = ("-v", 3, "cancer.svm", "found.model")
    for more in ((), ("-C",), ("-s", 5), ("-s", 11)):
        code, out, _ = run("train", "--liblinear", *more, *words)
        assert code == 0
        assert not Path("found.model").exists()
        assert ("Cross Validation Accuracy = 9" in out) == (11 not in more)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-s", 22, "cancer.svm"), "-s 22 is not supported"),
        (("-s", 21, "-c", 2, "cancer.svm"), "-c has no meaning for -s 21"),
        (("-s", 11, "-w1", 2, "cancer.svm"), "no meaning for a regression"),
        (("-p", 0.1, "cancer.svm"), "-p is for -s 11, 12 and 13"),
        (("-z", "cancer.svm"), "-z is not an option of LIBLINEAR's train"),
        (("-c", "many", "cancer.svm"), "-c takes a number; got many"),
        (("-c",), "-c needs a value"),
        ((), "needs a data file"),
    ],
)
def test_what_liblinear_has_and_we_do_not(run, words, message):
    code, _, err = run("train", "--liblinear", *words)
    assert code == 2
    assert message in err


def test_bars_start_at_zero(run):
    """Scores that differ by a little had been drawn as all or nothing."""
    _, out, _ = run("tune", "cancer.svm", "--Cs", "0.01,0.1,1")
    bars = [line.count("█") for line in out.splitlines() if "█" in line]
    assert len(bars) == 3
    assert min(bars) > 25
