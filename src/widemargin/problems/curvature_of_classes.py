"""Lengths of gradient and rows in the norm of the curvature of all classes, rounding included."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.curvature_bounds import Lengths, stretch
from widemargin.problems.rounding import growth

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_BLOCK = 256
"""Rows that are looked at together."""


@dataclass(frozen=True, eq=False)
class Directions:
    """Rows with the classes' probabilities, and directions F that nearly whiten their curvature.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    F : ndarray of shape (k − 1, d, r)
        The weights of all classes but the last, whose own do not move.
    cost : ndarray of shape (n,)
    p : ndarray of shape (n, k)
    label : ndarray of shape (n,)
    """

    X: Matrix
    F: Matrix
    cost: Vector
    p: Matrix
    label: NDArray[np.int32]

    def lengths(self, error: float) -> Lengths:
        """Return upper bounds of λ and ρ, for probabilities with a relative error."""
        rank = self.F.shape[2]
        M, G, slack = np.zeros((rank, rank)), np.zeros(rank), np.zeros(rank)
        trace = hidden = most = 0.0
        for begin in range(0, len(self.X), _BLOCK):
            block = slice(begin, begin + _BLOCK)
            c, p = self.cost[block], self.p[block]
            D, off = self._changes(self.X[block])
            weighted = (c[:, None] * p)[:, :, None] * D
            mean = np.einsum("nj,njr->nr", p, D)
            M += np.einsum("njr,njs->rs", weighted, D, optimize=True)
            M -= mean.T @ (c[:, None] * mean)
            trace += float(np.einsum("njr,njr->", weighted, D))
            hidden += float(c @ np.einsum("njr,njr->n", off, off))
            a = c[:, None] * p
            own = np.arange(c.size), self.label[block]
            doubt = a * error
            a[own] -= c
            doubt[own] += 8.0 * growth(1.0) * c
            G += np.einsum("nj,njr->r", a, D)
            slack += np.einsum("nj,njr->r", growth(self._terms) * np.abs(a) + doubt, np.abs(D))
            slack += np.einsum("nj,njr->r", np.abs(a) + doubt, off)
            most = max(most, _largest_range(D, off))
        kappa = stretch(M, growth(self._terms) * trace, math.sqrt(hidden) * (1.0 + 1e-6), error)
        if kappa == 0.0:
            return Lengths(math.inf, math.inf)
        slope = float(np.linalg.norm(np.abs(G) + slack)) * (1.0 + 1e-6)
        return Lengths(slope / kappa, most / kappa)

    @property
    def _terms(self) -> float:
        """Roundings in a sum over rows and classes, at most."""
        return float(self.p.size + 4 * self.p.shape[1] + 64)

    def _changes(self, X: Matrix) -> tuple[Matrix, Matrix]:
        """Return how the scores of rows change along the directions, and errors of that."""
        count, rank = len(X), self.F.shape[2]
        D, off = np.zeros((2, count, self.p.shape[1], rank))
        D[:, :-1] = np.einsum("nd,kdr->nkr", X, self.F, optimize=True)
        # Rows that were shifted may have been rounded once.
        off[:, :-1] = np.einsum("nd,kdr->nkr", np.abs(X), np.abs(self.F), optimize=True)
        off *= growth(X.shape[1] + 8.0)
        return D, off


def _largest_range(D: Matrix, off: Matrix) -> float:
    """Return the longest difference of two classes' changes, from above."""
    inner = D @ D.transpose(0, 2, 1)
    own = np.einsum("nkk->nk", inner)
    apart = own[:, :, None] + own[:, None] - 2.0 * inner
    # The square is a difference of larger ones.
    apart += growth(4.0 * D.shape[2] + 16.0) * (own[:, :, None] + own[:, None])
    doubt = 2.0 * math.sqrt(float(np.einsum("nkr,nkr->nk", off, off).max()))
    return (math.sqrt(max(float(apart.max()), 0.0)) + doubt) * (1.0 + 1e-6)
