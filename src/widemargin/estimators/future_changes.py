"""Changes that scikit-learn has announced for arguments that we share, announced here too.

Defaults here follow scikit-learn's, and so do their warnings: those of the version installed.
"""

from __future__ import annotations

from typing import Any

import sklearn

from widemargin.estimators.outside import warn_outside

_VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])

DEPRECATED, WARN = "deprecated", "warn"
"""Defaults of scikit-learn's that say that nothing was given."""


def not_given(value: Any) -> bool:
    """Whether an argument has scikit-learn's mark for a default that will change."""
    return isinstance(value, str) and value in (DEPRECATED, WARN)


def announce(since: tuple[int, int], message: str) -> None:
    """Warn of a change if the scikit-learn installed does."""
    if since <= _VERSION:
        warn_outside(message, FutureWarning)


def announce_penalty(penalty: Any, l1_ratio: str) -> None:
    """Warn that ``penalty`` will go, if it was given; ``l1_ratio`` is what replaces it."""
    if not not_given(penalty):
        announce(
            (1, 8),
            "'penalty' was deprecated in scikit-learn 1.8 and will be removed in 1.10. Leave it at "
            f"its default: {l1_ratio}=0 stands for penalty='l2', 1 for 'l1', a number between for "
            "'elasticnet', and C=np.inf for penalty=None",
        )


def announce_search(penalty: Any, l1_ratios: Any, scoring: Any, legacy: Any) -> None:
    """Warn of what will change in LogisticRegressionCV, where it was left open."""
    announce_penalty(penalty, "l1_ratios")
    if not_given(l1_ratios):
        announce(
            (1, 8),
            "The default value for l1_ratios will change from None to (0.0,) in scikit-learn 1.10, "
            "and here; l1_ratios=(0,) keeps the model and silences this",
        )
    elif l1_ratios is None and not_given(penalty):
        announce(
            (1, 8),
            "'l1_ratios=None' was deprecated in scikit-learn 1.8 and will be an error in 1.10; "
            "use l1_ratios=(0,)",
        )
    if not_given(scoring):
        announce(
            (1, 9),
            "The default value of the parameter 'scoring' will change from None, which is "
            "accuracy, to 'neg_log_loss' in scikit-learn 1.11, and here; give one of them to "
            "silence this",
        )
    if not_given(legacy):
        announce(
            (1, 8),
            "The default value of use_legacy_attributes will change from True to False in "
            "scikit-learn 1.10, and here; give one of them to silence this",
        )


def warn_of_ratio(penalty: Any, l1_ratio: Any) -> None:
    """Warn of an ``l1_ratio`` that ``penalty`` contradicts or leaves without effect."""
    if not_given(penalty):
        if l1_ratio is None:
            announce(
                (1, 8),
                "'l1_ratio=None' was deprecated in scikit-learn 1.8 and will be an error in 1.10; "
                "use a number between 0 and 1",
            )
        return
    if penalty != "elasticnet" and l1_ratio is not None and 0.0 < l1_ratio < 1.0:
        warn_outside(
            "l1_ratio parameter is only used when penalty is 'elasticnet'. "
            f"Got (penalty={penalty})",
            UserWarning,
        )
    expected = {"l2": 0.0, "l1": 1.0}.get(penalty) if isinstance(penalty, str) else None
    if _VERSION >= (1, 8) and expected is not None and l1_ratio not in (None, expected):
        warn_outside(
            f"Inconsistent values: penalty={penalty} with l1_ratio={l1_ratio}. "
            "penalty decides; use l1_ratio alone",
            UserWarning,
        )
