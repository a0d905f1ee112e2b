"""The proximal step of one example of the robust problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from widemargin.instruction_sets import core
from widemargin.projections.epigraph import checked_norm, checked_vector

Vector = NDArray[np.float64]

CASES = ("kept", "flipped", "none", "kept=flipped", "kept=none", "flipped=none", "all")
"""Which pieces are active at the answer: the seven cases of DRSVM's Table 6, in its order."""


@dataclass(frozen=True, eq=False)
class ProxStep:
    """The answer of a proximal step.

    Attributes
    ----------
    w : ndarray of shape (d,)
    price : float
        λ.
    keep, flip : float
        Multipliers of the pieces 1 − m and 1 + m − κλ.
    case : str
        Which pieces are active, one of `CASES`.

    Examples
    --------
    >>> from widemargin.projections import robust_prox
    >>> step = robust_prox([0.0, 0.0], 1.0, [1.0, 0.0], step=0.25, label_cost=2.0)
    >>> step.case, step.w, step.keep, step.flip
    ('kept', array([0.25, 0.  ]), ..., ...)
    """

    w: Vector
    price: float
    keep: float
    flip: float
    case: str


def robust_prox(
    w: ArrayLike,
    price: float,
    z: ArrayLike,
    step: float,
    label_cost: float,
    norm: float = 2,
    *,
    l2: float = 0.0,
) -> ProxStep:
    """Minimise one example's robust loss plus the distance from (w, λ).

    ``min max(1 − z·w, 1 + z·w − κλ, 0) + l2/2 ‖w‖² + (‖w − w₀‖² + (λ − λ₀)²)/(2 step)`` over
    ‖w‖ ≤ λ (DRSVM eq. 7, 11 and 28).

    Parameters
    ----------
    w : array-like of shape (d,)
        w₀.
    price : float
        λ₀.
    z : array-like of shape (d,)
        The example times its label.
    step : float
    label_cost : float
        κ, positive; infinite if labels are trusted.
    norm : {1, 2, inf}, default=2
    l2 : float, default=0.0

    Returns
    -------
    ProxStep

    Examples
    --------
    >>> from widemargin.projections import robust_prox
    >>> answer = robust_prox([0.0, 0.0], 1.0, [1.0, 0.0], step=0.25, label_cost=2.0)
    >>> answer.case, answer.w, answer.price
    ('kept', array([0.25, 0.  ]), 1.0)
    """
    point, row = checked_vector(w, "w"), checked_vector(z, "z")
    if point.shape != row.shape:
        raise ValueError("w and z must have the same length")
    if not (step > 0.0 and label_cost > 0.0 and l2 >= 0.0):
        raise ValueError("step and label_cost must be positive, l2 not negative")
    # DRSVM eq. (28): the penalty goes into the units of λ and into the aperture of the cone.
    root = float(np.sqrt(1.0 + step * l2))
    point /= root * root
    start, cost, pull = float(price) / root, float(label_cost) * root, float(step) / root**2
    moved, keep, flip, case = core.robust_prox(
        point, start, row, pull, cost, 0.0, checked_norm(norm), root
    )
    return ProxStep(point, root * moved, keep, flip, CASES[case])
