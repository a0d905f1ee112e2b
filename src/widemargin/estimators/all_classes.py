"""All classes at once: from the data to one multiclass problem, from its solution to coef_."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.rows import Rows
from widemargin.problems.certificate import Point
from widemargin.problems.multiclass import MulticlassProblem, both_classes, one_for_two
from widemargin.run import Solution

if TYPE_CHECKING:
    from widemargin.estimators.linear import LinearClassifier

Vector = NDArray[np.float64]


def fit_all_classes(
    estimator: LinearClassifier,
    rows: Rows,
    classes: NDArray[Any],
    codes: NDArray[Any],
    cost: Vector,
    rule: str,
) -> Solution:
    """Train all classes together and set the fitted attributes.

    `rows` have the constant feature of a penalised intercept already.
    """
    problem = MulticlassProblem(
        rows,
        np.asarray(codes, dtype=np.int32),
        cost,
        int(classes.size),
        rule,
        not isinstance(estimator.fit_intercept, str) and bool(estimator.fit_intercept),
    )
    solution = estimator._solve(
        [lambda: problem], [warm_point(estimator, problem, classes)], ["all classes"]
    )[0]
    _keep(estimator, problem, classes, solution)
    estimator._keep_runs(["all classes"], [solution])
    return solution


def warm_point(
    estimator: LinearClassifier, problem: MulticlassProblem, classes: NDArray[Any]
) -> Point | None:
    """Return where the last fit ended, if this one may start there."""
    rows, k = problem.rows, problem.classes
    if not estimator._goes_on(classes, (1 if k == 2 else k, rows.features)):
        return None
    w, b = both_classes(estimator.coef_), both_classes(estimator.intercept_)
    if isinstance(estimator.fit_intercept, str):
        w = np.column_stack([w, b / float(estimator.intercept_scaling)])
        b = np.zeros(k)
    dual = estimator.dual_coef_
    if not sp.issparse(dual) or dual.shape[1] != rows.count:
        return problem.point_at(w, b)
    return Point(w, b, duals_from_coefficients(dual, problem.label, k))


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


def _keep(
    estimator: LinearClassifier,
    problem: MulticlassProblem,
    classes: NDArray[Any],
    solution: Solution,
) -> None:
    features = problem.rows.features
    estimator.classes_ = classes
    estimator.coef_ = np.ascontiguousarray(one_for_two(solution.w[:, :features]))
    if isinstance(estimator.fit_intercept, str):
        intercept = solution.w[:, -1] * float(estimator.intercept_scaling)
    else:
        intercept = solution.b
    estimator.intercept_ = np.array(one_for_two(intercept), dtype=np.float64)
    estimator.dual_coef_ = sp.csr_array(one_for_two(coefficients_of(solution.alpha, problem.label)))
    estimator.support_ = np.flatnonzero(np.diff(solution.alpha.indptr))
