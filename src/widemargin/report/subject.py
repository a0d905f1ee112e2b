"""What a report is about: the fitted classifier, its data as it sees them, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from widemargin.data.cached import cached_property
from widemargin.estimators.certified import CertifiedClassifier
from widemargin.estimators.sequences import SequenceClassifier
from widemargin.estimators.structured_svc import StructuredSVC
from widemargin.model_io.model import LinearModel


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows as they were given, as the classifier sees them, and the places of their classes."""

    given: Any
    X: Any
    codes: NDArray[np.intp]

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.codes.size)


@dataclass(eq=False)
class Subject:
    """A fitted classifier with the examples that it was trained on and those held out."""

    estimator: Any
    steps: list[tuple[str, Any]]
    train: Examples
    test: Examples | None
    labels: NDArray[Any]
    given_names: Sequence[str] | None = None
    sample_weight: Any = None

    @classmethod
    def of(
        cls, estimator: Any, X: Any, y: Any, X_test: Any, y_test: Any, names: Any, weight: Any
    ) -> Subject:
        """Check what was passed and bring it into one form."""
        if names is None and isinstance(estimator, LinearModel):
            names = estimator.feature_names
        last, steps = unwrapped(estimator)
        if (X_test is None) != (y_test is None):
            raise ValueError("pass X_test and y_test together")
        given = None if names is None else [str(name) for name in names]
        train = _examples(last, steps, X, y, "")
        subject = cls(last, steps, train, None, np.asarray(y), given, weight)
        if X_test is not None:
            subject.test = _examples(last, steps, X_test, y_test, "_test")
        width = subject.width
        if given is not None and width is not None and len(given) != width:
            raise ValueError(f"feature_names has {len(given)} names for {width} features")
        return subject

    @property
    def classes(self) -> list[str]:
        """The names of the classes."""
        return [label_text(label) for label in np.asarray(self.estimator.classes_).tolist()]

    @property
    def judged(self) -> Examples:
        """The examples that quality is shown on: those held out, if there are any."""
        return self.train if self.test is None else self.test

    @property
    def judged_name(self) -> str:
        """What these are called."""
        return "training data" if self.test is None else "held-out data"

    @property
    def coef(self) -> NDArray[np.float64] | None:
        """The weights, a row for each score; None if the scores are not linear."""
        coef = getattr(self.estimator, "coef_", None)
        if coef is None:
            return None
        return np.asarray(coef.toarray() if sp.issparse(coef) else coef, dtype=np.float64)

    @property
    def width(self) -> int | None:
        """The number of weights of a score."""
        return None if self.coef is None else int(self.coef.shape[1])

    @cached_property
    def names(self) -> list[str]:
        """The names of the features, as the classifier sees them."""
        width = self.width or 0
        for found in (self.given_names, self._names_of_steps(), self._own_names()):
            if found is not None and len(found) == width:
                return [str(name) for name in found]
        return [f"feature {place}" for place in range(width)]

    def _own_names(self) -> Any:
        names = getattr(self.estimator, "feature_names_in_", None)
        return names if names is not None else getattr(self.train.given, "columns", None)

    def _names_of_steps(self) -> Any:
        if not self.steps:
            return None
        try:
            return Pipeline(self.steps).get_feature_names_out()
        except (AttributeError, ValueError, TypeError):  # a step that has no names to give
            try:
                return Pipeline(self.steps).get_feature_names_out(self._own_names())
            except (AttributeError, ValueError, TypeError):
                return None

    def scores(self, examples: Examples) -> NDArray[np.float64]:
        """Return the scores, one column for each class; two classes have opposite ones."""
        scores = np.asarray(self.estimator.decision_function(examples.X), dtype=np.float64)
        return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores

    @cached_property
    def judged_scores(self) -> NDArray[np.float64]:
        """The scores of the examples that quality is shown on."""
        return self.scores(self.judged)

    @cached_property
    def predicted(self) -> NDArray[np.intp]:
        """The place of the class that each of these is given."""
        answers = self.estimator.predict(self.judged.X)
        return _codes(self.estimator, answers, "")

    @cached_property
    def margins(self) -> NDArray[np.float64]:
        """The score of the own class less the best other one; two classes: y (w·x + b)."""
        scores, codes = self.judged_scores, self.judged.codes
        places = np.arange(codes.size)
        own = scores[places, codes]
        if scores.shape[1] == 2:
            return own
        rest = scores.copy()
        rest[places, codes] = -np.inf
        return own - rest.max(axis=1)


def label_text(label: Any) -> str:
    """Return a class label as text: 1 rather than 1.0."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def unwrapped(estimator: Any) -> tuple[Any, list[tuple[str, Any]]]:
    """Return the classifier that a pipeline or a search ends in, and the steps before it."""
    steps: list[tuple[str, Any]] = []
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            check_is_fitted(estimator)
            steps += [
                (n, s) for n, s in estimator.steps[:-1] if s is not None and s != "passthrough"
            ]
            estimator = estimator.steps[-1][1]
        elif isinstance(estimator, LinearModel):
            estimator = estimator.to_estimator()
            # Names are shown, not compared: the rows may come as arrays.
            vars(estimator).pop("feature_names_in_", None)
        else:
            break
    of_rows = not isinstance(estimator, SequenceClassifier | StructuredSVC)
    if not (isinstance(estimator, CertifiedClassifier) and of_rows):
        raise TypeError(
            "report takes a fitted classifier of widemargin, a pipeline or a search that ends in "
            "one, a LinearModel, or a Comparison, but no regression and no model of sequences; "
            f"got {type(estimator).__name__}"
        )
    check_is_fitted(estimator, "classes_")
    return estimator, steps


def _examples(last: Any, steps: list[tuple[str, Any]], X: Any, y: Any, suffix: str) -> Examples:
    if X is None or y is None:
        raise ValueError("report needs X and y: the data that the model was trained on")
    check_consistent_length(X, y)
    seen = X
    for _, step in steps:
        seen = step.transform(seen)
    return Examples(X, seen, _codes(last, y, suffix))


def _codes(estimator: Any, y: Any, suffix: str) -> NDArray[np.intp]:
    labels, classes = np.asarray(y).ravel(), np.asarray(estimator.classes_)
    places = {label: place for place, label in enumerate(classes.tolist())}
    try:
        return np.array([places[label] for label in labels.tolist()], dtype=np.intp)
    except KeyError as unknown:
        raise ValueError(
            f"y{suffix} contains the class {unknown.args[0]!r}, which the model was not trained on"
        ) from None
