"""Certificate: how far from optimal an answer can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Weights: TypeAlias = NDArray[np.float64]
Intercept: TypeAlias = Any
"""A number, or an array of one number a class."""
Duals: TypeAlias = Any
"""An array, or a sparse one where most dual variables are zero."""


@dataclass(frozen=True)
class Certificate:
    """Primal and dual value of an answer; the optimum lies between them.

    Attributes
    ----------
    primal : float
        Objective P at the weights.
    dual : float
        Dual objective D at a feasible dual point: a lower bound on every objective.

    Examples
    --------
    >>> from widemargin import Certificate
    >>> Certificate(primal=10.0, dual=9.99).relative_gap < 2e-3
    True
    """

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """P − D: no weights have an objective lower than P by more than this."""
        return max(self.primal - self.dual, 0.0)

    @property
    def relative_gap(self) -> float:
        """The gap divided by P: the figure that ``tol`` is compared with."""
        return self.gap / self.primal if self.primal > 0.0 else (0.0 if self.gap == 0.0 else np.inf)

    def __str__(self) -> str:
        return (
            f"primal {self.primal:.10g}, dual {self.dual:.10g}, "
            f"within {percentage(min(self.relative_gap, 1.0))} % of the optimum"
        )


def percentage(share: float) -> str:
    """Return a share as a percentage, to two digits."""
    return "100" if share >= 0.995 else f"{100.0 * share:.2g}"


@dataclass(frozen=True, eq=False)
class Point:
    """Weights, intercept and dual variables: what a certificate is computed from.

    Their shapes are the problem's: w is a vector and b a number in the binary problems, and ``w``
    has an entry for the constant feature, last, when the intercept is penalised.
    """

    w: Weights
    b: Intercept
    alpha: Duals
