"""What a solver that is named in scikit-learn's words stands for: its limits and its tolerance.

The method is ours either way. A name says what the code around expects: a combination that is
refused there is refused here, so that a grid search skips the same candidates, and ``tol`` bounds
the gradient. ``solver="auto"`` has none of these limits.

Errors and warnings begin with scikit-learn's words where code, and its own tests, match them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.problems.losses import Loss

SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")
"""Names that scikit-learn's LogisticRegression takes for ``solver``."""

PENALISES_THE_INTERCEPT = "liblinear"
"""The one among them that minimises another objective."""

DOUBLE_PRECISION = PENALISES_THE_INTERCEPT
"""The one among them that has float64 weights for float32 rows."""

_SHORT_INDICES = ("liblinear", "sag", "saga")
_SPARSE = ("liblinear", "saga")
_LARGEST_VALUE = 1e30
SMALLEST_GAP = 1e-10
"""Relative gap that rounding leaves to be proved on most data; closer ones have to be asked for."""


def is_named(solver: Any) -> bool:
    """Whether a solver is one of scikit-learn's."""
    return isinstance(solver, str) and solver in SOLVERS


def gap_for(tol: float) -> float:
    """Return the relative gap that stands for scikit-learn's ``tol``, a bound on the gradient.

    Near the optimum the gap grows with the square of the gradient, and of the distance.
    """
    return min(tol, max(tol * tol, SMALLEST_GAP))


def in_their_words(solver: str, max_iter: int) -> str:
    """Return how scikit-learn's warning begins if the iterations were not enough."""
    known = {
        "liblinear": "Liblinear failed to converge, increase the number of iterations.",
        "newton-cholesky": f"Newton solver did not converge after {max_iter} iterations",
        "newton-cg": "newton-cg failed to converge. Increase the number of iterations.",
        "lbfgs": f"lbfgs failed to converge after {max_iter} iteration(s)",
    }
    return known.get(solver, "The max_iter was reached which means the coef_ did not converge")


def check_named(solver: str, l1_ratio: float, unpenalised: bool, dual: Any) -> None:
    """Raise an error for a penalty or formulation that the solver does not have."""
    message = None
    if solver not in _SPARSE and l1_ratio > 0.0:
        penalty = "l1" if l1_ratio == 1.0 else "elasticnet"
        message = f"Solver {solver} supports only 'l2' or None penalties, got {penalty} penalty"
    elif solver != "liblinear" and dual:
        message = f"Solver {solver} supports only dual=False, got dual={dual}"
    elif solver != "saga" and 0.0 < l1_ratio < 1.0:
        message = f"Only 'saga' solver supports elasticnet penalty, got solver={solver}."
    elif solver == "liblinear" and unpenalised:
        message = "C=np.inf as well as penalty=None is not supported for the liblinear solver"
    if message is not None:
        raise ValueError(f"{message}; solver='auto' has no such limit")


def check_rows(solver: str, X: Any) -> None:
    """Raise an error for rows that the solver does not take."""
    if sp.issparse(X) and solver in _SHORT_INDICES:
        wide = getattr(X, "indices", getattr(X, "row", np.zeros(0, np.int32))).dtype.itemsize > 4
        if wide:
            raise ValueError(
                f"Only sparse matrices with 32-bit integer indices go with solver={solver!r}; "
                "solver='auto' takes any"
            )


def check_classes(solver: str, X: Any, classes: int, joint: bool) -> None:
    """Raise an error for classes or values that the solver does not take."""
    if solver != "liblinear":
        return
    if classes > 2 and joint:
        raise ValueError(
            "The 'liblinear' solver does not support multiclass classification (n_classes >= 3). "
            "Use solver='auto', or multi_class='ovr' for one-vs-rest"
        )
    values = X.data if sp.issparse(X) else X
    if isinstance(values, np.ndarray) and values.size and float(values.max()) > _LARGEST_VALUE:
        raise ValueError(
            "Using the 'liblinear' solver while X contains a maximum value > 1e30 results in a "
            "frozen fit. Please choose another solver or rescale the input X."
        )


def check_formulation(penalty: Any, loss: Loss, dual: Any) -> None:
    """Raise an error for a combination of LinearSVC that LIBLINEAR has no solver for.

    It has one in the primal for every smooth loss, and in the dual for the squared norm.
    ``dual="auto"`` leaves the choice to us, and only loss and penalty must go together.
    """
    message = None
    if penalty == "l1" and not loss.smooth:
        message = (
            f"the 1-norm needs a smooth loss, which {loss.name!r} is not: use "
            "loss='squared_hinge', or LogisticRegression"
        )
    elif isinstance(dual, bool | np.bool_) and (penalty == "l1" if dual else not loss.smooth):
        message = "LIBLINEAR has no such solver; dual='auto' has no such limit"
    if message is not None:
        parameters = f"penalty={penalty!r}, loss={loss.name!r}, dual={dual!r}"
        raise ValueError(f"Unsupported set of arguments: {message}. Parameters: {parameters}")
