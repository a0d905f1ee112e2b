"""LinearSVRCV: support vector regression that chooses C by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from widemargin.data.validation import check_positive
from widemargin.estimators.arguments import seed_of
from widemargin.estimators.fit_tasks import fit_task
from widemargin.estimators.linear_regressor import LinearRegressor, model_weights
from widemargin.estimators.linear_svr import LinearSVR
from widemargin.problems.regression import RegressionProblem
from widemargin.run import Record, Solution
from widemargin.selection.path import check_Cs
from widemargin.selection.regression import PathSettings, path_scores


class LinearSVRCV(LinearRegressor):
    """Linear support vector regression that chooses C by cross-validation.

    In every fold the problems are solved from small C to large, each from the solution before.
    Then the model is trained on all rows at the C with the best mean score.

    Parameters
    ----------
    Cs : int or array-like, default=10
        Values of C; a number means as many from 1e-4 to 1e4, in equal ratios.
    epsilon : float, default=0.0
        Half-width of the tube, in the units of y.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        As in `LinearSVR`.
    cv : int, splitter or iterable, optional
        Folds, as in scikit-learn; five by default.
    scoring : str or callable, optional
        Any scorer of scikit-learn, as "neg_mean_squared_error"; R² by default.
    tol : float, default=1e-4
        Relative duality gap of the last fit.
    search_tol : float, default=1e-3
        Relative duality gap of the fits in the folds.
    fit_intercept, intercept_scaling, dual, solver, max_iter, random_state
        As in `LinearSVR`.
    time_limit : float, optional
        Time limit in seconds, per fit.
    n_jobs : int, optional
        Number of threads over the folds; the result does not depend on it.
    verbose : int, default=0
        Show a progress bar of the last fit.
    callback : callable, optional
        Called as ``callback("regression", record)`` in the last fit.

    Attributes
    ----------
    C_ : float
        The C that was chosen; among equal scores the smallest.
    Cs_ : ndarray of shape (n_Cs,)
    scores_ : ndarray of shape (n_Cs, n_folds)
    best_score_ : float
        The mean score at ``C_``.
    coef_, intercept_, dual_coef_, support_, certificate_, solver_, status_, n_iter_
        Of the last fit, as in `LinearSVR`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import LinearSVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = LinearSVRCV(Cs=[0.1, 1.0, 10.0], epsilon=10.0).fit(scale(X), y)
    >>> search.C_
    1.0
    >>> round(search.best_score_, 2)
    0.48
    """

    warm_start = False

    def __init__(
        self,
        *,
        Cs: Any = 10,
        epsilon: float = 0.0,
        loss: str = "epsilon_insensitive",
        cv: Any = None,
        scoring: Any = None,
        tol: float = 1e-4,
        search_tol: float = 1e-3,
        fit_intercept: bool | str = True,
        intercept_scaling: float = 1.0,
        dual: bool | str = "auto",
        solver: str = "auto",
        max_iter: int = 1000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[[str, Record], object] | None = None,
    ) -> None:
        self.Cs = Cs
        self.epsilon = epsilon
        self.loss = loss
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.search_tol = search_tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @property
    def C(self) -> float:  # type: ignore[override]
        """The C that was chosen, as `LinearSVR` calls it."""
        return float(getattr(self, "C_", 1.0))

    @fit_task
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> LinearSVRCV:
        """Choose C by cross-validation, then train on all examples at that C.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the examples, in training and in the scores of those held out.
        groups : array-like of shape (n_samples,), optional
            For the splitter.

        Returns
        -------
        self
        """
        self._check_arguments()
        check_positive("search_tol", self.search_tol)
        Cs = check_Cs(self.Cs)
        data = self._target_set(X, y, sample_weight, 1.0)
        scorer = check_scoring(LinearSVR(), scoring=self.scoring)
        splitter = check_cv(self.cv, data.target, classifier=False)
        splits = list(splitter.split(data.X, data.target, groups))
        if self.scoring in (None, "r2") and min(len(test) for _, test in splits) < 2:
            raise ValueError(
                f"scoring={self.scoring!r} is R², which one row alone has not: use larger folds of "
                "cv, or scoring='neg_mean_absolute_error'"
            )

        def score(problem: RegressionProblem, solution: Solution, test: NDArray[np.int64]) -> float:
            model = self._model(problem, solution, data.scaling)
            held = data.X[test]
            if data.weight is None:
                return float(scorer(model, held, data.target[test]))
            return float(scorer(model, held, data.target[test], sample_weight=data.weight[test]))

        settings = PathSettings(
            self.loss,
            float(self.epsilon),
            self._method(),
            float(self.search_tol),
            int(self.max_iter),
            self.time_limit,
            seed_of(self.random_state),
        )
        scores = path_scores(data, splits, Cs, settings, score, effective_n_jobs(self.n_jobs))
        self.Cs_ = Cs
        self.scores_ = np.array(scores).T
        means = self.scores_.mean(axis=1)
        if np.isnan(means).all():
            raise ValueError(f"scoring={self.scoring!r} gave no number at any C")
        best = int(np.nanargmax(means))
        self.C_, self.best_score_ = float(Cs[best]), float(means[best])
        self._train(data.at(self.C_), None)
        return self

    def _model(self, problem: RegressionProblem, solution: Solution, scaling: float) -> LinearSVR:
        """Return a fitted model at one fold's weights, for scorers."""
        model = LinearSVR(epsilon=self.epsilon, loss=self.loss)
        coef, intercept = model_weights(problem, solution.w, solution.b, scaling)
        model.coef_, model.intercept_ = np.ascontiguousarray(coef), np.array([intercept])
        model.n_features_in_ = problem.rows.features
        return model
