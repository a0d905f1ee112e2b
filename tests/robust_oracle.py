"""The robust problem written again in numpy and cvxpy, from DRSVM eq. (1), for the tests."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

DUAL_NORM = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}
SETTINGS = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "max_iter": 200}


@dataclass(frozen=True, eq=False)
class RobustOracle:
    """One robust problem on dense data."""

    X: Vector
    y: Vector
    p: Vector
    radius: float
    label_cost: float
    norm: float
    l2: float = 0.0
    intercept: bool = False

    def value(self, w: Vector, b: float, price: float) -> float:
        """The objective at a given λ."""
        m = self.y * (self.X @ w + b)
        losses = np.maximum(1.0 - m, 0.0)
        if np.isfinite(self.label_cost):
            losses = np.maximum(losses, 1.0 + m - self.label_cost * price)
        return self.radius * price + float(self.p @ losses) + 0.5 * self.l2 * float(w @ w)

    def primal(self, w: Vector, b: float) -> float:
        """P at the best λ, which is ‖w‖ or a point where some example's pieces meet."""
        length = float(np.linalg.norm(w, self.norm))
        if self.radius == 0.0:
            return float(self.p @ np.maximum(1.0 - self.y * (self.X @ w + b), 0.0)) + (
                0.5 * self.l2 * float(w @ w)
            )
        prices = [length]
        if np.isfinite(self.label_cost):
            m = self.y * (self.X @ w + b)
            meets = np.concatenate([2.0 * m, 1.0 + m]) / self.label_cost
            prices += list(meets[meets > length])
        return min(self.value(w, b, price) for price in prices)

    def dual(self, keep: Vector, flip: Vector) -> float:
        """D of dual variables that must be feasible."""
        slack = 1e-12
        assert (keep >= 0.0).all()
        assert (flip >= 0.0).all()
        assert (keep + flip <= self.p * (1.0 + slack)).all()
        if self.intercept:
            assert abs(float((keep - flip) @ self.y)) <= 1e-12
        v = self.X.T @ ((keep - flip) * self.y)
        paid = self.label_cost * float(flip.sum()) if flip.any() else 0.0
        left = self.radius - paid
        assert left >= -slack
        dual_norm = DUAL_NORM[self.norm]
        size = float(np.linalg.norm(v, dual_norm))
        if self.l2 == 0.0:
            scale = self.X.shape[1] * float(np.abs(self.X).max()) * float((keep + flip).sum())
            assert size <= left + slack * max(scale, 1.0)
            return float((keep + flip).sum())
        return float((keep + flip).sum()) - self._squared_distance(v, left) / (2.0 * self.l2)

    def _squared_distance(self, v: Vector, left: float) -> float:
        """To the ball of the dual norm, by bisection where there is no formula."""
        if self.norm == 2.0:
            return max(float(np.linalg.norm(v)) - left, 0.0) ** 2
        if self.norm == 1.0:
            return float((np.maximum(np.abs(v) - left, 0.0) ** 2).sum())
        if float(np.abs(v).sum()) <= left:
            return 0.0
        low, high = 0.0, float(np.abs(v).max())
        for _ in range(200):
            middle = 0.5 * (low + high)
            if float(np.maximum(np.abs(v) - middle, 0.0).sum()) > left:
                low = middle
            else:
                high = middle
        return float((np.minimum(np.abs(v), high) ** 2).sum())

    def check(self, model: Any, tol: float, row: int = 0) -> None:
        """Recompute P and D of a fitted model and hold it to tol."""
        P = self.primal(model.coef_[row].astype(float), float(model.intercept_[row]))
        flip = model.flip_coef_[row]
        keep = model.dual_coef_[row] * self.y + flip
        D = self.dual(np.where(np.abs(keep) < 1e-17, 0.0, keep), flip)
        rounding = 1e-11 * max(1.0, P)
        assert P + rounding >= D
        assert tol * P + rounding >= P - D
        assert abs(model.primal_[row] - P) <= rounding + model.rounding_[row]
        assert abs(model.dual_[row] - D) <= 1e-9 * max(1.0, P) + model.rounding_[row]

    def optimum(self) -> float:
        """By a generic solver."""
        import cvxpy as cp

        w, price = cp.Variable(self.X.shape[1]), cp.Variable()
        b = cp.Variable() if self.intercept else 0.0
        m = cp.multiply(self.y, self.X @ w + b)
        losses = cp.pos(1.0 - m)
        if np.isfinite(self.label_cost):
            losses = cp.maximum(losses, 1.0 + m - self.label_cost * price)
        objective = self.radius * price + self.p @ losses + 0.5 * self.l2 * cp.sum_squares(w)
        problem = cp.Problem(cp.Minimize(objective), [cp.norm(w, self.norm) <= price])
        with warnings.catch_warnings():
            # Eleven digits are more than it can promise; the comparison needs eight.
            warnings.simplefilter("ignore")
            problem.solve(solver=cp.CLARABEL, **SETTINGS)
        return float(problem.value)


def make_robust(
    shape: tuple[int, int] = (60, 7), seed: int = 0, weighted: bool = False, **arguments: Any
) -> RobustOracle:
    """Overlapping classes, some weights zero if weighted."""
    random = np.random.default_rng(seed)
    n, d = shape
    X = random.normal(size=(n, d)) * 10.0 ** random.uniform(-0.5, 0.5, size=d)
    scores = X[:, 0] + 0.5 * X[:, -1] + 0.7 * X[:, 0].std() * random.normal(size=n)
    y = np.where(scores > 0.3, 1.0, -1.0)
    p = random.uniform(0.0, 2.0, size=n) * (random.random(n) > 0.1) if weighted else np.ones(n)
    defaults = {"radius": 0.1, "label_cost": 1.0, "norm": 2.0}
    return RobustOracle(X, y, p / p.sum(), **{**defaults, **arguments})
