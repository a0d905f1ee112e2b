"""Certificate: how far from optimal an answer can be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from widemargin.data.cached import cached_property
from widemargin.data.quick_init import quick_init
from widemargin.problems.rounding import UNIT, or_infinite

Weights: TypeAlias = NDArray[np.float64]
Intercept: TypeAlias = Any
"""A number, or an array with one number per class."""
Duals: TypeAlias = Any
"""An array, or a sparse one where most dual variables are zero."""


@quick_init
@dataclass(frozen=True)
class Certificate:
    """Bounds that the optimum lies between, rounding included.

    Both are statements about real numbers: the data, the costs, the weights and the dual variables
    are floating-point numbers, hence exact, and what rounding could have done while they were
    multiplied and added has been added to `primal` and taken from `dual`.

    Attributes
    ----------
    primal : float
        At least the objective P(w, b) at the weights and the intercept.
    dual : float
        At most the lowest objective of all: the dual objective D at a feasible dual point.
    rounding : float
        The part of the gap that only allows for rounding.
    least : float
        Where objectives are negative, the size below which they count as zero.

    Examples
    --------
    >>> from widemargin import Certificate
    >>> certificate = Certificate(primal=10.0, dual=9.99)
    >>> print(certificate)
    primal 10, dual 9.99, within 0.1 % of the optimum
    >>> print(f"{certificate.relative_gap:.1e}")
    1.0e-03
    """

    primal: float
    dual: float
    rounding: float = field(default=0.0, compare=False)
    least: float = field(default=0.0, compare=False)

    @classmethod
    def bounds(cls, primal: float, above: float, dual: float, below: float) -> Certificate:
        """Return the certificate of two computed values, each with what rounding can be worth.

        Values that are not numbers bound nothing.
        """
        # The last additions round, too.
        upper = or_infinite(primal + above * (1.0 + 8.0 * UNIT) + 4.0 * UNIT * abs(primal), np.inf)
        lower = or_infinite(dual - below * (1.0 + 8.0 * UNIT) - 4.0 * UNIT * abs(dual), -np.inf)
        if lower > upper:
            raise RuntimeError(
                f"inconsistent certificate: dual {lower!r} above primal {upper!r}; please report it"
            )
        return cls(upper, lower, or_infinite(above + below, np.inf))

    @classmethod
    def of_kernel(cls, primal: float, above: float, dual: float, below: float) -> Certificate:
        """Return the same; raise an error where only an indefinite kernel explains D above P."""
        if dual - below > primal + above + 1e-7 * (abs(primal) + abs(dual)):
            raise ValueError(
                f"dual {dual!r} above primal {primal!r}: the kernel is not positive semidefinite"
            )
        return cls.bounds(primal, above, min(dual, primal + above), below)

    @classmethod
    def of_sum(cls, parts: Sequence[Certificate]) -> Certificate:
        """Return the certificate of a sum of objectives with a certificate each."""
        if len(parts) == 1:
            return parts[0]
        # A sum that is rounded once may be rounded the wrong way.
        primal = np.nextafter(math.fsum(part.primal for part in parts), np.inf)
        dual = np.nextafter(math.fsum(part.dual for part in parts), -np.inf)
        return cls(float(primal), float(dual), math.fsum(part.rounding for part in parts))

    @property
    def gap(self) -> float:
        """P − D: no weights have an objective lower than P by more than this."""
        return self.primal - self.dual

    @cached_property
    def relative_gap(self) -> float:
        """The gap divided by P: the figure that ``tol`` is compared with.

        Negative objectives have ``|D| ≥ |P|``: there it is divided by ``|D|``.
        """
        size = self.magnitude
        if size > 0.0:
            return self.gap / size if size < np.inf else np.inf
        return 0.0 if self.gap == 0.0 else np.inf

    @property
    def magnitude(self) -> float:
        """What the gap is relative to."""
        if self.primal < 0.0 or self.least > 0.0:
            return max(-self.dual, self.least)
        return self.primal

    def is_spoilt(self, tol: float) -> bool:
        """Whether `tol` is missed because of rounding, which alone takes up more than that."""
        allowed = tol * self.magnitude
        return self.gap > allowed >= self.gap - self.rounding and self.rounding > allowed

    def __str__(self) -> str:
        return (
            f"primal {self.primal:.10g}, dual {self.dual:.10g}, "
            f"within {percentage(min(self.relative_gap, 1.0))} % of the optimum"
        )


def percentage(share: float) -> str:
    """Return a share as a percentage, to two digits."""
    return "100" if share >= 0.995 else f"{100.0 * share:.2g}"


@quick_init
@dataclass(frozen=True, eq=False)
class Point:
    """Weights, intercept and dual variables: what a certificate is computed from.

    Their shapes are the problem's: w is a vector and b a number in the binary problems, and ``w``
    has an entry for the constant feature, last, when the intercept is penalised.
    """

    w: Weights
    b: Intercept
    alpha: Duals


def _is_lent(alpha: Any) -> bool:
    """Whether a method goes on to change dual variables; by default it gives them away."""
    return bool(getattr(alpha, "lent", False))


def _copied(point: Point) -> Point:
    """Copy what a method goes on to change."""
    alpha = point.alpha.copy() if _is_lent(point.alpha) else point.alpha
    return Point(point.w.copy(order="K"), point.b, alpha)


_UNBOUNDED = Certificate(np.inf, -np.inf)


class BestPoint:
    """The best primal and the best dual point seen; together they give the smallest gap."""

    def __init__(self) -> None:
        self.point: Point | None = None
        self.certificate = _UNBOUNDED

    def take(self, point: Point, certificate: Certificate, copy: bool = True) -> None:
        """Keep what is better of a point: copies of what a method goes on to change, or not."""
        # Written so that a value that is not a number is replaced by any other.
        better_primal = not certificate.primal >= self.certificate.primal or self.point is None
        better_dual = not certificate.dual <= self.certificate.dual or self.point is None
        self._keep(point, better_primal, better_dual, copy)
        if better_primal and better_dual:
            self.certificate = certificate
            return
        self.certificate = Certificate(
            certificate.primal if better_primal else self.certificate.primal,
            certificate.dual if better_dual else self.certificate.dual,
            certificate.rounding if better_primal or better_dual else self.certificate.rounding,
            certificate.least,
        )

    def _keep(self, point: Point, primal: bool, dual: bool, copy: bool) -> None:
        """Keep the weights of a point, its dual variables, or both."""
        old = self.point
        alpha = point.alpha if dual or old is None else old.alpha
        if primal or old is None:
            self.point = old = None  # free these weights before the others are copied
            self.point = Point(point.w, point.b, alpha)
            self.point = _copied(self.point) if copy else self.point
        else:
            self.point = Point(old.w, old.b, alpha.copy() if _is_lent(alpha) else alpha)
