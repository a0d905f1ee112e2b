"""Checks of arguments that several estimators take; each refusal is one sentence."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from widemargin.problems.losses import HINGE, SQUARED_HINGE, Loss
from widemargin.problems.multiclass import RULES


def check_number(name: str, value: Any, allowed: Callable[[float], bool], what: str) -> None:
    """Refuse what is not a real number, or not one that is allowed."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not allowed(float(value)):
        raise ValueError(f"{name} must be {what}; got {value!r}")


def check_positive(name: str, value: Any) -> None:
    """Refuse what is not a positive finite number."""
    check_number(name, value, lambda v: v > 0.0 and math.isfinite(v), "a positive finite number")


def check_not_negative(name: str, value: Any) -> None:
    """Refuse what is not a finite number from zero on."""
    check_number(
        name, value, lambda v: v >= 0.0 and math.isfinite(v), "a finite number, not negative"
    )


def check_count(name: str, value: Any) -> None:
    """Refuse what is not a positive integer."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < 1:
        raise ValueError(f"{name} must be a positive integer; got {value!r}")


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}")


def seed_of(random_state: Any) -> int:
    """Return the seed of a run: a number stands for itself, as making a generator of it takes time.

    None draws one from numpy's global generator, a generator from itself.
    """
    whole = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if whole and 0 <= random_state < 2**32:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def margin_loss(name: Any) -> Loss:
    """Return the loss of a support vector machine, or refuse the argument ``loss``."""
    losses = {"squared_hinge": SQUARED_HINGE, "hinge": HINGE}
    if not isinstance(name, str) or name not in losses:
        raise ValueError(f"loss must be 'squared_hinge' or 'hinge'; got {name!r}")
    return losses[name]


def check_rule(multi_class: Any, loss: Any) -> str:
    """Return the rule by which several classes are told apart, or refuse ``multi_class``."""
    rules = ("ovr", *RULES)
    if not isinstance(multi_class, str) or multi_class not in rules:
        names = ", ".join(map(repr, rules))
        raise ValueError(f"multi_class must be one of {names}; got {multi_class!r}")
    if multi_class != "ovr" and loss != "hinge":
        raise ValueError(f"multi_class={multi_class!r} needs loss='hinge'; got loss={loss!r}")
    return multi_class


def check_one_thread(rule: str, n_jobs: int | None) -> None:
    """Refuse threads where all classes are one problem."""
    if n_jobs is not None and n_jobs != 1:
        raise ValueError(
            f"n_jobs has a meaning only with multi_class='ovr': {rule!r} is one problem"
        )


def check_limits(estimator: Any) -> None:
    """Check what every estimator takes about its run, from ``tol`` to ``callback``."""
    check_positive("tol", estimator.tol)
    if estimator.time_limit is not None:
        check_positive("time_limit", estimator.time_limit)
    check_count("max_iter", estimator.max_iter)
    check_flag("warm_start", getattr(estimator, "warm_start", False))
    jobs = estimator.n_jobs
    if jobs is not None and (not isinstance(jobs, numbers.Integral) or jobs == 0):
        raise ValueError(f"n_jobs must be a non-zero integer or None; got {jobs!r}")
    if estimator.callback is not None and not callable(estimator.callback):
        raise ValueError(f"callback must be callable or None; got {estimator.callback!r}")
