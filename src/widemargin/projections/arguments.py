"""Arguments that the projections share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def vector(name: str, value: Any) -> NDArray[np.float64]:
    """Return a contiguous vector of float64, or say why it cannot be one."""
    array = np.ascontiguousarray(value, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got shape {array.shape}")
    return array


def refuse_infinite(name: str, array: NDArray[np.float64], total: float) -> None:
    """Raise an error if a number is not finite; a finite total, known anyway, rules that out."""
    if not np.isfinite(total) and not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")


def positive_radius(radius: Any) -> float:
    """Return the radius as a float, or raise an error."""
    number = float(radius)
    if not (number > 0.0 and np.isfinite(number)):
        raise ValueError(f"radius must be a positive finite number; got {radius!r}")
    return number
