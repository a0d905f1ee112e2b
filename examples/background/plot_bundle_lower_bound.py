"""
How fast can a bundle method be?
================================

On ``J(w) = max_i w_i + λ/2 ‖w‖²`` every step of a bundle method sees one new coordinate only.
Its gap after t < d steps is exactly 1/(λt): twice the bound 1/(2λt) that no bundle method beats.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin.methods.published._simplex_qp import solve_simplex_qp

d, lam = 200, 0.01
w = np.zeros(d)
seen: list[int] = []
objectives, gaps = [], []
shares = np.zeros(0)
for _ in range(d - 1):
    # The tangent at w is the coordinate vector of its largest entry.
    seen.append(int(np.argmax(w)))
    tangents = np.eye(d)[seen]
    start = np.append(shares, 0.0 if shares.size else 1.0)
    shares = solve_simplex_qp(tangents @ tangents.T / lam, np.zeros(len(seen)), start)
    w = -tangents.T @ shares / lam
    objectives.append(w.max() + 0.5 * lam * w @ w)
    gaps.append(min(objectives) + 0.5 * (shares @ tangents @ tangents.T @ shares) / lam)

t = np.arange(1, d)
figure, axes = plt.subplots(figsize=(6, 3.6))
axes.loglog(t, gaps, label="measured gap of BMRM", linewidth=2)
axes.loglog(t, 1 / (2 * lam * t), "--", label="lower bound 1/(2λt)")
axes.set_xlabel("steps t")
axes.set_ylabel("gap")
axes.legend()
axes.grid(True, which="major", alpha=0.3)
figure.tight_layout()
plt.show()
