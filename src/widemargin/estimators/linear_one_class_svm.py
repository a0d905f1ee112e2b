"""LinearOneClassSVM: outlier detection by a half-space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from widemargin.auto.machine import MACHINE
from widemargin.auto.registry import choice_of
from widemargin.data.training_set import check_costs, check_sample_weight
from widemargin.data.validation import check_number, validate_new_rows, validate_unlabelled
from widemargin.estimators.arguments import check_limits
from widemargin.estimators.certified import CertifiedEstimator
from widemargin.estimators.fit_tasks import CallbackSupportMixin, fit_task
from widemargin.estimators.outside import warn_outside
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.one_class import OneClassProblem
from widemargin.problems.one_class_support import polished
from widemargin.run import Record, Solution, Status, run

_LAST_DIGITS = 1e-10
"""A relative gap at which weights have five digits at least, and their edge is known."""

_EDGE = 1e-4
"""Share of the tolerance that ρ of a small problem is lowered by, relative to itself."""


class LinearOneClassSVM(CallbackSupportMixin, OutlierMixin, CertifiedEstimator):
    """Linear one-class SVM with a certificate of optimality.

    Finds the half-space ``w·x ≥ ρ`` that holds all but about a share ν of the examples and lies as
    far from the origin as possible: it minimises
    ``½‖w‖² + Σ s_i max(0, ρ − w·x_i) − ν (Σ s_i) ρ`` with sample weights s_i. Weights, ``offset_``
    and scores are those of scikit-learn's ``OneClassSVM(kernel="linear")`` and of LIBLINEAR's
    ``-s 21``.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of training examples outside of the half-space, and lower bound on
        the share of support vectors. Above 0, at most 1.
    tol : float, default=1e-4
        Relative duality gap, ``(P − D)/|D|``, at which training stops: the objective is then proven
        to be within this fraction of the optimum.
    solver : str, default="auto"
        Optimisation method: "dual_cd", "proximal_newton" or "interior_point". All reach the same
        solution to within ``tol``.
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
        Called as ``callback("one class", record)`` at every check of the certificate; training
        stops if it returns True.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        float32 if X is, unless rounding to it would lose ``tol``.
    offset_ : ndarray of shape (1,)
        ρ: ``decision_function = score_samples - offset_``.
    intercept_ : ndarray of shape (1,)
        ``-offset_``.
    dual_coef_ : ndarray of shape (1, n_samples)
        The dual variables α_i: ``coef_ = dual_coef_ @ X``.
    support_ : ndarray
        Rows with a nonzero dual variable: those outside of the half-space, or on its edge.
    certificate_ : Certificate
        Primal value, dual value and gap. Both values are negative.
    n_iter_ : int
    status_ : list of str
        "converged", "iteration_limit", "time_limit", "interrupted" or "stalled".
    solver_ : str
        Which methods ran, and why.
    history_ : list of dict
        What was recorded at every check: primal, dual, gap, active set, passes, seconds.

    Notes
    -----
    If the origin lies among the examples, as it does for centred data, no half-space keeps away
    from it: the best weights are zero, and a warning says so. Leave the data uncentred.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import LinearOneClassSVM
    >>> X = np.random.default_rng(0).normal(loc=3.0, size=(500, 2))
    >>> model = LinearOneClassSVM(nu=0.05).fit(X)
    >>> model.predict([[3.0, 3.0], [-2.0, 0.0]])
    array([ 1, -1])
    >>> round(float((model.predict(X) < 0).mean()), 2)
    0.05
    """

    n_jobs = None

    def __init__(
        self,
        nu: float = 0.5,
        *,
        tol: float = 1e-4,
        solver: str = "auto",
        max_iter: int = 1000,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[[str, Record], object] | None = None,
    ) -> None:
        self.nu = nu
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @fit_task
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearOneClassSVM:
        """Train on examples X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            float32 or float64, C order or CSR, is read in place; anything else is converted.
        y : None
            For compatibility with scikit-learn; no effect.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 means the same as the row given twice.

        Returns
        -------
        self
        """
        self._check_arguments()
        X, rows = validate_unlabelled(self, X)
        weight = check_sample_weight(sample_weight, rows.count)
        cost = check_costs(np.ones(rows.count) if weight is None else weight)
        problem = OneClassProblem.stated(rows, cost, float(self.nu))
        start = self._previous(problem) if self.warm_start else None
        solutions = self._solve(
            ["one class"],
            lambda place: problem,
            lambda place, problem: start,
            finish=_to_the_last_digits,
        )
        precision: Any = np.float64
        if X.dtype == np.float32:
            single = _rounded(problem, solutions[0])
            if single is not None:
                solutions[0], precision = single, np.float32
        solution = solutions[0]
        self.coef_ = problem.given(solution.w)[np.newaxis].astype(precision)
        self.offset_ = np.array([problem.given(1.0 - solution.b)], dtype=precision)
        self.intercept_ = -self.offset_
        self.dual_coef_ = problem.given(np.asarray(solution.alpha))[np.newaxis]
        self.support_ = np.flatnonzero(self.dual_coef_ != 0.0)
        self._least = solution.certificate.least
        self._keep_runs(["one class"], solutions)
        if not self.coef_.any():
            warn_outside(
                "the origin lies among the examples, so that no half-space holds them and keeps "
                "away from it: all weights are zero; leave the data uncentred",
                UserWarning,
            )
        return self

    def _check_arguments(self) -> None:
        check_number("nu", self.nu, lambda v: 0.0 < v <= 1.0, "a number above 0 and at most 1")
        check_limits(self)
        choice_of(self._method(), OneClassProblem)

    def _previous(self, problem: OneClassProblem) -> Point | None:
        """Return where the last fit ended, if it was about the same weights."""
        if getattr(self, "coef_", np.empty(0)).shape != (1, problem.rows.features):
            return None
        w = problem.own(self.coef_[0].astype(np.float64))
        rho, alpha = float(problem.own(float(self.offset_[0]))), problem.own(self.dual_coef_[0])
        total = float(alpha.sum())
        if alpha.size != problem.rows.count or not total > 0.0:
            return problem.point_at(w, 1.0 - rho)
        # At another ν all of them are near the same multiple of the ones before.
        ratio = problem.mass / total
        ratio = 1.0 if abs(ratio - 1.0) < 1e-9 else ratio
        return Point(ratio * w, 1.0 - ratio * rho, ratio * alpha)

    def _iterations(self, solutions: Any) -> int:
        return int(solutions[0].iterations)

    def _certificates(self) -> list[Certificate]:
        return [replace(each, least=self._least) for each in super()._certificates()]

    def score_samples(self, X: Any) -> NDArray[Any]:
        """Return the scores w·x: the lower, the more of an outlier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_new_rows(self, X)
        return np.asarray(safe_sparse_dot(X, self.coef_[0], dense_output=True))

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the scores w·x − ρ: negative for outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return 1 for inliers and -1 for outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.where(self.decision_function(X) >= 0.0, 1, -1)

    def _description(self) -> dict[str, Any]:
        return {"loss": "hinge", "nu": float(self.nu), "intercept_kind": "exact"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _to_the_last_digits(place: int, problem: OneClassProblem, solution: Solution) -> Solution:
    """Return the solution, of a small problem as exact as floating point allows."""
    rows = problem.rows
    small = rows.view.nonzeros <= MACHINE.tiny_problem and rows.count <= MACHINE.polished_rows
    small = small and rows.weights <= MACHINE.largest_factorised
    if not (small and solution.status is Status.CONVERGED and solution.w.any()):
        return solution
    point, certificate = polished(problem, solution.point, solution.certificate)
    if certificate.relative_gap > _LAST_DIGITS:
        # Which rows lie on the edge was not clear yet; an interior point comes near enough.
        choice = choice_of("interior_point", OneClassProblem)
        near = run(problem, choice, tol=_LAST_DIGITS, max_iter=50)
        if near.certificate.gap < certificate.gap:
            point, certificate = polished(problem, near.point, near.certificate)
    # Scores on the edge are ρ but for rounding; ρ is lowered by more than that, so that they are
    # inliers, and by less than the tolerance notices.
    b = point.b + _EDGE * solution.tol * abs(1.0 - point.b)
    lowered = replace(certificate, primal=problem.primal_at(point.w, b))
    if lowered.relative_gap <= solution.tol:
        point, certificate = Point(point.w, b, point.alpha), lowered
    return replace(solution, w=point.w, b=point.b, alpha=point.alpha, certificate=certificate)


def _rounded(problem: OneClassProblem, solution: Solution) -> Solution | None:
    """Return the solution in weights that float32 can hold; None if that would lose the tolerance.

    As `widemargin.estimators.single_precision.rounded` does for classifiers.
    """
    with np.errstate(over="ignore"):
        w = problem.own(problem.given(solution.w).astype(np.float32).astype(np.float64))
        offset = np.float32(problem.given(1.0 - solution.b))
        b = 1.0 - float(problem.own(np.float64(offset)))
    if not (np.isfinite(w).all() and np.isfinite(b)):
        return None
    if not w.any():
        return solution if not solution.w.any() else None
    certificate = replace(solution.certificate, primal=problem.primal_at(w, b))
    reached = certificate.relative_gap <= solution.tol
    if solution.status is Status.CONVERGED and not reached:
        return None
    status = Status.CONVERGED if reached else solution.status
    return replace(solution, w=w, b=b, certificate=certificate, status=status)
