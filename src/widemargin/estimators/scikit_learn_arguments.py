"""Arguments of scikit-learn's classes that say nothing here, or say it in other words.

They are accepted, so that changing the import is enough. Values that mean "as you like", those of
scikit-learn's defaults, pass without a word; others are explained once per process, by an
`IgnoredArgumentWarning`. A problem that is not supported is an error.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from widemargin.data.training_set import TrainingSet
from widemargin.data.validation import check_flag, check_number, check_positive
from widemargin.estimators.future_changes import not_given
from widemargin.estimators.named_solvers import (
    DOUBLE_PRECISION,
    PENALISES_THE_INTERCEPT,
    SMALLEST_GAP,
    SOLVERS,
    check_classes,
    check_named,
    check_rows,
    gap_for,
    in_their_words,
    is_named,
)
from widemargin.estimators.outside import warn_outside
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.sparse_weights import SparseProblem
from widemargin.problems.unpenalised import UnpenalisedProblem
from widemargin.run import Solution, Status

_explained: set[str] = set()


class IgnoredArgumentWarning(UserWarning):
    """An argument of scikit-learn's class has no effect here; the message says why.

    It is shown once per process for each argument. To silence it::

        warnings.simplefilter("ignore", widemargin.IgnoredArgumentWarning)

    Examples
    --------
    >>> import warnings
    >>> from widemargin import IgnoredArgumentWarning, LinearSVC
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = LinearSVC(intercept_scaling=10.0).fit([[0.0], [1.0]], [0, 1])
    >>> [warning.category.__name__ for warning in caught]
    ['IgnoredArgumentWarning']
    """


def explain_once(argument: str, sentence: str) -> None:
    """Warn that an argument has no effect, the first time it is met in this process."""
    if argument not in _explained:
        _explained.add(argument)
        warn_outside(sentence, IgnoredArgumentWarning)


def check_dual(dual: Any, default: Any) -> None:
    """Accept ``dual``, which chooses between methods there; explain a choice that was made."""
    if isinstance(dual, str) and dual == "auto":
        return
    if not isinstance(dual, bool | np.bool_):
        raise ValueError(f"dual must be True, False or 'auto'; got {dual!r}")
    if dual is not default:
        explain_once(
            "dual",
            f"dual={dual} has no effect: the solution is the same either way, and solver='auto' "
            "chooses the faster method",
        )


def l1_ratio_of(penalty: Any, l1_ratio: Any = None) -> float:
    """Return ρ in the penalty ρ‖w‖₁ + ½(1 − ρ)‖w‖², from scikit-learn's two arguments.

    Since version 1.8 ``l1_ratio`` says it all; ``penalty`` did before, and is read as well. None
    for ``penalty`` is no penalty at all.
    """
    if penalty is not None and penalty not in _PENALTIES:
        raise ValueError(f"penalty must be 'l2', 'l1' or 'elasticnet'; got {penalty!r}")
    if l1_ratio is not None:
        check_number("l1_ratio", l1_ratio, lambda v: 0.0 <= v <= 1.0, "a number between 0 and 1")
    elif penalty == "elasticnet":
        raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
    if penalty is None:
        return 0.0
    return 1.0 if penalty == "l1" else float(l1_ratio or 0.0)


_PENALTIES = ("l2", "l1", "elasticnet", "deprecated")


def check_scaling(intercept_scaling: Any, penalised: bool) -> None:
    """Check ``intercept_scaling``; explain that an exact intercept needs none."""
    check_positive("intercept_scaling", intercept_scaling)
    if intercept_scaling != 1 and not penalised:
        explain_once(
            "intercept_scaling",
            f"intercept_scaling={intercept_scaling!r} has no effect: the intercept is not "
            "penalised; fit_intercept='penalised' is the objective that it belongs to",
        )


def told_apart(loss: Any, penalty: Any) -> tuple[Any, Any]:
    """Return loss and penalty of LinearSVC, which come first in either order.

    scikit-learn's first argument is the penalty, ours the loss; their values do not overlap.
    """
    if not isinstance(loss, str) or loss not in _PENALTIES:
        return loss, penalty
    return ("squared_hinge" if penalty in _PENALTIES else penalty), loss


class LogisticArguments:
    """What LogisticRegression and LogisticRegressionCV make of scikit-learn's arguments."""

    penalty: Any
    dual: Any
    tol: float
    max_iter: int
    solver: str
    fit_intercept: bool | str
    intercept_scaling: float
    C: float
    _rule: Callable[[], str]

    def _method(self) -> str:
        """Return the solver here; scikit-learn's names all leave the choice to us."""
        return "auto" if is_named(self.solver) else self.solver

    def _gap(self) -> float:
        """Return the relative gap to solve to; scikit-learn's solvers bound the gradient."""
        return gap_for(float(self.tol)) if is_named(self.solver) else float(self.tol)

    def _exactness(self) -> float | None:
        """Return the gap that the folds of a search need: ``tol`` of a solver is theirs too."""
        return max(self._gap(), SMALLEST_GAP) if is_named(self.solver) else None

    def _in_other_words(self, message: str, solutions: Sequence[Solution]) -> str:
        """Return a warning that begins as that of the solver named, which code may look for."""
        limited = any(s.status is Status.ITERATION_LIMIT for s in solutions)
        if not (limited and is_named(self.solver)):
            return message
        return f"{in_their_words(self.solver, int(self.max_iter))}: {message}"

    def _halves(self, data: TrainingSet) -> bool:
        """Whether float32 rows have float32 weights; LIBLINEAR's are float64."""
        return super()._halves(data) and self.solver != DOUBLE_PRECISION  # type: ignore[misc]

    def _training_set(self, X: Any, y: Any, sample_weight: Any, C: float) -> TrainingSet:
        if is_named(self.solver):
            check_rows(self.solver, X)
        data: TrainingSet = super()._training_set(X, y, sample_weight, C)  # type: ignore[misc]
        if is_named(self.solver):
            check_classes(self.solver, data.X, data.classes.size, self._rule() != "ovr")
        return data

    def _intercept(self) -> bool | str:
        """Return the kind of intercept; scikit-learn's 'liblinear' is the objective's name too."""
        exact = not isinstance(self.fit_intercept, str) and self.fit_intercept
        if exact and is_named(self.solver) and self.solver == PENALISES_THE_INTERCEPT:
            return "penalised"
        return self.fit_intercept

    def _C(self) -> float:
        return math.inf if self.penalty is None else float(self.C)

    def _check_C(self) -> None:
        if not (isinstance(self.C, numbers.Real) and float(self.C) == math.inf):
            check_positive("C", self.C)
        if self.penalty is None and self.C != 1.0 and math.isfinite(self.C):
            warn_outside("Setting penalty=None will ignore the C parameter", UserWarning)

    def _kind(self) -> Any:
        if math.isinf(self._C()):
            return UnpenalisedProblem
        return SparseProblem if self._l1_ratio() else BinaryProblem

    def _l1_ratio(self) -> float:
        """Return ρ; without a penalty its shape says nothing."""
        ratio = l1_ratio_of(self.penalty, getattr(self, "l1_ratio", None))
        # In LogisticRegression a penalty that was given decides.
        return ratio if math.isfinite(self._C()) and self.penalty != "l2" else 0.0

    def _check_foreign(self) -> None:
        if is_named(self.solver):
            unpenalised = math.isinf(self._C())
            check_named(self.solver, self._l1_ratio(), unpenalised, self.dual)
        else:
            check_dual(self.dual, False)
        if self.solver == PENALISES_THE_INTERCEPT:
            explain_once(
                "solver=liblinear",
                "solver='liblinear' is read as fit_intercept='penalised', the objective that "
                "LIBLINEAR minimises; the method is chosen as with solver='auto'",
            )
        elif self.solver in SOLVERS[1:]:
            explain_once(
                "solver",
                f"solver={self.solver!r} is read as solver='auto' with the limits that it has in "
                "scikit-learn and a closer tolerance, as its tol bounds the gradient",
            )


def check_cv_arguments(l1_ratios: Any, refit: Any, legacy: Any) -> None:
    """Check the arguments that scikit-learn's LogisticRegressionCV has beside those."""
    if l1_ratios is not None and not not_given(l1_ratios):
        for ratio in np.atleast_1d(np.asarray(l1_ratios, dtype=object)):
            l1_ratio_of("l2", ratio)
    check_flag("refit", refit)
    if not not_given(legacy):
        check_flag("use_legacy_attributes", legacy)
