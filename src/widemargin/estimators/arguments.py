"""Checks of arguments that several estimators take; each refusal is one sentence."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from widemargin.data.validation import check_count, check_flag, check_positive
from widemargin.problems.losses import HINGE, LOGISTIC, LOSSES, SQUARED_HINGE, Loss


def seed_of(random_state: Any) -> int:
    """Return the seed of a run: a number stands for itself, as making a generator of it takes time.

    None draws one from numpy's global generator, a generator from itself.
    """
    plain = type(random_state) is int
    whole = plain or (
        isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    )
    if whole and 0 <= random_state < 2**32:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def margin_loss(name: Any) -> Loss:
    """Return the loss of a support vector machine, or raise an error for ``loss``."""
    for loss in (SQUARED_HINGE, HINGE):
        if loss.name == name:
            return loss
    losses = [SQUARED_HINGE, HINGE]
    losses += [loss for loss in LOSSES.values() if loss not in (*losses, LOGISTIC)]
    for loss in losses:
        if loss.name == name:
            return loss
    names = " or ".join(repr(loss.name) for loss in losses)
    raise ValueError(f"loss must be {names}; got {name!r}")


def loss_under_rule(name: Any, multi_class: Any) -> Loss:
    """Return the loss under a multiclass rule: Crammer and Singer's has one of its own.

    scikit-learn ignores ``loss`` there, whose default is another.
    """
    loss = margin_loss(name)
    return HINGE if multi_class == "crammer_singer" else loss


def check_one_thread(rule: str, n_jobs: int | None) -> None:
    """Raise an error for threads if the classes are trained jointly."""
    if n_jobs is not None and n_jobs != 1:
        raise ValueError(f"n_jobs is for multi_class='ovr': {rule!r} is a single problem")


def check_limits(estimator: Any) -> None:
    """Check the arguments that all estimators share, from ``tol`` to ``callback``."""
    check_positive("tol", estimator.tol)
    if estimator.time_limit is not None:
        check_positive("time_limit", estimator.time_limit)
    check_count("max_iter", estimator.max_iter, getattr(estimator, "_fewest_steps", 1))
    check_flag("warm_start", getattr(estimator, "warm_start", False))
    jobs = estimator.n_jobs
    if jobs is not None and (not isinstance(jobs, numbers.Integral) or jobs == 0):
        raise ValueError(f"n_jobs must be a non-zero integer or None; got {jobs!r}")
    verbose = estimator.verbose
    whole = type(verbose) is int or isinstance(verbose, numbers.Integral | np.bool_)
    if not whole or verbose < 0:
        raise ValueError(f"verbose must be True, False or a number from 0 on; got {verbose!r}")
    if estimator.callback is not None and not callable(estimator.callback):
        raise ValueError(f"callback must be callable or None; got {estimator.callback!r}")
