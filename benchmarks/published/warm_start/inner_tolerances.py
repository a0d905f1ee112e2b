"""Table I: how closely conjugate gradients solve a Newton step, ε_CG = 0.1 or 0.5.

``python -m benchmarks.published.warm_start.inner_tolerances [set ...]`` writes results/table_1.csv.
Logistic loss, no intercept, five stratified folds, warm starts over C. The method is the paper's
and not the library's, which chooses the accuracy of every step itself: Newton steps from conjugate
gradients without a preconditioner, ended at ‖∇f + ∇²f s‖ ≤ ε_CG ‖∇f‖, and a line search that
halves. Of the paper's sets a9a and ijcnn1 are at hand; for its documents news20 is added
(class 1 against the rest). Products with the data count the work, beside CPU seconds.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.arguments import names_asked_for

from .data import earlier, load, write

SETS = ("a9a", "ijcnn1", "news20.scale")
INNER = (0.1, 0.5)
TOLERANCE = 1e-3
MOST_LOG = 10
UNCHANGED = 3
COLUMNS = ["dataset", "epsilon_CG", "stop_log2C", "best_log2C", "best_rate", "products", "seconds"]


class Fold:
    """Newton's method for ½‖w‖² + C Σ log(1 + exp(−m)) on one fold, warm from C to C."""

    def __init__(self, X: Any, y: np.ndarray, inner: float) -> None:
        self.X, self.T, self.y, self.inner = X, X.T.tocsr(), y, inner
        self.w, self.products = np.zeros(X.shape[1]), 0

    def gradient(self, w: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray]:
        """Return ∇f and the probabilities of a wrong label."""
        wrong = 1.0 / (1.0 + np.exp(np.minimum(self.y * (self.X @ w), 700.0)))
        self.products += 2
        return w - C * (self.T @ (self.y * wrong)), wrong

    def value(self, w: np.ndarray, C: float) -> float:
        """Return f."""
        self.products += 1
        return 0.5 * float(w @ w) + C * float(np.logaddexp(0.0, -self.y * (self.X @ w)).sum())

    def solve(self, C: float) -> bool:
        """Go to the tolerance at C; return whether the start was there already."""
        size = float(np.linalg.norm(self.gradient(np.zeros_like(self.w), C)[0]))
        rarer = max(int(min((self.y > 0).sum(), (self.y < 0).sum())), 1)
        small = TOLERANCE * rarer / self.y.size * size
        g, wrong = self.gradient(self.w, C)
        unchanged = bool(np.linalg.norm(g) <= small)
        for _ in range(200):
            if np.linalg.norm(g) <= small:
                break
            s = self.step(g, C * wrong * (1.0 - wrong))
            here, slope, t = self.value(self.w, C), float(g @ s), 1.0
            while self.value(self.w + t * s, C) > here + 1e-2 * t * slope and t > 1e-8:
                t *= 0.5
            self.w = self.w + t * s
            g, wrong = self.gradient(self.w, C)
        return unchanged

    def step(self, g: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """Return s with ‖g + H s‖ ≤ ε_CG ‖g‖."""
        s, r = np.zeros_like(g), -g
        p, rr = r, float(r @ r)
        goal = self.inner**2 * rr
        while rr > goal:
            image = p + self.T @ (curvature * (self.X @ p))
            self.products += 2
            length = rr / float(p @ image)
            s, r = s + length * p, r - length * image
            before, rr = rr, float(r @ r)
            p = r + (rr / before) * p
        return s


def search(X: Any, y: np.ndarray, inner: float) -> list[Any]:
    """Search as the paper does; return where it stops, the best C and rate, products, seconds."""
    began = time.process_time()
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    parts = [(Fold(X[train], y[train], inner), test) for train, test in cv.split(X, y)]
    largest = float(np.asarray(X.multiply(X).sum(axis=1)).max())
    log, same, rates = int(np.floor(np.log2(1.0 / (y.size * largest)))), 0, {}
    while log <= MOST_LOG and same < UNCHANGED:
        unchanged = [fold.solve(2.0**log) for fold, _ in parts]
        hits = sum(int(((X[test] @ fold.w > 0.0) == (y[test] > 0)).sum()) for fold, test in parts)
        rates[log] = 100.0 * hits / y.size
        same = same + 1 if all(unchanged) else 0
        log += 1
    best = max(rates, key=lambda place: (rates[place], -place))
    products = sum(fold.products for fold, _ in parts)
    seconds = time.process_time() - began
    return [log - 1, best, f"{rates[best]:.2f}", products, f"{seconds:.1f}"]


def main(names: list[str]) -> None:
    """Compute the rows asked for, all by default, and keep the others of an earlier run."""
    kept = earlier("table_1", 2)
    for name in names or SETS:
        X, labels = load(name)
        y = np.where(labels == (labels.max() if np.unique(labels).size == 2 else 1), 1.0, -1.0)
        for inner in INNER:
            row = [name, inner, *search(X.tocsr(), y, inner)]
            print(*row, flush=True)
            kept[name, str(inner)] = row
            write("table_1", COLUMNS, list(kept.values()))


if __name__ == "__main__":
    main(names_asked_for(__doc__, "set"))
