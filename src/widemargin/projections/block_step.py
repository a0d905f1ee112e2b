"""The step of block dual descent for multiclass problems."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.instruction_sets import core
from widemargin.problems.multiclass import RULES


def block_step(
    v: Any, c: float, *, rule: str = "weston_watkins", method: str = "select"
) -> NDArray[np.float64]:
    """Minimise ``½‖b‖² + ½(Σb)² − v·b`` over the dual's range of one example.

    The range is 0 ≤ b ≤ c for Weston and Watkins, b ≥ 0 and Σb ≤ c for Crammer and Singer. The
    minimiser is clip(v − γ, 0, c) or max(v − γ, 0), with γ the root of a piecewise linear function.

    Parameters
    ----------
    v : array-like of shape (k − 1,)
        For an example of class y with dual variables β, over its rivals j:
        ``(1 − (w_y − w_j)·x)/‖x‖² + β_j + Σβ``.
    c : float
        The cost of the example; zero or more.
    rule : {"weston_watkins", "crammer_singer"}, default="weston_watkins"
    method : {"select", "sort"}, default="select"
        "select" drops what cannot take part and finds γ by partition: expected O(k). "sort" walks
        down the sorted breakpoints as WALRUS does: O(k log k). The result is the same.

    Returns
    -------
    ndarray of shape (k − 1,)

    Examples
    --------
    >>> from widemargin.projections import block_step
    >>> block_step([3.0, 1.0, -2.0], 1.0)
    array([1., 0., 0.])
    >>> block_step([3.0, 3.0, -2.0], 1.0, rule="crammer_singer")
    array([0.5, 0.5, 0. ])
    """
    values = np.ascontiguousarray(v, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"v must have one dimension; it has shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("v must be finite")
    if not (math.isfinite(c) and c >= 0.0):
        raise ValueError(f"c must be finite and not negative; got {c!r}")
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}; got {rule!r}")
    if method not in ("select", "sort"):
        raise ValueError(f"method must be 'select' or 'sort'; got {method!r}")
    out = np.empty_like(values)
    core.block_step(values, float(c), rule, method == "sort", out)
    return out
