"""Column files, feature templates, letters and spans."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest

from widemargin import (
    DataFormatError,
    SequenceSVC,
    SequenceSVCCV,
    load_conll,
    load_letters,
    span_f1,
)
from widemargin.data.templates import Template

TEXT = "the DT B-NP\ndog NN I-NP\nbarks VBZ B-VP\n\n\nit PRP B-NP\nruns VBZ B-VP\n"


def test_column_files(tmp_path: Path) -> None:
    path = tmp_path / "train.txt.xz"
    path.write_bytes(lzma.compress(TEXT.encode()))
    data = load_conll(path, "U0:%x[0,0]\nU1:%x[-1,1]/%x[1,1]\nB\n")
    assert data.lengths.tolist() == [3, 2]
    assert data.y.tolist() == ["B-NP", "I-NP", "B-VP", "B-NP", "B-VP"]
    assert data.feature_names[:2] == ["U0:the", "U1:_B-1/NN"]
    assert data.X.toarray().sum(axis=1).tolist() == [2.0] * 5
    again = load_conll(path, "U0:%x[0,0]\nU1:%x[-1,1]/%x[1,1]\n", data.feature_names[:3])
    assert again.X.shape == (5, 3)
    model = SequenceSVC().fit(data.X, data.y, lengths=data.lengths)
    assert model.score(data.X, data.y, lengths=data.lengths) == 1.0


def test_files_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text("a b c\na b\n")
    with pytest.raises(
        DataFormatError, match=r"bad.txt:2: 2 columns where the lines before have 3"
    ):
        load_conll(path)
    path.write_text("\n\n")
    with pytest.raises(DataFormatError, match="no sentence"):
        load_conll(path)
    path.write_text("a b\n")
    with pytest.raises(DataFormatError, match="asks for 2 columns, the file has 1"):
        load_conll(path)
    path.write_bytes(lzma.compress(TEXT.encode())[:-20])
    with pytest.raises(DataFormatError, match="cannot be read"):
        load_conll(path)
    with pytest.raises(ValueError, match="line 1: transitions that depend on words"):
        Template("B01:%x[0,0]")
    with pytest.raises(ValueError, match="line 2: expected U"):
        Template("U0:%x[0,0]\nV:%x[0,0]")
    with pytest.raises(ValueError, match="no line that begins with U"):
        Template("B\n")


def test_letters(tmp_path: Path) -> None:
    pixels = ["0"] * 127 + ["1"]
    rows = [["1", "a", "2", "7", "1", "3"], ["2", "b", "-1", "7", "2", "3"]]
    path = tmp_path / "letter.data"
    path.write_text("\n".join("\t".join(row + pixels) for row in rows))
    X, y, fold = load_letters(path)
    assert X[0].shape == (2, 128)
    assert y[0].tolist() == ["a", "b"]
    assert fold.tolist() == [3]
    path.write_text("1 2 3\n")
    with pytest.raises(DataFormatError, match="3 columns instead of 134"):
        load_letters(path)


def test_span_f1() -> None:
    true = [["B-NP", "I-NP", "B-NP", "O", "I-VP", "I-NP"]]
    assert span_f1(true, true) == 1.0
    # Of four true spans and four predicted ones, three are the same.
    assert span_f1(true, [["B-NP", "I-NP", "B-NP", "B-PP", "I-VP", "O"]]) == pytest.approx(0.75)
    assert span_f1([["O"]], [["O"]]) == 1.0
    with pytest.raises(ValueError, match="different lengths"):
        span_f1([["O"]], [["O", "O"]])


def test_choice_of_C() -> None:
    random = np.random.default_rng(0)
    codes = [np.cumsum(random.random(6) < 0.4) % 3 for _ in range(60)]
    X = [np.eye(3)[c] + random.normal(size=(6, 3)) for c in codes]
    search = SequenceSVCCV(Cs=[0.3, 1e-4], cv=3).fit(X, codes)
    assert search.Cs_.tolist() == [1e-4, 0.3]
    assert search.scores_.shape == (3, 2)
    assert search.C_ == 0.3
    single = SequenceSVC(C=0.3).fit(X, codes)
    assert np.array_equal(search.coef_, single.coef_)
    with pytest.raises(ValueError, match="scoring must be one of"):
        SequenceSVCCV(scoring="f1").fit(X, codes)
    with pytest.raises(ValueError, match="Cs must be"):
        SequenceSVCCV(Cs=[-1.0]).fit(X, codes)
