"""
Worst case over the radius
==========================

Loss on the data as they are, and in the worst case within a distance of them, for the plain and for
the robust support vector machine. The plain one wins at radius zero and loses soon after.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from widemargin import LinearSVC, RobustSVC, worst_case

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
plain = LinearSVC("hinge", C=1.0, tol=1e-6).fit(X, y)
radii = np.linspace(0.0, 0.3, 13)[1:]

# %%
# Features may move in every coordinate at once (norm 1 of w); a flipped label costs 3.
shift = {"norm": 1, "label_cost": 3.0}
losses = {"plain": [], "robust": [], "robust, data as they are": []}
for radius in radii:
    robust = RobustSVC(radius, tol=1e-6, **shift).fit(X, y)
    case = worst_case(robust, X, y, radius, **shift)
    losses["plain"].append(worst_case(plain, X, y, radius, **shift).loss)
    losses["robust"].append(case.loss)
    losses["robust, data as they are"].append(case.clean_loss)

# %%
figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
clean = worst_case(plain, X, y, 0.0, **shift).clean_loss
axes.plot(radii, losses["plain"], "C1", label="LinearSVC, worst case")
axes.axhline(clean, color="C1", linestyle=":", label="LinearSVC, data as they are")
axes.plot(radii, losses["robust"], "C0", label="RobustSVC, worst case")
axes.plot(radii, losses["robust, data as they are"], "C0:", label="RobustSVC, data as they are")
axes.set(xlabel="radius", ylabel="expected hinge loss", ylim=(0, None))
axes.legend()

# %%
# What the worst distribution at the last radius does to the robust model.
flipped = case.label != y[case.index]
print(f"{flipped.sum()} labels flipped, in all {case.mass[flipped].sum():.3f} of the mass")
print(f"{(case.shift > 0).sum()} examples moved, the farthest by {case.shift.max():.2f}")

plt.show()
