"""Probabilities for a search whose loss has none: calibrated on what the folds held out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from widemargin.problems.calibration import METHODS, Calibration
from widemargin.selection.folds import Folds
from widemargin.selection.search import Driver


def calibration_of(estimator: Any) -> Calibration | None:
    """Return the calibration that a fitted estimator holds, or None."""
    kept = getattr(estimator, "calibration_", None)
    return None if kept is None else Calibration(**kept)


class CalibratedProbabilities:
    """Probabilities of the classes from the scores, if ``probability`` asks for them."""

    probability: bool | str
    calibration_: dict[str, Any]
    decision_function: Callable[[Any], NDArray[Any]]

    def _check_probability(self) -> None:
        if not (isinstance(self.probability, bool | np.bool_) or self.probability in METHODS):
            raise ValueError(
                "probability must be True, False, 'sigmoid' or 'isotonic'; got "
                f"{self.probability!r}"
            )

    def _learn_from(self, driver: Driver) -> None:
        before = self.__dict__.pop("calibration_", None)
        if not self.probability:
            return
        method = self.probability if isinstance(self.probability, str) else METHODS[0]
        scores, folds = driver.held_out_scores(), driver.engine.folds
        if scores is None:
            if before is not None:
                self.calibration_ = before
            return
        found = Calibration.of(method, np.concatenate(scores), *_held_out(folds))
        self.calibration_ = {
            "method": found.method,
            "values": found.values,
            "lengths": found.lengths,
        }

    @available_if(lambda self: bool(self.probability))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, calibrated on the rows that the folds held out.

        Available with ``probability``. `predict` goes by the scores all the same, so that close to
        the boundary a class may be predicted that is not the likeliest.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "calibration_")
        return Calibration(**self.calibration_).probabilities(self.decision_function(X))

    @available_if(lambda self: bool(self.probability))
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):  # an isotonic step may be at zero
            return np.asarray(np.log(self.predict_proba(X)))


def _held_out(folds: Folds) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Return classes and weights of the rows held out, fold by fold; a row as often as it was."""
    rows = np.concatenate([test for _, test in folds.splits])
    weight = folds.data.weight
    return folds.data.codes[rows], None if weight is None else weight[rows]
