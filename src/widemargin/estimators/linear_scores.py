"""What the linear estimators share once they are trained: scores, labels, certificates."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin.data.validation import plain
from widemargin.problems.certificate import Certificate
from widemargin.run import Solution, Status


class LinearScores(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the estimators that score by w·x + b, whatever problem they were trained by."""

    class_weight: Any

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on examples X with labels y."""

    @abstractmethod
    def _description(self) -> dict[str, Any]:
        """Return what a model file says about the training: loss, C, kind of intercept, rule."""

    def _keep_runs(
        self, classes: NDArray[Any], positives: list[int], solutions: list[Solution]
    ) -> None:
        """Keep what the runs, one a class or one for two classes, say about themselves."""
        self.primal_ = np.array([s.certificate.primal for s in solutions])
        self.dual_ = np.array([s.certificate.dual for s in solutions])
        self.n_iter_ = np.array([s.iterations for s in solutions])
        self.status_ = [s.status.name.lower() for s in solutions]
        self.history_ = [s.history() for s in solutions]
        self.solver_ = solutions[0].solver
        if len({s.solver for s in solutions}) > 1:
            self.solver_ = "; ".join(
                f"{classes[p]}: {s.solver}" for p, s in zip(positives, solutions, strict=True)
            )

    def _warn(self, classes: NDArray[Any], positives: list[int], solutions: list[Solution]) -> None:
        short = [
            (s.certificate.relative_gap, place)
            for place, s in enumerate(solutions)
            if s.status is not Status.CONVERGED
        ]
        if short:
            _, worst = max(short)
            message = solutions[worst].message
            if len(solutions) > 1:
                message = (
                    f"{len(short)} of {len(solutions)} classes did not reach tol; the worst is "
                    f"{plain(classes[positives[worst]])!r}: {message}"
                )
            warnings.warn(message, ConvergenceWarning, stacklevel=3)

    @property
    def certificates_(self) -> list[Certificate]:
        """One certificate for each problem: a row of ``coef_``, or all classes together."""
        check_is_fitted(self)
        return [
            Certificate(float(p), float(d)) for p, d in zip(self.primal_, self.dual_, strict=True)
        ]

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the whole: one-vs-rest minimises the sum of its objectives."""
        check_is_fitted(self)
        return Certificate(float(self.primal_.sum()), float(self.dual_.sum()))

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

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the highest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[places]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
