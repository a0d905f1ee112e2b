"""All classes at once: from the data to one multiclass problem, from its solution to coef_."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray

from widemargin.data.training_set import TrainingSet, split_intercept
from widemargin.estimators.after_run import AfterRun
from widemargin.estimators.linear_scores import Start
from widemargin.estimators.single_precision import rounded
from widemargin.interrupt import Interrupt
from widemargin.problems.certificate import Point
from widemargin.problems.multiclass import MulticlassProblem, both_classes, one_for_two
from widemargin.problems.multinomial import MultinomialProblem
from widemargin.problems.rules import JointProblem, joint_kind
from widemargin.problems.softmax import SoftmaxProblem
from widemargin.problems.unpenalised_multinomial import UnpenalisedMultinomialProblem

if TYPE_CHECKING:
    from widemargin.estimators.linear import LinearClassifier

_SOFT = (SoftmaxProblem, UnpenalisedMultinomialProblem)
"""Problems whose every example has a dual variable for every class."""

_IN_BLOCKS = (MultinomialProblem, MulticlassProblem)
"""Problems that threads can share the rows of."""


def fit_all_classes(
    estimator: LinearClassifier,
    data: TrainingSet,
    rule: str,
    start: Start | None,
    interrupt: Interrupt | None = None,
) -> None:
    """Train all classes together and set the fitted attributes."""
    if estimator.n_jobs is not None and joint_kind(rule, estimator._l1_ratio()) in _IN_BLOCKS:
        data = data.in_blocks(effective_n_jobs(estimator.n_jobs))
    problem = estimator._joint_problem(data, rule)
    names = ["all classes"]
    if start is None and estimator._checkpoints is not None:
        kept = estimator._checkpoints.point(0, (data.classes.size, data.rows.weights))
        start = None if kept is None else Start(*kept)
    estimator._begin_tasks(data)
    solutions = estimator._solve(
        names,
        lambda _: problem,
        lambda *_: None if start is None else _point(problem, start),
        interrupt=interrupt,
    )
    single = estimator._halves(data)
    after = AfterRun(problem, solutions[0], estimator._limits_of_a_run()[0], interrupt)
    halved = partial(rounded, solution=solutions[0], data=data)
    precision = solutions.replace_by([after.unless_late(halved, None) if single else None])
    (solution,) = solutions
    w, b = one_for_two(solution.w), one_for_two(solution.b)
    coef, intercept = split_intercept(w, b, data.scaling, data.rows.shift)
    estimator.classes_ = data.classes
    estimator.coef_ = np.ascontiguousarray(coef, dtype=precision)
    estimator.intercept_ = np.array(intercept, dtype=precision)
    if isinstance(problem, _SOFT):
        estimator.dual_coef_ = problem.coefficients(solution.alpha)
        estimator.support_ = np.flatnonzero(estimator.dual_coef_.any(axis=0))
    else:
        dual = one_for_two(coefficients_of(solution.alpha, problem.label))
        estimator.dual_coef_ = sp.csr_array(dual)
        estimator.support_ = np.flatnonzero(np.diff(solution.alpha.indptr))
    estimator.n_support_ = np.bincount(data.codes[estimator.support_], minlength=data.classes.size)
    estimator._keep_runs(names, solutions)


def _point(problem: JointProblem, start: Start) -> Point:
    if isinstance(problem, _SOFT):
        if start.dual is None or sp.issparse(start.dual):
            return problem.point_at(start.w, start.b)
        return Point(start.w, start.b, problem.duals_of(start.dual))
    w, b = both_classes(start.w), both_classes(start.b)
    if not sp.issparse(start.dual):
        return problem.point_at(w, b)
    return Point(w, b, duals_from_coefficients(start.dual, problem.label, problem.classes))


def coefficients_of(beta: sp.csr_array, label: NDArray[np.int32]) -> sp.csr_array:
    """Return the sparse matrix A of shape (k, n) with W = A X: Σ_l β_il at y_i, −β_ij elsewhere."""
    count = beta.shape[0]
    own = sp.csr_array(
        (np.asarray(beta.sum(axis=1)).ravel(), label, np.arange(count + 1)), shape=beta.shape
    )
    own.eliminate_zeros()
    return sp.csr_array((own - beta).T)


def duals_from_coefficients(dual: Any, label: NDArray[np.int32], k: int) -> sp.csr_array:
    """Undo `coefficients_of`, and the sharing of one row by two classes."""
    dual = sp.csr_array(dual)
    if dual.shape[0] == 1:
        dual = sp.vstack([-0.5 * dual, 0.5 * dual], format="csr")
    spread = sp.coo_array(dual.T)
    place, column = spread.coords
    rival = (label[place] != column) & (spread.data < 0.0)
    return sp.csr_array((-spread.data[rival], (place[rival], column[rival])), shape=(label.size, k))
