"""LinearSVR: support vector regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from widemargin.estimators.fit_tasks import fit_task
from widemargin.estimators.linear_regressor import LinearRegressor
from widemargin.run import Record


class LinearSVR(LinearRegressor):
    """Linear support vector regression with a certificate of optimality.

    Minimises ``½‖w‖² + Σ c_i ℓ(y_i − w·x_i − b)`` with ``c_i = C · sample weight`` and
    ``ℓ(r) = max(0, |r| − ε)`` or ``max(0, |r| − ε)²``. Residuals within the tube of half-width ε
    cost nothing.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half-width ε of the tube, in the units of y. With 0 the loss is ``|r|``, and the fit is a
        penalised regression by least absolute deviations; squared, it is ridge regression.
    tol : float, default=1e-4
        Relative duality gap, (P − D)/P, at which training stops: the objective is then certified
        to be within this fraction of the optimum.
    C : float, default=1.0
        Weight of the losses in the objective: the inverse of the regularisation strength.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        Loss function of the residual r: ``max(0, |r| − ε)`` or ``max(0, |r| − ε)²``.
    fit_intercept : bool or "penalised", default=True
        True: an intercept that is not penalised; "penalised": the weight of a constant feature, as
        in LIBLINEAR; False: none.
    intercept_scaling : float, default=1.0
        Value of that constant feature; no effect on an intercept that is not penalised.
    coef_bounds : tuple (lower, upper), optional
        Bounds on the coefficients: numbers, or arrays with one per feature; None or infinity for no
        bound on a side.
    positive : bool, default=False
        Coefficients that are not negative: a lower bound of 0.
    dual : bool or "auto", default="auto"
        For compatibility with scikit-learn; no effect.
    solver : str, default="auto"
        Optimisation method: "dual_cd", "newton" or "quasi_newton" (squared loss),
        "proximal_newton" or "interior_point" (plain loss). All reach the same solution to within
        ``tol``.
    max_iter : int, default=1000
        Maximum number of sweeps or steps.
    time_limit : float, optional
        Time limit in seconds.
    warm_start : bool, default=False
        Start from the previous fit.
    random_state : int, RandomState instance or None, default=0
        Seed of the order in which examples are visited.
    verbose : int, default=0
        Show a progress bar.
    callback : callable, optional
        Called as ``callback("regression", record)`` at every check of the certificate; training
        stops if it returns True.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        float32 if X is, unless rounding to it would lose ``tol``.
    intercept_ : ndarray of shape (1,)
    dual_coef_ : ndarray of shape (n_samples,)
        The dual variables β_i: ``coef_ = dual_coef_ @ X``. Positive for targets above the tube,
        negative below it.
    support_ : ndarray
        Rows with a nonzero dual variable.
    certificate_ : Certificate
        Primal value, dual value and gap, computed from the data and the coefficients above.
    n_iter_ : int
    status_ : list of str
        "converged", "iteration_limit", "time_limit", "interrupted" or "stalled".
    solver_ : str
        Which methods ran, and why.
    history_ : list of dict
        What was recorded at every check: primal, dual, gap, active set, passes, seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from widemargin import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(epsilon=10.0, C=100.0).fit(X, y)
    >>> print(model.certificate_)
    primal ..., dual ..., within ... % of the optimum
    >>> round(model.score(X, y), 2)
    0.48
    """

    n_jobs = None

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool | str = True,
        intercept_scaling: float = 1.0,
        dual: bool | str = "auto",
        coef_bounds: tuple[Any, Any] | None = None,
        positive: bool = False,
        solver: str = "auto",
        max_iter: int = 1000,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[[str, Record], object] | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.coef_bounds = coef_bounds
        self.positive = positive
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @fit_task
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
        """Train on examples X with targets y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            float32 or float64, C order or CSR, is read in place (CSR with few zeros is copied);
            anything else is converted.
        y : array-like of shape (n_samples,)
            Numbers to predict.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 means the same as the row given twice.

        Returns
        -------
        self
        """
        self._check_arguments()
        data = self._target_set(X, y, sample_weight, float(self.C))
        self._train(data, self._previous(data) if self.warm_start else None)
        return self
