"""What the linear estimators share once they are trained: scores from weights."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin.estimators.certified import CertifiedClassifier


class LinearScores(CertifiedClassifier):
    """Base of the estimators that score by w·x + b, whatever problem they were trained by."""

    warm_start: bool

    @abstractmethod
    def _description(self) -> dict[str, Any]:
        """Return what a model file says about the training: loss, C, kind of intercept, rule."""

    def _goes_on(self, classes: NDArray[Any], shape: tuple[int, int]) -> bool:
        """Whether a fit may start where the last one ended: it was about the same weights."""
        return (
            self.warm_start
            and hasattr(self, "coef_")
            and self.coef_.shape == shape
            and np.array_equal(self.classes_, classes)
        )

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the signed scores w·x + b.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
            reset=False,
        )
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
