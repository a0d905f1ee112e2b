"""A judge of certificates that makes no rounding errors: fractions, and fifty digits for logs."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp


def exact_rows(X: Any) -> list[list[tuple[int, Fraction]]]:
    """The entries of each row that are not zero, as fractions."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    return [[(j, Fraction(float(v))) for j, v in enumerate(row) if v != 0.0] for row in dense]


def dot(row: list[tuple[int, Fraction]], w: list[Fraction]) -> Fraction:
    """x·w."""
    return sum((v * w[j] for j, v in row), Fraction(0))


def fractions_of(values: Any) -> list[Fraction]:
    """The numbers as they are."""
    return [Fraction(float(v)) for v in np.ravel(values)]


def _log1pexp(m: Fraction) -> Fraction:
    """log(1 + e^−m) from below, to forty digits."""
    with localcontext() as context:
        context.prec = 60
        x = Decimal(m.numerator) / Decimal(m.denominator)
        if x > 2000:
            return Fraction(0)
        if x < -2000:
            return -m
        value = ((-x).exp() + 1).ln() if x > 0 else (x.exp() + 1).ln() - x
        return Fraction(value) * (1 - Fraction(1, 10**40))


def loss_of(name: str, m: Fraction) -> Fraction:
    """ℓ(m)."""
    if name == "logistic":
        return _log1pexp(m)
    slack = max(Fraction(0), 1 - m)
    return slack * slack if name == "squared_hinge" else slack


def binary_primal(name: str, X: Any, y: Any, cost: Any, w: Any, b: float) -> Fraction:
    """P(w, b), without an intercept that is penalised."""
    weights, offset = fractions_of(w), Fraction(float(b))
    total = sum((v * v for v in weights), Fraction(0)) / 2
    for row, sign, c in zip(exact_rows(X), y, fractions_of(cost), strict=True):
        total += c * loss_of(name, int(sign) * (dot(row, weights) + offset))
    return total


def binary_dual(name: str, X: Any, y: Any, cost: Any, alpha: Any) -> Fraction:
    """D(α) of a hinge, whatever Σ α y is; minus infinity is an AssertionError."""
    v: dict[int, Fraction] = {}
    total = Fraction(0)
    for row, sign, c, a in zip(
        exact_rows(X), y, fractions_of(cost), fractions_of(alpha), strict=True
    ):
        assert a >= 0
        assert name == "squared_hinge" or a <= c
        total += a
        if name == "squared_hinge" and a:
            total -= a * a / (4 * c)
        for j, x in row:
            v[j] = v.get(j, Fraction(0)) + int(sign) * a * x
    return total - sum((s * s for s in v.values()), Fraction(0)) / 2


def joint_primal(rule: str, X: Any, label: Any, cost: Any, W: Any, b: Any) -> Fraction:
    """P(W, b) of a joint multiclass rule."""
    weights, offsets = [fractions_of(w) for w in W], fractions_of(b)
    total = sum((v * v for w in weights for v in w), Fraction(0)) / 2
    for row, own, c in zip(exact_rows(X), label, fractions_of(cost), strict=True):
        scores = [dot(row, w) + o for w, o in zip(weights, offsets, strict=True)]
        slacks = [max(Fraction(0), 1 - scores[own] + s) for j, s in enumerate(scores) if j != own]
        total += c * (sum(slacks, Fraction(0)) if rule == "weston_watkins" else max(slacks))
    return total
