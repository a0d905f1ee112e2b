"""
Exact and penalised intercept
=============================

LIBLINEAR, and with it scikit-learn's ``LinearSVC``, penalises the intercept as if it were one more
weight. That is harmless while the data surround the origin, and it is not when they lie to one side
of it. Here the same two clouds of points are moved away from the origin, step by step.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import LinearSVC

random = np.random.default_rng(0)
n = 150
X = np.vstack([random.normal([-1, 0], 0.6, (n, 2)), random.normal([1, 0], 0.6, (n, 2))])
y = np.repeat([0, 1], n)

# %%
# The exact intercept gives the same line through the points wherever they are. The penalised one
# pays for an intercept that is far from zero, and turns the line instead.
shifts = (0.0, 3.0, 9.0)
figure, axes = plt.subplots(1, len(shifts), figsize=(10, 3.6), layout="constrained")
for shift, axis in zip(shifts, axes, strict=True):
    moved = X + shift
    axis.scatter(*moved.T, c=y, cmap="coolwarm", s=8, alpha=0.6)
    horizontal = np.array([moved[:, 0].min(), moved[:, 0].max()])
    for kind, style in ((True, "k-"), ("penalised", "k--")):
        model = LinearSVC(C=0.02, fit_intercept=kind, tol=1e-8).fit(moved, y)
        (w1, w2), b = model.coef_[0], model.intercept_[0]
        vertical = np.array([moved[:, 1].min(), moved[:, 1].max()])
        label = "exact" if kind is True else "penalised"
        axis.plot(-(b + w2 * vertical) / w1, vertical, style, label=label)
        accuracy = model.score(moved, y)
        print(f"shift {shift:3}: {label:9} w = ({w1:.3f}, {w2:.3f}), accuracy {accuracy:.3f}")
    axis.set(title=f"moved by {shift:g}", xlim=horizontal)
axes[0].legend(loc="upper left")
plt.show()
