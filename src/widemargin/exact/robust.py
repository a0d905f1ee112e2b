"""The robust problem in exact arithmetic; lengths in the norm 2 are enclosed by rationals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.exact.binary import DualBound, moved_by
from widemargin.exact.bounds import Bounds
from widemargin.exact.integers import (
    ExactRows,
    Integers,
    Scaled,
    dyadic,
    root_above,
    root_below,
)
from widemargin.exact.losses import slack
from widemargin.exact.rest import gain_at_rest


@dataclass(frozen=True, eq=False)
class ExactRobust:
    """min ε λ + Σ p_i max(1 − m_i, 1 + m_i − κλ, 0) + c/2 ‖w‖² over ‖w‖ ≤ λ.

    Attributes
    ----------
    rows : ExactRows
    y : ndarray of object, shape (n,)
    weight : Scaled
        p_i.
    radius, label_cost, norm, l2 : float
        ε, κ, the norm of w, c.
    free_intercept : bool
    """

    rows: ExactRows
    y: Integers
    weight: Scaled
    radius: float
    label_cost: float
    norm: float
    l2: float
    free_intercept: bool

    @property
    def flips(self) -> bool:
        """Whether labels can be flipped."""
        return self.label_cost < inf and self.radius > 0.0

    def primal(self, w: NDArray[Any], b: float) -> Bounds:
        """Return P at the best λ."""
        weights = Scaled.of(w)
        scores = self.rows.scores(weights).plus(Scaled.of([b]))
        margins = Scaled(scores.values * self.y, scores.exponent)
        penalty = Fraction(self.l2) * weights.squared_length() / 2
        length = length_of(weights, self.norm)
        ends = [self._worst_loss(margins, end) for end in (length.lower, length.upper)]
        # P grows with the length: a longer w leaves fewer λ.
        return Bounds(ends[0] + penalty, ends[1] + penalty)

    def _worst_loss(self, margins: Scaled, length: Fraction) -> Fraction:
        """Return the smallest ε λ + Σ p_i max(1 − m_i, 1 + m_i − κλ, 0) over λ ≥ length."""
        kept = slack(margins)
        if not self.flips:
            return Fraction(self.radius) * length + kept.times(self.weight).total()
        # It is convex and linear between the λ at which κλ = min(2 m_i, 1 + m_i).
        exponent = min(margins.exponent, 0)
        m, one = margins.at(exponent), 1 << -exponent
        thresholds = np.minimum(2 * m, m + one)
        kappa, most = Fraction(self.label_cost), Fraction(self.radius) / Fraction(self.label_cost)
        left = int(most / dyadic(1, self.weight.exponent))
        start = kappa * length
        price = start
        for place in np.argsort(-thresholds, kind="stable"):
            here = dyadic(int(thresholds[place]), exponent)
            if here <= start:
                break
            left -= int(self.weight.values[place])
            if left < 0:
                price = here
                break
        # At this κλ the losses are exact again; the price may be any rational.
        total = Fraction(self.radius) / kappa * price
        flat = price / dyadic(1, exponent)
        flipped = np.maximum((m + one) * flat.denominator - flat.numerator, 0)
        losses = np.maximum(kept.at(exponent) * flat.denominator, flipped)
        whole = Scaled(losses, exponent).times(self.weight).total()
        return total + whole / flat.denominator

    def dual(self, keep: NDArray[Any], flip: NDArray[Any]) -> DualBound:
        """Return the dual value of dual variables that have been made feasible."""
        pair, in_range = self._clipped(Scaled.of(keep), Scaled.of(flip))
        signs = np.stack([self.y, -self.y])
        total = int((pair.values * signs).sum())
        residual = abs(dyadic(total, pair.exponent))
        if self.radius == 0.0 and self.l2 == 0.0:
            kept = Scaled(pair.values[0], pair.exponent)
            gain = gain_at_rest(self.rows.matrix, self.y, kept, self.weight, self.free_intercept)
            return DualBound(Bounds.exactly(gain), residual, in_range)
        if self.free_intercept and total:
            heavy = (signs == (1 if total > 0 else -1)).ravel()
            room = np.where(heavy, pair.values.ravel(), 0)
            order = np.argsort(self._slopes(pair, signs).ravel(), kind="stable")
            moved = moved_by(pair.values.ravel(), order, -1, room, abs(total))
            assert moved is not None  # the heavy side has at least the excess
            pair = Scaled(moved.reshape(2, -1), pair.exponent)
        return DualBound(self._value(pair), residual, in_range)

    def _clipped(self, keep: Scaled, flip: Scaled) -> tuple[Scaled, bool]:
        """Return both, not negative and together at most p, and whether they were."""
        exponent = min(keep.exponent, flip.exponent, self.weight.exponent)
        values = np.stack([keep.at(exponent), flip.at(exponent)])
        clipped = np.maximum(values, 0)
        if not self.flips:
            clipped[1] = 0
        over = np.maximum(clipped.sum(axis=0) - self.weight.at(exponent), 0)
        for row in (0, 1):
            step = np.minimum(over, clipped[row])
            clipped[row] -= step
            over = over - step
        return Scaled(clipped, exponent), bool((clipped == values).all())

    def _slopes(self, pair: Scaled, signs: Integers) -> NDArray[Any]:
        """Return how much D falls per unit that is taken away, in floating point."""
        floats = pair.floats().reshape(2, -1)
        with np.errstate(all="ignore"):
            v = self.rows.matrix.T @ (floats * signs.astype(float)).sum(axis=0)
            v = v / max(float(np.abs(v).max(initial=0.0)), 1e-300)
            return np.nan_to_num(-signs.astype(float) * (self.rows.matrix @ v))

    def _value(self, pair: Scaled) -> Bounds:
        """Return D, after scaling the dual variables down where the ball asks for it."""
        keep, flip = pair.values
        gain = pair.total()
        v = self.rows.combine(Scaled((keep - flip) * self.y, pair.exponent))
        kappa = Fraction(self.label_cost) if self.flips else Fraction(0)
        flipped = kappa * dyadic(int(flip.sum()), pair.exponent)
        radius = Fraction(self.radius)
        if self.l2 == 0.0:
            need = length_of(v, {1.0: inf, inf: 1.0}.get(self.norm, 2.0))
            scales = [_share(radius, end + flipped) for end in (need.upper, need.lower)]
            return Bounds(scales[0] * gain, scales[1] * gain)
        scale = _share(radius, flipped)
        square = squared_distance(v, scale, radius - scale * flipped, self.norm)
        return Bounds.exactly(scale * gain) - square.scaled(1 / (2 * Fraction(self.l2)))


def _share(most: Fraction, need: Fraction) -> Fraction:
    """Return the largest factor up to 1 that brings a need down to what there is."""
    return Fraction(1) if need <= most else most / need


def length_of(w: Scaled, norm: float) -> Bounds:
    """Return ‖w‖ in the norm 1, 2 or infinity."""
    if norm == 2.0:
        square = w.squared_length()
        return Bounds(root_below(square), root_above(square))
    sizes = np.abs(w.values)
    whole = sizes.sum() if norm == 1.0 else max(sizes, default=0)
    return Bounds.exactly(dyadic(int(whole), w.exponent))


def squared_distance(v: Scaled, scale: Fraction, radius: Fraction, norm: float) -> Bounds:
    """Return the squared distance of scale · v to the ball of the norm dual to `norm`."""
    if norm == 2.0:
        length = length_of(v, 2.0)
        ends = [max(scale * end - radius, Fraction(0)) ** 2 for end in (length.lower, length.upper)]
        return Bounds(*ends)
    sizes = sorted((scale * dyadic(abs(int(x)), v.exponent) for x in v.values), reverse=True)
    if norm == 1.0:  # the ball is a cube
        return Bounds.exactly(sum(((x - radius) ** 2 for x in sizes if x > radius), Fraction(0)))
    if sum(sizes) <= radius:
        return Bounds.exactly(Fraction(0))
    # The projection on the ball of the norm 1 lowers every size by θ, down to zero.
    total = Fraction(0)
    theta = Fraction(0)
    for count, x in enumerate(sizes, start=1):
        if x * count <= total + x - radius:
            break
        total += x
        theta = (total - radius) / count
    return Bounds.exactly(sum((min(x, theta) ** 2 for x in sizes), Fraction(0)))
