"""What the regression estimators share: from (X, y) to a problem, from its solution to coef_."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from widemargin.auto.machine import MACHINE
from widemargin.auto.registry import check_solver
from widemargin.data.coefficient_bounds import bounds_of, has_bounds
from widemargin.data.target_set import TargetSet
from widemargin.data.training_set import split_intercept
from widemargin.data.validation import (
    check_intercept,
    check_not_negative,
    check_positive,
    validate_new_rows,
)
from widemargin.estimators.arguments import check_limits
from widemargin.estimators.certified import CertifiedEstimator
from widemargin.estimators.fit_tasks import CallbackSupportMixin
from widemargin.estimators.scikit_learn_arguments import check_dual, check_scaling
from widemargin.estimators.single_precision import enough, judged
from widemargin.interrupt import Interrupt
from widemargin.problems.bounded import BoundedRegression, bounded
from widemargin.problems.certificate import Point
from widemargin.problems.regression import RegressionProblem
from widemargin.problems.tube_loss import SQUARED
from widemargin.problems.tube_support import polished
from widemargin.run import Solution, Status

_INTERCEPTS = {"True": "exact", "False": "none"}


class LinearRegressor(CallbackSupportMixin, RegressorMixin, CertifiedEstimator):
    """Base of LinearSVR and LinearSVRCV."""

    epsilon: float
    loss: str
    C: float
    dual: Any
    fit_intercept: bool | str
    intercept_scaling: float
    warm_start: bool
    coef_bounds: Any = None
    positive: bool = False

    def _check_arguments(self) -> None:
        if not isinstance(self.loss, str) or self.loss not in SQUARED:
            names = " or ".join(map(repr, SQUARED))
            raise ValueError(f"loss must be {names}; got {self.loss!r}")
        check_not_negative("epsilon", self.epsilon)
        check_positive("C", self.C)
        check_limits(self)
        check_intercept(self.fit_intercept)
        check_scaling(self.intercept_scaling, isinstance(self.fit_intercept, str))
        check_dual(self.dual, "auto")
        check_solver(self._method(), BoundedRegression if has_bounds(self) else RegressionProblem)

    def _target_set(self, X: Any, y: Any, sample_weight: Any, C: float) -> TargetSet:
        return TargetSet.of(
            X,
            y,
            sample_weight,
            C=C,
            fit_intercept=self.fit_intercept,
            intercept_scaling=float(self.intercept_scaling),
            estimator=self,
        )

    def _problem(self, data: TargetSet) -> RegressionProblem:
        problem = RegressionProblem.of(data, self.loss, float(self.epsilon))
        bounds = bounds_of(self, data.rows.features)
        return problem if bounds is None else bounded(problem, bounds)

    def _train(self, data: TargetSet, start: Point | None, watch: Interrupt | None = None) -> None:
        """Solve the problem; keep the answer."""
        problem = self._problem(data)
        solutions = self._solve(
            ["regression"],
            lambda place: problem,
            lambda place, problem: start,
            interrupt=watch,
            finish=_to_the_last_digits,
        )
        solution = solutions[0]
        precision: Any = np.float64
        if data.X.dtype == np.float32:
            single = _rounded(problem, solution, data.scaling)
            if single is not None:
                solutions[0] = solution = single
                precision = np.float32
        coef, intercept = model_weights(problem, solution.w, solution.b, data.scaling)
        self.coef_ = np.ascontiguousarray(coef, dtype=precision)
        self.intercept_ = np.array([intercept], dtype=precision)
        self.dual_coef_ = np.asarray(solution.alpha)
        self.support_ = (self.dual_coef_ != 0.0).nonzero()[0]
        self._keep_runs(["regression"], solutions)

    def _previous(self, data: TargetSet) -> Point | None:
        """Return where the last fit ended, if it was about the same weights."""
        if getattr(self, "coef_", np.empty(0)).shape != (data.rows.features,):
            return None
        problem = self._problem(data)
        coef = self.coef_.astype(np.float64)
        if data.scaling:
            w, b = np.append(coef, float(self.intercept_[0]) / data.scaling), 0.0
        else:
            w, b = coef, problem.own_intercept(coef, float(self.intercept_[0]))
        if self.dual_coef_.size != data.rows.count:
            return problem.point_at(w, b)
        return Point(w, b, self.dual_coef_)

    def _iterations(self, solutions: Any) -> int:
        return max(s.iterations for s in solutions)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted targets w·x + b.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_new_rows(self, X)
        return np.asarray(safe_sparse_dot(X, self.coef_, dense_output=True) + self.intercept_)

    def _description(self) -> dict[str, Any]:
        return {
            "loss": self.loss,
            "epsilon": float(self.epsilon),
            "C": float(self.C),
            "intercept_kind": _INTERCEPTS.get(str(self.fit_intercept), "penalised"),
            "intercept_scaling": float(self.intercept_scaling),
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _to_the_last_digits(place: int, problem: RegressionProblem, solution: Solution) -> Solution:
    """Return the solution, of a small problem as exact as floating point allows."""
    rows = problem.rows
    small = rows.view.nonzeros <= MACHINE.tiny_problem and rows.count <= MACHINE.polished_rows
    if isinstance(problem, BoundedRegression):
        return solution
    if not (small and problem.loss.linear_dual and solution.status is Status.CONVERGED):
        return solution
    point, certificate = polished(problem, solution.point, solution.certificate)
    return replace(solution, w=point.w, b=point.b, alpha=point.alpha, certificate=certificate)


def model_weights(
    problem: RegressionProblem, w: NDArray[Any], b: float, scaling: float
) -> tuple[NDArray[Any], float]:
    """Return the coefficients and the intercept to hand out."""
    if scaling:
        coef, intercept = split_intercept(w, np.zeros(()), scaling)
        return coef, float(intercept)
    return w, problem.given_intercept(w, b) if problem.free_intercept else 0.0


def _rounded(problem: RegressionProblem, solution: Solution, scaling: float) -> Solution | None:
    """Return the solution in weights that float32 can hold; None if that would lose the tolerance.

    As `widemargin.estimators.single_precision.rounded` does for classifiers.
    """
    coef, intercept = model_weights(problem, solution.w, solution.b, scaling)
    with np.errstate(over="ignore"):
        coef = coef.astype(np.float32).astype(np.float64)
        intercept = float(np.float32(intercept))
    if not (np.isfinite(coef).all() and np.isfinite(intercept)):
        return None
    if scaling:
        w, b = np.append(coef, intercept / scaling), 0.0
    else:
        w, b = coef, problem.own_intercept(coef, intercept) if problem.free_intercept else 0.0
    before = solution.certificate
    if before.primal == 0.0:
        return solution if not w.any() else None
    bound = problem.primal_below(w, b, enough(solution))
    return judged(solution, w, b, bound.upper, bound.allowance)
