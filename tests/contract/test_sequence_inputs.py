"""SequenceSVC: inputs, edge cases, warm starts, limits."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from widemargin import SequenceCRF, SequenceSVC
from widemargin.data.feature_dicts import PackedNames, sequences_of_dicts, table_of


def sentences(seed: int = 0, count: int = 60) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    random = np.random.default_rng(seed)
    codes = [np.cumsum(random.random(n) < 0.4) % 3 for n in random.integers(1, 9, count)]
    X = [np.eye(3)[c] + 0.7 * random.normal(size=(c.size, 3)) for c in codes]
    return X, [np.array(["a", "b", "c"])[c] for c in codes]


X, Y = sentences()


def dictionary(row: NDArray[Any]) -> dict[str, Any]:
    return {"word": f"w{np.argmax(row)}", "size": float(row[0]), "on": True}


DICTS = [[dictionary(row) for row in x] for x in X]


def test_dictionaries_and_empty_sequences() -> None:
    model = SequenceSVC().fit([*DICTS, []], [*map(list, Y), []])
    assert set(model.feature_names_) == {"word=w0", "word=w1", "word=w2", "size", "on"}
    unknown = [[{"word": "never seen"}], [], DICTS[0]]
    found = model.predict(unknown)
    assert [len(labels) for labels in found] == [1, 0, len(DICTS[0])]
    assert model.score(DICTS, Y) == pytest.approx(
        np.mean(np.concatenate(model.predict(DICTS)) == np.concatenate(Y))
    )


def test_an_iterator_over_dictionaries() -> None:
    sentences = [[{"word": "a"}, {"word": "b", "x": 2.0}], [], [{"word": "b"}]]
    labels = [["A", "B"], [], ["B"]]
    whole = SequenceSVC().fit(sentences, labels)
    read = SequenceSVC().fit(iter(sentences), labels)
    np.testing.assert_array_equal(whole.coef_, read.coef_)
    assert list(read.feature_names_) == ["word=a", "word=b", "x"]
    found = read.predict(sentence for sentence in sentences)
    assert [list(each) for each in found] == labels


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (np.eye(2), "sequence 1 is a matrix. Pass matrices as a list"),
        ("ab", "sequence 1 is of type str"),
        ([np.ones(3), np.ones(3)], "sequence 1 has a row of type ndarray"),
        ([1.0, 2.0], "sequence 1 has a row of type float"),
        ([[0.5, 1.0], [1.0, 0.5]], "a list of feature names has 0.5"),
    ],
)
def test_an_iterator_over_anything_else(sentence: Any, message: str) -> None:
    first = [{"word": "a"}, {"word": "b"}]
    with pytest.raises(ValueError, match=message):
        SequenceSVC().fit(iter([first, sentence]), [["A", "B"], ["A", "B"]])


def test_values_of_dictionaries_are_exact() -> None:
    """Kept in single precision only as long as nothing is lost."""
    ones = sequences_of_dicts([[{"a": 1.0, "b": 0.5}]], None)[0]
    assert ones.X.dtype == np.float32
    mixed = sequences_of_dicts([[{"a": 1.0, "b": 0.5}, {"a": 0.1}], [{"b": 1e300}]], None)[0]
    np.testing.assert_array_equal(mixed.X.toarray(), [[1.0, 0.5], [0.1, 0.0], [0.0, 1e300]])


@pytest.mark.parametrize("value", [object(), b"word", np.ones(3)])
def test_what_a_feature_cannot_be(value: Any) -> None:
    with pytest.raises(ValueError, match=r"feature 'a' has the value .* it must be a number"):
        SequenceSVC().fit([[{"a": value}, {"b": 1.0}]], [["A", "B"]])


def test_values_that_are_all_one_take_no_memory() -> None:
    random = np.random.default_rng(0)
    words = [[[f"w{a}", f"v{b}"] for a, b in random.integers(0, 9, (5, 2))] for _ in range(30)]
    labels = [["A" if token[0] < "w5" else "B" for token in sentence] for sentence in words]
    found = sequences_of_dicts(words, None)[0]
    assert found.X.data.strides == (0,)
    for model in (SequenceSVC(C=0.5), SequenceCRF(C=0.5)):
        model.fit(words, labels)
        matrix = csr_matrix(
            (np.ones(found.X.nnz), found.X.indices, found.X.indptr), shape=found.X.shape
        )
        assert found.rows().frobenius == pytest.approx(np.sqrt(matrix.nnz), rel=1e-5)
        whole = clone(model).fit(matrix, np.concatenate(labels), lengths=found.lengths)
        np.testing.assert_array_equal(model.coef_, whole.coef_)
        assert model.certificate_ == whole.certificate_
        assert list(map(list, model.predict(words))) == list(
            map(list, whole.predict(matrix, lengths=found.lengths))
        )


def test_features_that_are_named_twice_are_added() -> None:
    rows = sequences_of_dicts([[["a", "b", "a"], {"b": {"c": 0.5}, "b:c": 1.5, "z": 0.0}]], None)
    assert rows[0].X.toarray().tolist() == [[2.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]]
    assert PackedNames(rows[1]).unpacked().tolist() == ["a", "b", "b:c", "z"]


def test_names_of_any_characters() -> None:
    names = [f"name {i}" for i in range(5000)] + ["", "é", "\udcff", "a\nb", "a\0b", "𝛼"]
    table = table_of(names)
    assert len(table) == len(names)
    assert table.numbers([*names[::-1], "new"], False) == [*range(len(names))[::-1], -1]
    assert table.numbers(["new", "é"], True) == [len(names), names.index("é")]
    assert PackedNames(table).unpacked().tolist() == [*names, "new"]
    with pytest.raises(TypeError, match="not a string"):
        table.numbers([1.0], True)
    model = SequenceSVC().fit([[{"\udcff": "x"}, {"y": "\udcff"}]], [["A", "B"]])
    assert list(model.feature_names_) == ["\udcff=x", "y=\udcff"]


def test_scores_and_unseen_labels() -> None:
    model = SequenceSVC().fit(X, Y)
    assert model.coef_.shape == model.transition_.shape == (3, 3)
    scores = model.decision_function(X)
    assert scores[1] == pytest.approx(X[1] @ model.coef_.T)
    strange = [np.full(labels.size, "never") for labels in Y]
    assert model.score(X, strange) == 0.0
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(np.concatenate(again.predict(X)), np.concatenate(model.predict(X)))


@pytest.mark.parametrize(
    ("rows", "labels", "settings", "message"),
    [
        (X, Y[:-1], {}, "one list of labels for each of the 60 sequences"),
        ([X[0], X[1][:, :2]], Y[:2], {}, "sequence 1 has 2 features, expected 3"),
        (np.vstack(X), Y, {}, "pass lengths="),
        ([X[1]], [Y[1][:-1]], {}, "labels"),
        ([X[1], X[0] * np.nan], [Y[1], Y[0]], {}, "sequence 1: Input X contains NaN"),
        (DICTS[0], Y[0], {}, "X is one sequence of feature dictionaries"),
        (["two words"], [["a", "b"]], {}, "sequence 0 is neither a matrix of numbers"),
        ([np.ones(2)], [["a", "b"]], {}, "sequence 0 is neither a matrix of numbers"),
        ([X[1], X[0]], [Y[1], range(len(X[0]))], {}, "y mixes strings with other labels"),
        ([np.eye(2)], [["a", 1]], {}, "some labels of sequence 0 are missing, or of another type"),
        ([np.eye(2)], [["a", None]], {}, "some labels of sequence 0 are missing"),
        ([np.eye(2)], [[1.0, np.nan]], {}, "some labels of sequence 0 are missing"),
        ([np.eye(2)], [np.ones((2, 1))], {}, "one for each row"),
        ([], [], {}, "X has no sequence with any rows"),
        ([X[0][:1]], [Y[0][:1]], {}, "at least two different labels"),
        (X, Y, {"C": -1.0}, "C must be"),
        (X, Y, {"cost": "zero"}, "cost must be 'hamming' or an array"),
        (X, Y, {"cost": np.ones((3, 3))}, "zero on its diagonal"),
        (X, Y, {"solver": "newton"}, "cached_frank_wolfe"),
        ("words", Y, {}, "list of sequences"),
    ],
)
def test_what_is_refused(rows: Any, labels: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SequenceSVC(**settings).fit(rows, labels)
    with pytest.raises(NotFittedError):
        SequenceSVC().predict(X)


def test_lengths_must_fit() -> None:
    with pytest.raises(ValueError, match="lengths add up to 2"):
        SequenceSVC().fit(np.vstack(X), Y, lengths=[1, 1])
    with pytest.raises(ValueError, match="lengths= goes with one matrix"):
        SequenceSVC().fit(X, Y, lengths=[len(x) for x in X])
    model = SequenceSVC().fit(X, Y)
    with pytest.raises(ValueError, match="features, expected 3"):
        model.predict([X[0][:, :2]])
    with pytest.raises(ValueError, match="not trained on feature dictionaries"):
        model.predict(DICTS)


def test_sequences_without_rows() -> None:
    nothing = [X[0][:0], []]
    for model in (SequenceSVC().fit(X, Y), SequenceCRF().fit(X, Y)):
        assert [each.size for each in model.predict(nothing)] == [0, 0]
        assert [each.shape for each in model.decision_function(nothing)] == [(0, 3), (0, 3)]
        with pytest.raises(ValueError, match="no rows to score"):
            model.score(nothing, [[], []])
    assert [each.shape for each in model.predict_proba(nothing)] == [(0, 3), (0, 3)]


def test_rows_of_feature_names() -> None:
    names = [[{"upper", "first"}, {"lower"}], [["lower"], ["upper"]]]
    flags = [[dict.fromkeys(row, True) for row in sentence] for sentence in names]
    labels = [["A", "B"], ["B", "A"]]
    model = SequenceSVC().fit(names, labels)
    assert list(model.feature_names_) == ["first", "upper", "lower"]  # not as the set has them
    assert [list(each) for each in model.predict(flags)] == labels
    with pytest.raises(ValueError, match="the model was trained on feature dictionaries"):
        model.predict([X[0][:, :2]])


def test_warm_start_weights_and_copies() -> None:
    model = SequenceSVC(C=0.5, warm_start=True, tol=1e-4).fit(X, Y)
    model.fit(X, Y)
    assert model.n_iter_ == 0
    # The shares are kept: costs add up to C'/C times as much, and so do the weights. No step can
    # lose any of that dual value, so that a fit that is stopped at once has it.
    squared = sum(
        float(np.vdot(each, each))
        for each in (model.coef_, model.transition_, model.start_, model.end_)
    )
    costs = model.certificate_.dual + 0.5 * squared
    start = 1.2 * costs - 0.5 * 1.2**2 * squared
    model.set_params(C=0.6, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, Y)
    assert model.certificate_.dual >= start * (1.0 - 1e-9)
    with pytest.warns(ConvergenceWarning):
        cold = SequenceSVC(C=0.6, max_iter=1, tol=1e-4).fit(X, Y)
    assert cold.certificate_.dual < start
    model.set_params(max_iter=1000).fit(X, Y)
    assert model.certificate_.relative_gap <= 1e-4
    weight = np.where(np.arange(60) < 10, 2.0, 1.0)
    weighted = SequenceSVC(tol=1e-6).fit(X, Y, weight)
    repeated = SequenceSVC(tol=1e-6).fit(X + X[:10], Y + Y[:10])
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=2e-6)
    assert clone(model).get_params()["C"] == 0.6


def test_limits_and_callbacks() -> None:
    seen = []
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        SequenceSVC(max_iter=1, tol=1e-9).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        # C so large that the first certificate, after 50 passes, is not yet at the digits' end.
        SequenceSVC(
            C=100.0, tol=1e-12, callback=lambda name, record: bool(seen.append(record) or True)
        ).fit(X, Y)
    assert seen[0].primal >= seen[0].dual
    model = SequenceSVC(tol=1e-2).fit(X, Y)
    assert model.history_[0]["relative_gap"][-1] <= 1e-2
    assert model.status_ == ["converged"]
    assert "cached_frank_wolfe" in model.solver_


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([], [], "X has no sequence with any rows"),
        ([np.zeros((0, 3))], [[]], "X has no sequence with any rows"),
        ([np.full((2, 3), np.nan)], [[0, 1]], "Input X contains NaN"),
    ],
)
def test_no_rows_and_no_numbers(X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SequenceSVC().fit(X, y)
