"""Scores of held-out rows: accuracy by counting, anything else by scikit-learn's scorers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring, get_scorer_names, make_scorer
from sklearn.utils.metaestimators import available_if

from widemargin.selection.engines.base import Solved
from widemargin.selection.folds import Folds
from widemargin.selection.search import Scorer

Vector = NDArray[np.float64]
FoldScorer = Callable[[int, Vector, Vector], float]


def places_of(decisions: Vector) -> NDArray[np.intp]:
    """Return the place of the predicted class for scores of shape (n, k)."""
    if decisions.shape[1] == 1:
        return (decisions[:, 0] > 0.0).astype(np.intp)
    return np.asarray(decisions.argmax(axis=1))


def accuracy(folds: Folds, weighted: bool = True) -> Scorer:
    """Return the scorer that counts; by weight, so that a weight of 2 means a row given twice."""
    given = folds.data.weight if weighted else None

    def score(solved: Solved) -> Vector:
        shares = np.empty(len(folds.splits))
        for fold, (_, test) in enumerate(folds.splits):
            right = places_of(solved.decisions[fold]) == folds.data.codes[test]
            weight = np.ones(test.size) if given is None else given[test]
            total = float(weight.sum())
            shares[fold] = float(weight[right].sum()) / total if total > 0.0 else np.nan
        return shares

    return score


class _Answers(ClassifierMixin, BaseEstimator):
    """A classifier that has answered already: it gives the stored scores, whatever is asked."""

    def __init__(self, classes: Any, decisions: Any, probabilities: Any) -> None:
        self.classes = classes
        self.decisions = decisions
        self.probabilities = probabilities

    @property
    def classes_(self) -> NDArray[Any]:
        return np.asarray(self.classes)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> Any:
        return self

    def decision_function(self, X: Any) -> Vector:
        d = self.decisions
        return np.asarray(d[:, 0] if d.shape[1] == 1 else d)

    def predict(self, X: Any) -> NDArray[Any]:
        return self.classes_[places_of(self.decisions)]

    @available_if(lambda self: self.probabilities is not None)
    def predict_proba(self, X: Any) -> Vector:
        return np.asarray(self.probabilities(self.decision_function(X)))

    @available_if(lambda self: self.probabilities is not None)
    def predict_log_proba(self, X: Any) -> Vector:
        return np.log(self.predict_proba(X))


def scorer_of(
    folds: Folds,
    scoring: Any,
    fitted: Callable[[int, Vector, Vector], Any],
    current: Callable[[], tuple[Any, Vector]],
    probabilities: Callable[[Vector], Vector] | None,
    metadata: dict[str, Any] | None = None,
) -> tuple[Scorer, FoldScorer | None]:
    """Return the function that scores what the folds came to, and one for single folds.

    The latter takes a fold, its weights and its intercepts, and is None for the name of a score.

    Parameters
    ----------
    folds : Folds
    scoring : str, callable or None
        A name is answered from the held-out scores. A callable gets an estimator and the rows.
    fitted : callable
        Makes a fitted estimator from a fold, its weights (k, weights) and intercepts (k,).
    current : callable
        Gives the present weights and intercepts of all folds.
    probabilities : callable, optional
        From scores to probabilities, if the loss has them.
    metadata : dict, optional
        What the scorer gets beside the rows, for all of them; by default the weights.
    """
    if metadata is None:
        metadata = {"sample_weight": folds.data.weight}
    counted = scoring is None or (isinstance(scoring, str) and scoring == "accuracy")
    if counted and set(metadata) <= {"sample_weight"}:
        return accuracy(folds, weighted=scoring is None or "sample_weight" in metadata), None
    check_score_name(scoring)
    named = isinstance(scoring, str)
    y = folds.data.y
    test = folds.splits[0][1]
    probe = _Answers(
        folds.data.classes, np.zeros((test.size, len(folds.data.positives))), probabilities
    )
    scorer = _with_labels(check_scoring(probe, scoring=scoring), folds.data.classes)
    if named:
        _try(scorer, scoring, probe, y[test])

    def of_fold(fold: int, estimator: Any, rows: Any) -> float:
        test = folds.splits[fold][1]
        given = {
            name: _selected(value, test, y.size)
            for name, value in metadata.items()
            if value is not None
        }
        return score_of(scorer, estimator, rows, y[test], **given)

    def score(solved: Solved) -> Vector:
        values = np.empty(len(folds.splits))
        for fold, (_, test) in enumerate(folds.splits):
            answers = _Answers(folds.data.classes, solved.decisions[fold], probabilities)
            values[fold] = of_fold(fold, answers, np.zeros((test.size, 1)))
        return values

    def at_weights(fold: int, w: Vector, b: Vector) -> float:
        return of_fold(fold, fitted(fold, w, b), folds.held_out_X(fold))

    def score_anew(solved: Solved) -> Vector:
        w, b = current()
        return np.array([at_weights(fold, w[fold], b[fold]) for fold in range(len(folds.splits))])

    return (score, None) if named else (score_anew, at_weights)


def check_score_name(scoring: Any) -> None:
    """Raise an error unless it is None, a callable or the name of a scikit-learn scorer."""
    if isinstance(scoring, str):
        if scoring not in get_scorer_names():
            raise ValueError(
                f"scoring={scoring!r} is no score of scikit-learn; "
                "sklearn.metrics.get_scorer_names() lists them"
            )
    elif scoring is not None and not callable(scoring):
        raise ValueError(f"scoring must be the name of one score or a callable; got {scoring!r}")


def _try(scorer: Any, scoring: str, probe: _Answers, y: NDArray[Any]) -> None:
    """Raise an error, before any work, if a score cannot be computed for these classes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about scores that are all the same
            scorer(probe, np.zeros((y.size, 1)), y)
    except AttributeError as error:
        if probe.probabilities is None and "predict_proba" in str(error):
            raise ValueError(
                f"scoring={scoring!r} needs predict_proba: only the logistic loss has "
                "probabilities, use LogisticRegressionCV"
            ) from None
        raise
    except (TypeError, ValueError) as error:
        raise ValueError(f"scoring={scoring!r} does not go with these labels: {error}") from error


def _with_labels(scorer: Any, classes: NDArray[Any]) -> Any:
    """Return a scorer that knows all classes, where its score asks: a fold may hold out fewer."""
    function = getattr(scorer, "_score_func", None)
    known = {} if function is None else signature(function).parameters
    if "labels" not in known or "labels" in scorer._kwargs:
        return scorer
    settings = dict(scorer._kwargs)
    if classes.size == 2 and "pos_label" in known:
        settings.setdefault("pos_label", classes[-1])
    copy = make_scorer(
        function,
        response_method=scorer._response_method,
        greater_is_better=scorer._sign > 0,
        labels=classes,
        **settings,
    )
    if getattr(scorer, "_metadata_request", None) is not None:
        copy._metadata_request = scorer._metadata_request
    return copy


def _selected(value: Any, test: NDArray[np.int64], count: int) -> Any:
    """Return the entries that belong to rows, if there is one for each."""
    if np.ndim(value) == 0 or len(value) != count:
        return value
    return np.asarray(value)[test]


def score_of(scorer: Any, estimator: Any, X: Any, y: Any, **metadata: Any) -> float:
    """Return the score of held-out rows, weighted if it can be."""
    if not metadata:
        return float(scorer(estimator, X, y))
    try:
        return float(scorer(estimator, X, y, **metadata))
    except TypeError:
        if set(metadata) != {"sample_weight"}:
            raise
        return float(scorer(estimator, X, y))  # this score takes no weights
