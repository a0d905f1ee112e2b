"""A transformer before the classifier of a search: fitted in each fold, used once for all C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from widemargin.data.training_set import TrainingSet
from widemargin.data.validation import check_consistent
from widemargin.estimators.linear import LinearClassifier

Indices = NDArray[np.int64]


class Transforms(LinearClassifier):
    """What the searches make of ``transformer``."""

    transformer: Any
    transformer_: Any

    def _check_transformer(self) -> None:
        known = self.transformer is None or hasattr(self.transformer, "transform")
        if not known or isinstance(self.transformer, type):
            raise ValueError(
                "transformer must be a transformer or a pipeline of transformers, or None; got "
                f"{self.transformer!r}"
            )

    def _training_set(self, X: Any, y: Any, sample_weight: Any, C: float) -> TrainingSet:
        """Return all examples, transformed if there is a transformer."""
        self.__dict__.pop("transformer_", None)
        if self.transformer is None:
            return super()._training_set(X, y, sample_weight, C)
        check_consistent_length(X, y)
        fitted = clone(self.transformer)
        data = self._set_of(_fitted_and_used(fitted, X, y), y, sample_weight, C)
        self.transformer_ = fitted
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return data

    def _set_of(self, X: Any, y: Any, sample_weight: Any, C: float, **settings: Any) -> TrainingSet:
        return TrainingSet.of(
            X,
            y,
            sample_weight,
            C=C,
            class_weight=self.class_weight,
            fit_intercept=self._intercept(),
            intercept_scaling=float(self.intercept_scaling),
            **settings,
        )

    def _transformed(
        self, X: Any, data: TrainingSet
    ) -> Callable[[Indices, Indices], TrainingSet] | None:
        """Return what makes a fold's own examples, or None if the folds share theirs."""
        if self.transformer is None:
            return None

        def fold_set(train: Indices, test: Indices) -> TrainingSet:
            transformer, order = clone(self.transformer), np.concatenate([train, test])
            parts = [
                _fitted_and_used(transformer, _rows(X, train), data.y[train]),
                transformer.transform(_rows(X, test)),
            ]
            weight = None if data.weight is None else data.weight[order]
            return self._set_of(
                _stacked(parts), data.y[order], weight, data.C, classes=data.classes
            )

        return fold_set

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the signed scores w·x + b.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            With a transformer, whatever this takes.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        check_is_fitted(self)
        if "transformer_" not in self.__dict__:
            return super().decision_function(X)
        found = self.transformer_.transform(X)
        check_consistent(found)
        return self._scores_of(
            check_array(found, accept_sparse="csr", dtype=[np.float64, np.float32])
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.transformer is not None:
            tags.input_tags = get_tags(self.transformer).input_tags
        return tags


def _fitted_and_used(transformer: Any, X: Any, y: Any) -> Any:
    """Fit a transformer; return what it makes of the same rows, as a pipeline would."""
    if hasattr(transformer, "fit_transform"):
        return transformer.fit_transform(X, y)
    return transformer.fit(X, y).transform(X)


def _rows(X: Any, places: Indices) -> Any:
    """Return some rows of a matrix, a data frame or a list, of the same kind."""
    if hasattr(X, "iloc"):
        return X.iloc[places]
    if sp.issparse(X):
        return X.tocsr()[places]
    if hasattr(X, "shape"):
        return X[places]
    return [X[place] for place in places]


def _stacked(parts: list[Any]) -> Any:
    if any(sp.issparse(part) for part in parts):
        return sp.vstack(parts, format="csr")
    return np.concatenate([np.asarray(part) for part in parts])
