"""LogisticRegression: the logistic loss, with probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.linear import LinearClassifier
from widemargin.problems.losses import LOGISTIC, Loss
from widemargin.problems.probabilities import log_probabilities, probabilities
from widemargin.run import Record


class Probabilities:
    """Probabilities of the classes, for the estimators of the logistic loss."""

    decision_function: Callable[[Any], NDArray[Any]]
    _probabilities = staticmethod(probabilities)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class.

        With several classes the one-vs-rest probabilities are divided by their sum.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return log_probabilities(self.decision_function(X))


class LogisticRegression(Probabilities, LinearClassifier):
    """Train an l2-regularised logistic regression, with a certificate of its optimality.

    Minimises ``½‖w‖² + Σ c_i log(1 + exp(−y_i (w·x_i + b)))`` with
    ``c_i = C · sample weight · class weight``. Several classes are trained one against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the losses against the norm of w.
    tol : float, default=1e-4
        Relative duality gap, (P − D)/P, at which training stops: the objective is then proven to
        be within this fraction of the optimum.
    fit_intercept : bool or "penalised", default=True
        True trains an intercept that is not penalised; "penalised" treats it as a weight of a
        constant feature, as LIBLINEAR does; False trains none.
    intercept_scaling : float, default=1.0
        Value of that constant feature; only with ``fit_intercept="penalised"``.
    class_weight : dict or "balanced", optional
        Factors on the cost of each class.
    solver : {"auto", "dual_cd", "newton"}, default="auto"
        How the problem is solved; the answer is the same to within ``tol``.
    max_iter : int, default=1000
        Sweeps or steps at most.
    time_limit : float, optional
        Seconds at most for each binary problem.
    warm_start : bool, default=False
        Start from the previous fit.
    n_jobs : int, optional
        Threads for several classes; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the order in which examples are visited.
    verbose : int, default=0
        Show a progress bar.
    callback : callable, optional
        Called as ``callback(class_name, record)`` at every check of the certificate; training
        stops if it returns True.

    Attributes
    ----------
    coef_, intercept_, classes_, dual_coef_, support_, certificate_, certificates_, n_iter_, \
status_, solver_, history_
        As in `LinearSVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression(tol=1e-6).fit(scale(X), y)
    >>> model.certificate_.relative_gap <= 1e-6
    True
    >>> model.predict_proba(scale(X)).shape
    (569, 2)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        fit_intercept: bool | str = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        solver: str = "auto",
        max_iter: int = 1000,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[[str, Record], object] | None = None,
    ) -> None:
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _loss(self) -> Loss:
        return LOGISTIC
