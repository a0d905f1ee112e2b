"""An independent statement of the problems, in plain numpy, that the tests judge by.

Nothing here is taken from widemargin: the formulas are those of docs/theory/losses.md and
docs/theory/duals_and_gap.md, on dense float64 data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Vector = NDArray[np.float64]

LOSSES = ("hinge", "squared_hinge", "logistic")
INTERCEPTS = (True, "penalised", False)
SERVES = {
    "dual_cd": LOSSES,
    "newton": ("squared_hinge", "logistic"),
    "quasi_newton": ("squared_hinge", "logistic"),
    "proximal_newton": ("hinge",),
    "interior_point": ("hinge",),
}
"""Which solver must serve which loss."""
COMPARED = {
    "dual_of_dual": ("squared_hinge",),
    "bmrm_qp": LOSSES,
    "bmrm_ls": LOSSES,
    "pragam": ("hinge",),
    "pegasos": ("hinge",),
    "pegasos_n": ("hinge",),
    "primal_cd": ("squared_hinge", "logistic"),
}
"""Methods that are not held to the tightest tolerances and have tests of their own:
tests/certificate/test_rates.py, and test_sparse_gap.py for primal_cd."""
MULTICLASS = {
    "frank_wolfe",
    "corrective_frank_wolfe",
    "block_frank_wolfe",
    "oblivious_frank_wolfe",
    "away_frank_wolfe",
    "pairwise_frank_wolfe",
}
"""Methods of joint problems over all classes: tests/certificate/test_frank_wolfe.py."""
PAIRS = [
    *[("auto", loss) for loss in LOSSES],
    *[(name, loss) for name in SERVES for loss in SERVES[name]],
]
"""Every solver with every loss that it serves."""


def value(loss: str, m: Vector) -> Vector:
    """ℓ(m)."""
    if loss == "hinge":
        return np.maximum(0.0, 1.0 - m)
    if loss == "squared_hinge":
        return np.maximum(0.0, 1.0 - m) ** 2
    return np.logaddexp(0.0, -m)


def alpha_at(loss: str, m: Vector, c: Vector) -> Vector:
    """The dual variable that belongs to a margin: −c ℓ'(m)."""
    if loss == "hinge":
        return np.where(m < 1.0, c, 0.0)
    if loss == "squared_hinge":
        return 2.0 * c * np.maximum(0.0, 1.0 - m)
    return c / (1.0 + np.exp(m))


def curvature_at(loss: str, m: Vector, c: Vector) -> Vector:
    """c ℓ''(m)."""
    if loss == "squared_hinge":
        return np.where(m < 1.0, 2.0 * c, 0.0)
    return c / (1.0 + np.exp(m)) / (1.0 + np.exp(-m))


def dual_term(loss: str, alpha: Vector, c: Vector) -> Vector:
    """φ(α); −inf outside the range."""
    alpha, c = np.broadcast_arrays(np.asarray(alpha, float), np.asarray(c, float))
    inside = alpha >= 0.0 if loss == "squared_hinge" else (alpha >= 0.0) & (alpha <= c)
    with np.errstate(divide="ignore", invalid="ignore"):
        if loss == "hinge":
            term = alpha + 0.0
        elif loss == "squared_hinge":
            term = np.where(c > 0.0, alpha - alpha**2 / (4.0 * c), np.where(alpha > 0, -np.inf, 0))
        else:
            # −α log α − (c−α) log(c−α) + c log c, without the cancellation of c log c
            rest = c - alpha
            left = np.where(alpha > 0.0, alpha * np.log(alpha / c), 0.0)
            right = np.where(rest > 0.0, rest * np.log1p(-alpha / c), 0.0)
            term = -left - right
    return np.where(inside, term, -np.inf)


def dense(X: Any) -> NDArray[np.float64]:
    """The data as a dense float64 array, exactly."""
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


@dataclass(frozen=True)
class Oracle:
    """min ½‖w‖² (+ ½(b/s)² if penalised) + Σ c_i ℓ(y_i (w·x_i + b)), and its dual."""

    X: NDArray[np.float64]
    y: Vector
    c: Vector
    loss: str
    intercept: bool | str = True
    scaling: float = 1.0

    def primal(self, w: Vector, b: float) -> float:
        """P(w, b)."""
        total = 0.5 * float(w @ w)
        if self.intercept == "penalised":
            total += 0.5 * (b / self.scaling) ** 2
        elif self.intercept is False:
            assert b == 0.0
        return total + float(self.c @ value(self.loss, self.y * (self.X @ w + b)))

    def dual(self, alpha: Vector) -> float:
        """D(α), for α inside its range; Σ α y = 0 is checked apart."""
        v = self.X.T @ (alpha * self.y)
        total = float(np.sum(dual_term(self.loss, alpha, self.c))) - 0.5 * float(v @ v)
        if self.intercept == "penalised":
            total -= 0.5 * (self.scaling * float(alpha @ self.y)) ** 2
        return total

    def rounding(self, w: Vector, b: float) -> float:
        """How far two correct sums for P may lie apart: 1 − m is rounded before it is scaled."""
        margins = np.abs(self.X) @ np.abs(w) + abs(b)
        return 1e-13 * self.primal(w, b) + 4e-16 * float(self.c @ (1.0 + margins))

    def dual_rounding(self, alpha: Vector) -> float:
        """How far two correct sums for D may lie apart: far from the optimum it is a difference."""
        v = self.X.T @ (alpha * self.y)
        terms = float(np.sum(np.abs(dual_term(self.loss, alpha, self.c)) + alpha))
        moved = float(np.linalg.norm(v)) * float(np.linalg.norm(self.X, axis=1) @ alpha)
        return 1e-15 * (terms + moved)

    def check_feasible(self, alpha: Vector) -> None:
        """α in its range exactly, Σ α y = 0 to rounding."""
        assert np.isfinite(alpha).all()
        assert (alpha >= 0.0).all()
        if self.loss != "squared_hinge":
            assert (alpha <= self.c).all()
        assert (alpha[self.c == 0.0] == 0.0).all()
        if self.intercept is True:
            assert abs(float(alpha @ self.y)) <= 1e-13 * float(alpha.sum())

    def check(self, model: Any, tol: float, row: int = 0) -> tuple[float, float]:
        """Recompute P and D of a fitted model and hold it to tol; return them."""
        w, b = model.coef_[row].astype(float), float(model.intercept_[row])
        alpha = model.dual_coef_[row] * self.y
        self.check_feasible(alpha)
        P, D = self.primal(w, b), self.dual(alpha)
        slack = self.rounding(w, b) + self.dual_rounding(alpha) + 1e-13 * max(0.0, abs(D) - P)
        assert -slack <= P - D, "weak duality: one of P and D is wrong"
        assert tol * P + slack >= P - D
        # What the model says of itself is what the data say.
        allowed = slack + model.rounding_[row]
        assert abs(model.primal_[row] - P) <= allowed
        # The residual of a free intercept has its price, which only lowers the bound; it shows
        # where a run was cut short, because little is known about the best intercept there.
        cut_short = self.intercept is True and model.certificates_[row].relative_gap > 0.1
        price = 1e-6 * abs(D) if cut_short else 0.0
        assert -allowed - price <= model.dual_[row] - D <= allowed
        assert model.certificates_[row].relative_gap <= tol
        return P, D


def estimator(loss: str, **arguments: Any) -> Any:
    """The widemargin estimator of a loss, one class against the rest."""
    from widemargin import LinearSVC, LogisticRegression

    if loss == "logistic":
        return LogisticRegression(**{"multi_class": "ovr", **arguments})
    return LinearSVC(loss, **arguments)


SHAPES = {"tall": (160, 8), "wide": (60, 120)}


def make_data(
    shape: str | tuple[int, int] = "tall", seed: int = 0, density: float = 1.0, noise: float = 0.7
) -> tuple[NDArray[np.float64], Vector]:
    """Overlapping classes; float32 values, so that both precisions state the same problem.

    Columns differ in scale, classes in size; with density < 1 some entries, one whole row and
    one whole column are zero.
    """
    n, d = SHAPES[shape] if isinstance(shape, str) else shape
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * np.linspace(0.5, 1.5, d)
    if density < 1.0:
        X *= random.random((n, d)) < density
        X[n // 2] = 0.0
        X[:, d // 2] = 0.0
    X = X.astype(np.float32).astype(np.float64)
    scores = X @ random.normal(size=d) / np.sqrt(d) + noise * random.normal(size=n) + 0.3
    return X, np.where(scores > 0.0, 1.0, -1.0)


LAYOUTS = (
    "dense-float64",
    "dense-float32",
    "csr-float64-int32",
    "csr-float64-int64",
    "csr-float32-int32",
    "csr-float32-int64",
)


def layout(X: NDArray[np.float64], name: str) -> Any:
    """The same matrix in a given layout, with dtype and index width as named."""
    kind, dtype, *index = name.split("-")
    if kind == "dense":
        return np.ascontiguousarray(X, dtype=dtype)
    matrix = sp.csr_array(X.astype(dtype))
    matrix.indices = matrix.indices.astype(index[0])
    matrix.indptr = matrix.indptr.astype(index[0])
    assert matrix.dtype == dtype
    assert matrix.indices.dtype == matrix.indptr.dtype == index[0]
    return matrix
