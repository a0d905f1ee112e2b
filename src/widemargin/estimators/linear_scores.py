"""What the linear estimators share once they are trained: scores from weights."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from widemargin.data.elsewhere import Elsewhere
from widemargin.data.training_set import TrainingSet, join_intercept
from widemargin.data.validation import validate_new_rows
from widemargin.estimators.certified import CertifiedClassifier
from widemargin.problems.probabilities import probabilities


@dataclass(frozen=True, eq=False)
class Start:
    """Where a fit starts: weights and intercepts as problems have them, one line each.

    Attributes
    ----------
    dual : ndarray or sparse array, or None
        ``dual_coef_``, if it is known for the same examples.
    """

    w: NDArray[np.float64]
    b: NDArray[np.float64]
    dual: Any = None


class LinearScores(CertifiedClassifier):
    """Base of the estimators that score by w·x + b, whatever problem they were trained by."""

    warm_start: bool
    coef_: Any

    @abstractmethod
    def _description(self) -> dict[str, Any]:
        """Return what a model file says about the training: loss, C, kind of intercept, rule."""

    def _previous(self, data: TrainingSet) -> Start | None:
        """Return where the last fit ended, if it was about the same weights."""
        shape = (len(data.positives), data.rows.features)
        if getattr(self, "coef_", np.empty(0)).shape != shape:
            return None
        self.densify()
        if not np.array_equal(self.classes_, data.classes):
            return None
        same = self.dual_coef_.shape[1] == data.rows.count
        w, b = join_intercept(self.coef_, self.intercept_, data.scaling, data.rows.shift)
        return Start(w, b, self.dual_coef_ if same else None)

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the signed scores w·x + b.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or DiskData

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        check_is_fitted(self)
        if isinstance(X, Elsewhere):
            if X.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input"
                )
            return np.concatenate([self._scores_of(block) for block in X.matrices()])
        X = validate_new_rows(self, X)
        return self._scores_of(X)

    def _scores_of(self, X: Any) -> NDArray[Any]:
        """Return the scores of rows that were checked."""
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _predict_proba_lr(self, X: Any) -> NDArray[np.float64]:
        """Return logistic functions of the scores, scaled to sum to one, whatever the loss.

        The name that scikit-learn's linear classifiers have for it; these are no calibrated
        probabilities.
        """
        return probabilities(self.decision_function(X), joint=False)

    def sparsify(self) -> Any:
        """Turn ``coef_`` into a sparse matrix, which saves memory if most weights are zero.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Any:
        """Turn ``coef_`` back into an array.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
