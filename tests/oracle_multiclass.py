"""An independent statement of the multiclass problems, in plain numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

RULES = ("weston_watkins", "crammer_singer")


@dataclass(frozen=True)
class MulticlassOracle:
    """min ½‖W‖² (+ ½‖b/s‖² if penalised) + Σ c_i ℓ_i, and its dual."""

    X: Matrix
    y: NDArray[np.int64]
    c: Vector
    rule: str
    intercept: bool | str = True
    scaling: float = 1.0

    @property
    def k(self) -> int:
        return int(self.y.max()) + 1

    def slacks(self, W: Matrix, b: Vector) -> Matrix:
        """1 − m_ij over the rivals, −inf at the own class."""
        scores = self.X @ W.T + b
        places = np.arange(self.y.size)
        slack = 1.0 - scores[places, self.y][:, None] + scores
        slack[places, self.y] = -np.inf
        return slack

    def primal(self, W: Matrix, b: Vector) -> float:
        """P(W, b)."""
        total = 0.5 * float((W * W).sum())
        if self.intercept == "penalised":
            total += 0.5 * float(((b / self.scaling) ** 2).sum())
        elif self.intercept is False:
            assert not b.any()
        slack = np.maximum(self.slacks(W, b), 0.0)
        losses = slack.sum(axis=1) if self.rule == "weston_watkins" else slack.max(axis=1)
        return total + float(self.c @ losses)

    def coefficients(self, beta: Matrix) -> Matrix:
        """A of shape (n, k): W(β) = Aᵀ X."""
        A = -beta
        A[np.arange(self.y.size), self.y] += beta.sum(axis=1)
        return A

    def dual(self, beta: Matrix) -> float:
        """D(β), for β inside its range; that A sums to zero is checked apart."""
        A = self.coefficients(beta)
        total = float(beta.sum()) - 0.5 * float(((A.T @ self.X) ** 2).sum())
        if self.intercept == "penalised":
            total -= 0.5 * float(((self.scaling * A.sum(axis=0)) ** 2).sum())
        return total

    def beta_of(self, model: Any) -> Matrix:
        """β from the model's ``dual_coef_``; two classes share one row."""
        assert sp.issparse(model.dual_coef_)
        A = model.dual_coef_.toarray()
        A = np.concatenate([-0.5 * A, 0.5 * A]) if A.shape[0] == 1 else A
        beta = -A.T
        beta[np.arange(self.y.size), self.y] = 0.0
        return beta

    def weights_of(self, model: Any) -> tuple[Matrix, Vector]:
        """W and b of the model, one row a class."""
        W, b = model.coef_.astype(float), model.intercept_.astype(float)
        if W.shape[0] == 1:
            return np.concatenate([-0.5 * W, 0.5 * W]), np.concatenate([-0.5 * b, 0.5 * b])
        return W, b

    def check(self, model: Any, tol: float) -> tuple[float, float]:
        """Recompute P and D of a fitted model and hold it to tol; return them."""
        W, b = self.weights_of(model)
        beta = self.beta_of(model)
        assert (beta >= 0.0).all()
        used = beta.max(axis=1) if self.rule == "weston_watkins" else beta.sum(axis=1)
        assert (used <= self.c * (1.0 + 1e-12)).all()
        if self.intercept is True:
            A = self.coefficients(beta)
            assert np.abs(A.sum(axis=0)).sum() <= 1e-12 * np.abs(A).sum()
        P, D = self.primal(W, b), self.dual(beta)
        slack = 1e-10 * P
        assert -slack <= P - D, "weak duality: one of P and D is wrong"
        assert tol * P + slack >= P - D
        # What the model says of itself is what the data say.
        allowed = slack + model.rounding_[0]
        assert abs(model.primal_[0] - P) <= allowed
        assert abs(model.dual_[0] - D) <= allowed
        assert model.certificate_.relative_gap <= tol
        return P, D


def make_classes(
    n: int = 120, d: int = 6, k: int = 4, seed: int = 0, density: float = 1.0
) -> tuple[Matrix, NDArray[np.int64]]:
    """Overlapping clouds, one a class, in float32 values; every class occurs.

    With density < 1 some entries, one whole row and one whole column are zero.
    """
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), random.choice(k, size=n - k, p=_sizes(k))])
    X = random.normal(size=(n, d)) + random.normal(size=(k, d))[y]
    if density < 1.0:
        X *= random.random((n, d)) < density
        X[n // 2] = 0.0
        X[:, d // 2] = 0.0
    return X.astype(np.float32).astype(np.float64), y


def _sizes(k: int) -> Vector:
    sizes = np.linspace(1.0, 2.0, k)
    return sizes / sizes.sum()
