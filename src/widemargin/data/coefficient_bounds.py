"""``coef_bounds`` and ``positive``: what they mean, and what they do not go together with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.validation import check_flag

Vector = NDArray[np.float64]

_LARGEST = 1e100
"""Squares of larger bounds overflow."""


def has_bounds(model: Any) -> bool:
    """Whether an estimator asks for bounds; raise an error if they have no meaning."""
    check_flag("positive", model.positive)
    if model.coef_bounds is None:
        return bool(model.positive)
    pair = isinstance(model.coef_bounds, tuple | list) and len(model.coef_bounds) == 2
    if not pair:
        raise ValueError(
            f"coef_bounds must be a pair (lower, upper) of numbers or arrays; "
            f"got {model.coef_bounds!r}"
        )
    return True


def bounds_of(model: Any, features: int) -> tuple[Vector, Vector] | None:
    """Return the bounds of every feature's weight, or None if an estimator asks for none."""
    if not has_bounds(model):
        return None
    given = (None, None) if model.coef_bounds is None else model.coef_bounds
    lower, upper = (
        _side("lower", given[0], -np.inf, features),
        _side("upper", given[1], np.inf, features),
    )
    if model.positive:
        lower = np.maximum(lower, 0.0)
    crossed = np.flatnonzero(~(lower <= upper))
    if crossed.size:
        place = int(crossed[0])
        raise ValueError(
            f"coef_bounds leave nothing for feature {place}: its lower bound {lower[place]:g} is "
            f"above its upper bound {upper[place]:g}"
        )
    return lower, upper


def _side(name: str, given: Any, default: float, features: int) -> Vector:
    """Return one of the two bounds as an array."""
    if given is None:
        return np.full(features, default)
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the {name} bounds of coef_bounds must be numbers") from None
    if values.ndim == 0:
        values = np.full(features, float(values))
    if values.shape != (features,):
        raise ValueError(
            f"the {name} bounds of coef_bounds must be a number or have shape ({features},); "
            f"got shape {values.shape}"
        )
    size = np.abs(values)
    if np.isnan(values).any() or ((size > _LARGEST) & (size < np.inf)).any():
        raise ValueError(f"the {name} bounds of coef_bounds must be infinite or at most 1e100")
    if (values == -default).any():
        raise ValueError(f"the {name} bounds of coef_bounds must not be {-default:g}")
    return values.copy()


def check_bounded(model: Any, rule: str, classes: int, elsewhere: bool) -> None:
    """Raise an error for a classifier with bounds that its other arguments or data do not allow."""
    if not has_bounds(model):
        return
    if model._l1_ratio():
        raise ValueError("coef_bounds and positive need penalty='l2'")
    if not np.isfinite(model._C()):
        raise ValueError("coef_bounds and positive need a finite C")
    if classes > 2 or rule != "ovr":
        raise ValueError(
            "coef_bounds and positive are for two classes, trained with multi_class='ovr': with "
            "more classes a bound would mean something else for each"
        )
    if elsewhere:
        raise ValueError("coef_bounds and positive need data in memory")
