"""RobustSVC: support vector machines that are good under every distribution near the data's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from widemargin.auto.registry import choice_with
from widemargin.data.centring import given_intercepts
from widemargin.data.training_set import TrainingSet
from widemargin.data.validation import check_count, check_flag, check_not_negative, check_number
from widemargin.estimators.arguments import check_limits
from widemargin.estimators.linear_scores import LinearScores
from widemargin.estimators.single_precision import rounded
from widemargin.methods.base import Choice
from widemargin.problems.certificate import Point
from widemargin.problems.norms import NORMS
from widemargin.problems.robust import RobustProblem
from widemargin.run import Record, Solution

_STEPS = ("restarts", "geometric", "1/k", "1/sqrt(k)", "automatic")


class RobustSVC(LinearScores):
    """Linear support vector machine that is robust against shifts of the data.

    Minimises the largest expected hinge loss over all distributions within a Wasserstein distance
    ``radius`` of the data, plus ``l2/2 ‖w‖²``. That is the convex problem
    ``min ε λ + Σ p_i max(1 − m_i, 1 + m_i − κ λ, 0) + l2/2 ‖w‖²`` over ‖w‖ ≤ λ, with margins
    ``m_i = y_i (w·x_i + b)``, ε the radius, κ the label cost and p_i the weights, which sum to one.
    Multiclass problems are trained one-vs-rest.

    Parameters
    ----------
    radius : float, default=0.1
        How far the distribution may move, on average over the examples. Moving an example costs
        the distance of its features, in the norm dual to `norm`, times the mass moved. 0 is the
        plain hinge loss.
    label_cost : float, default=inf
        Cost of flipping the label of an example; infinite if the labels are trusted.
    norm : {1, 2, inf}, default=2
        The norm of w that is penalised. Features move in the dual norm: with 1 every feature of an
        example may move by the same amount, which makes w sparse; with inf only one feature at a
        time, which spreads w.
    l2 : float, default=0.0
        Penalty on ‖w‖², besides robustness.
    tol : float, default=1e-4
        Relative duality gap, (P − D)/P, at which training stops.
    fit_intercept : bool, default=True
        Whether to train an intercept; it is not penalised.
    class_weight : dict or "balanced", optional
        Factors on the weights per class.
    solver : {"auto", "interior_point", "hybrid", "isg", "ippa", "gs_admm"}, default="auto"
        Optimisation method; all reach the same solution to within ``tol``.
    step : {"restarts", "geometric", "1/k", "1/sqrt(k)", "automatic"}, optional
        Step sizes of "isg" and "ippa", which then run alone, as published: one of the schemes of
        Table 1 of the paper (the last three), geometric rounds that get slower ("restarts", the
        default of "isg"), or steps that adapt to noise and drift ("automatic", of "ippa").
    batch_size : int, optional
        Examples per step of "isg" or "ippa". Default: for "isg" as many as hide the projection
        behind the rows, for "ippa" one.
    max_iter : int, default=1000
        Maximum number of sweeps or steps.
    time_limit : float, optional
        Time limit in seconds, per binary problem.
    warm_start : bool, default=False
        Start from the previous fit.
    n_jobs : int, optional
        Number of threads over the classes; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the order in which examples are visited.
    verbose : int, default=0
        Show a progress bar.
    callback : callable, optional
        Called as ``callback(class_name, record)`` at every check of the certificate; training
        stops if it returns True.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        float32 if X is, unless rounding to it would lose ``tol``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    price_ : ndarray of shape (1,) or (n_classes,)
        λ, the slope of the objective in the radius.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        The dual variables times the labels, (keep_i − flip_i) y_i, in the order of the rows of X.
    flip_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        The mass of each example whose label the worst distribution flips.
    support_ : ndarray
        Rows with a nonzero dual variable for some class.
    certificate_ : Certificate
        Primal value, dual value and gap, computed from the data and the above.
    certificates_ : list of Certificate
        One per row of ``coef_``.
    primal_, dual_ : ndarray of shape (1,) or (n_classes,)
        The values of the certificates.
    n_iter_ : ndarray of shape (1,) or (n_classes,)
    status_ : list of str
        "converged", "iteration_limit", "time_limit", "interrupted" or "stalled".
    solver_ : str
        Which methods ran, and why.
    history_ : list of dict
        Per binary problem, what was recorded at every check.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import RobustSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RobustSVC(radius=0.05, label_cost=2, tol=1e-8).fit(scale(X), y)
    >>> round(float(model.primal_[0]), 4)
    0.2247
    """

    def __init__(
        self,
        radius: float = 0.1,
        *,
        label_cost: float = np.inf,
        norm: float = 2,
        l2: float = 0.0,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        step: str | None = None,
        batch_size: int | None = None,
        max_iter: int = 1000,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[[str, Record], object] | None = None,
    ) -> None:
        self.radius = radius
        self.label_cost = label_cost
        self.norm = norm
        self.l2 = l2
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.step = step
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RobustSVC:
        """Train on examples X with labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            float32 or float64, C order or CSR, is read in place (CSR with few zeros is copied);
            anything else is converted.
        y : array-like of shape (n_samples,)
            Labels: numbers or strings.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 means the same as the row given twice.

        Returns
        -------
        self
        """
        self._check_arguments()
        data = TrainingSet.of(
            X,
            y,
            sample_weight,
            class_weight=self.class_weight,
            fit_intercept=bool(self.fit_intercept),
            estimator=self,
        )
        start = self._previous(data) if self.warm_start else None

        def problem(place: int) -> RobustProblem:
            return RobustProblem.of(
                data,
                data.positives[place],
                float(self.radius),
                float(self.label_cost),
                float(self.norm),
                float(self.l2),
            )

        def begin(place: int, problem: RobustProblem) -> Point | None:
            if start is None:
                return None
            w, b = start.w[place], float(start.b[place])
            if start.dual is None:
                return problem.point_at(w, b)
            flip = self.flip_coef_[place]
            return Point(w, b, np.stack([start.dual[place] * problem.y + flip, flip]))

        solutions = self._solve(data.names, problem, begin, n_jobs=self.n_jobs)
        single = data.X.dtype == np.float32
        precision = solutions.replace_by(
            [rounded(problem(p), s, data) if single else None for p, s in enumerate(solutions)]
        )
        self._keep(data, problem, solutions, precision)
        self._keep_runs(data.names, solutions)
        return self

    def _description(self) -> dict[str, Any]:
        return {
            "loss": "robust_hinge",
            "C": None,
            "intercept_kind": "exact" if self.fit_intercept else "none",
            "intercept_scaling": 1.0,
            "multi_class": "ovr",
        }

    def _check_arguments(self) -> None:
        check_not_negative("radius", self.radius)
        trusted = "a positive number or infinity"
        check_number("label_cost", self.label_cost, lambda v: v > 0.0, trusted)
        check_number("norm", self.norm, lambda v: v in NORMS, "1, 2 or infinity")
        check_not_negative("l2", self.l2)
        check_flag("fit_intercept", self.fit_intercept)
        check_limits(self)
        if self.step is not None and self.step not in _STEPS:
            names = ", ".join(map(repr, _STEPS))
            raise ValueError(f"step must be one of {names}; got {self.step!r}")
        if self.batch_size is not None:
            check_count("batch_size", self.batch_size)
        choice_with(self.solver, RobustProblem, self._options())

    def _options(self) -> dict[str, Any]:
        """Return what was asked of an incremental method."""
        asked = {"step": self.step, "batch_size": self.batch_size}
        return {name: value for name, value in asked.items() if value is not None}

    def _choice(self, problem: Any, place: int) -> Choice:
        return choice_with(self.solver, type(problem), self._options())

    def _keep(
        self,
        data: TrainingSet,
        problem: Callable[[int], RobustProblem],
        solutions: list[Solution],
        precision: type[np.floating[Any]],
    ) -> None:
        shape = (len(solutions), data.rows.count)
        self.classes_ = data.classes
        coef = np.array([s.w for s in solutions])
        b = np.array([float(s.b) for s in solutions])
        self.intercept_ = given_intercepts(coef, b, data.rows.shift).astype(precision)
        self.coef_ = coef.astype(precision, copy=False)
        self.dual_coef_, self.flip_coef_ = np.empty(shape), np.empty(shape)
        self.price_ = np.empty(len(solutions))
        for place, solution in enumerate(solutions):
            this = problem(place)
            self.dual_coef_[place] = (solution.alpha[0] - solution.alpha[1]) * this.y
            self.flip_coef_[place] = solution.alpha[1]
            scores = data.rows.scores(solution.w)
            self.price_[place] = this.worst_loss(solution.w, float(solution.b), scores)[1]
        used = (self.dual_coef_ != 0.0) | (self.flip_coef_ != 0.0)
        self.support_ = np.flatnonzero(used.any(axis=0))
