"""How many held-out examples are surely wrong between two values of C that were solved.

Let L(w) be the loss and Φ(β) the sum of dual terms at C = 1, and v = Σ α_i y_i x_i. For any w and
any α = Cβ in its range, strong convexity of both objectives puts the solution at C into a ball:

    ‖w*(C) − c‖² ≤ P(w) − D(α) − ¼‖w − v‖² = ‖c‖² + C L(w) − C Φ(β),    c = (w + v)/2.

Between neighbouring points C_j, C_{j+1} at which such a pair is known, take w, α and so c linear in
C: α stays in its range, L is convex, and C Φ(α/C) is jointly concave in (C, α). Chords therefore
bound the right-hand side at *every* C between by a parabola, whose largest value is the squared
radius there. An example is surely wrong throughout if at both ends c·x is on the wrong side by more
than the radius times ‖x‖, since c·x is linear too.

The pairs are themselves taken from the line between two solved knots. Solutions are smooth in ln C,
so that their gap falls with the fourth power of the distance of the knots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.certificate import Point
from widemargin.selection.folds import Folds
from widemargin.selection.knots import Knot

Vector = NDArray[np.float64]

_ROUNDING = 1e-13
"""Relative rounding of the sums in a radius, and far more than that of a score."""

_MOST_HALVINGS = 5
"""How often the intervals between the first points are halved at most."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The held-out examples, one fold after the other.

    Attributes
    ----------
    fold, code : ndarray of shape (held out,)
        Fold and place of the true class.
    norm : ndarray of shape (held out,)
    mass : ndarray of shape (held out,)
        Share of the error: the mean over folds of weighted means.
    """

    fold: NDArray[np.intp]
    code: NDArray[Any]
    norm: Vector
    mass: Vector

    @classmethod
    def of(cls, folds: Folds) -> HeldOut:
        """Collect them."""
        rows = np.concatenate([test for _, test in folds.splits])
        fold = np.repeat(np.arange(len(folds.splits)), [test.size for _, test in folds.splits])
        weight = np.ones(rows.size) if folds.data.weight is None else folds.data.weight[rows]
        share = weight / np.bincount(fold, weight)[fold] / len(folds.splits)
        norms = [folds.held_out(place).norms for place in range(len(folds.splits))]
        return cls(fold, folds.data.codes[rows], np.sqrt(np.concatenate(norms)), share)


@dataclass(frozen=True, eq=False)
class Between:
    """Points on the line between two knots, and what is sure between them.

    Attributes
    ----------
    a, b : Knot
    leads : Leads
    x : ndarray of shape (points,)
        ln C of the points, in rising order.
    mix : ndarray of shape (points, 4)
        Shares of w_a, w_b, u_a and u_b in the centres.
    at : ndarray of shape (folds, k, points)
        Squared radii at the points.
    over : ndarray of shape (folds, k, points − 1)
        Squared radii that are valid from each point to the next.
    """

    a: Knot
    b: Knot
    leads: Leads
    x: Vector
    mix: Vector
    at: Vector
    over: Vector

    def wrong(self) -> Vector:
        """Return the share of examples that are surely wrong from each point to the next."""
        lead = self.leads.at(self.mix)
        return self.leads.wrong(np.minimum(lead[:-1], lead[1:]), self.over)

    def intervals(self, needed: float) -> int:
        """Return how many intervals may do for a share; 0 if not even the radii at points do.

        What a radius between two points exceeds those at them by falls with the square of their
        distance.
        """
        lead, squares = self.leads.at(self.mix), self.over.max(axis=2, keepdims=True)
        for halvings in range(_MOST_HALVINGS + 1):
            expected = np.maximum(self.at, squares / 4.0**halvings)
            if (self.leads.wrong(lead, expected) >= needed).all():
                return (self.x.size - 1) * 2**halvings
        return 0

    def start(self, x: float) -> list[Point]:
        """Return the points between the knots at ln C = x, one a run."""
        tau, sigma = _shares(self.a, self.b, np.array([x]))
        return [
            p.point(q, float(tau[0]), float(sigma[0]), float(np.exp(x)))
            for p, q in zip(self.a.parts, self.b.parts, strict=True)
        ]


class Leads:
    """How far wrong classes are ahead of the true ones, by the vectors of two knots."""

    def __init__(self, a: Knot, b: Knot, held_out: HeldOut) -> None:
        scores = np.stack([a.by_w, b.by_w, a.by_u, b.by_u])
        self._several = scores.shape[2] > 1
        if self._several:
            own = held_out.code[None, :, None]
            ahead = scores - np.take_along_axis(scores, own, axis=2)
        else:
            # One problem against zero.
            ahead = scores * np.where(held_out.code == 1, -1.0, 1.0)[None, :, None]
        some = np.flatnonzero((ahead > 0.0).any(axis=(0, 2)))
        self._ahead = ahead[:, some]
        self._fold, self._code = held_out.fold[some], held_out.code[some]
        self._norm, self._mass = held_out.norm[some], held_out.mass[some]
        # A row of zeros has the score zero at every C, and is given to the first class.
        always = (held_out.norm == 0.0) & (held_out.code != 0)
        self._always = float(held_out.mass[always].sum())

    def at(self, mix: Vector) -> Vector:
        """Return the leads at centres, of shape (centres, examples, k)."""
        return np.tensordot(mix, self._ahead, axes=1)

    def wrong(self, lead: Vector, squares: Vector) -> Vector:
        """Return the share of examples that are wrong all over balls with these squared radii."""
        radius = np.moveaxis(np.sqrt(squares), 2, 0) * (1.0 + 1e-9)
        reach = radius[:, self._fold]
        if self._several:
            # The radii of both classes' balls add up.
            reach = reach + radius[:, self._fold, self._code][:, :, None]
        sure = (lead > reach * self._norm[:, None]).any(axis=2)
        return np.asarray(sure @ self._mass + self._always)


def between(a: Knot, b: Knot, x: Vector, held_out: HeldOut) -> Between:
    """Place points at x, from x[0] to x[-1], which lie between the knots a and b."""
    tau, sigma = _shares(a, b, x)
    C = np.exp(x)
    mix = 0.5 * np.stack([1.0 - tau, tau, C * (1.0 - sigma), C * sigma], axis=1)
    at = np.empty((*a.gap.shape, x.size))
    over = np.empty((*a.gap.shape, x.size - 1))
    for p, q in zip(a.parts, b.parts, strict=True):
        vectors = np.stack([p.w, q.w, p.u, q.u])
        gram = np.einsum("pdl,qdl->lpq", vectors, vectors)
        radii = _radii(C, mix, gram, p.losses(q, tau), C * p.duals(q, sigma))
        for lane, cell in enumerate(p.cells):
            at[cell], over[cell] = radii[0][lane], radii[1][lane]
    return Between(a, b, Leads(a, b, held_out), x, mix, at, over)


def _shares(a: Knot, b: Knot, x: Vector) -> tuple[Vector, Vector]:
    """Return τ and σ: weights are nearly linear in ln C, dual variables over C in 1/C."""
    if b.C <= a.C:
        return np.linspace(0.0, 1.0, x.size), np.linspace(0.0, 1.0, x.size)
    tau = (x - a.x) / (b.x - a.x)
    sigma = (1.0 - a.C * np.exp(-x)) / (1.0 - a.C / b.C)
    return np.clip(tau, 0.0, 1.0), np.clip(sigma, 0.0, 1.0)


def _radii(
    C: Vector, mix: Vector, gram: Vector, losses: Vector, duals: Vector
) -> tuple[Vector, Vector]:
    """Return the squared radii at the points, and the largest from each point to the next."""
    norms = ((mix @ gram) * mix).sum(axis=2)
    rounding = _ROUNDING * (norms + C * np.abs(losses) + np.abs(duals))
    at = norms + C * losses - duals + rounding
    # The parabola over s in [0, 1] is at_j (1 − s) + at_{j+1} s − bend s (1 − s).
    step = np.diff(mix, axis=0)
    bend = ((step @ gram) * step).sum(axis=2) + np.diff(C) * np.diff(losses)
    first, last = at[:, :-1], at[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        s = np.clip(0.5 - 0.5 * (last - first) / bend, 0.0, 1.0)
    s = np.where(bend < 0.0, s, 0.0)
    top = first + s * (last - first) - bend * s * (1.0 - s)
    return np.maximum(at, 0.0), np.maximum(np.maximum(np.maximum(first, last), top), 0.0)
