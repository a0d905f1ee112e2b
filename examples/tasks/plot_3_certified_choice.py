"""
A proof that no other C is better
=================================

Cross-validation on a grid of C says nothing about the values between its points. With
``certify=0.01`` the grid is refined until it is proven that no C of the range has an error more
than one percentage point below the one that is returned.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from widemargin import LinearSVCCV

X, y = load_breast_cancer(return_X_y=True)
model = LinearSVCCV(Cs=[0.001, 0.01, 0.1, 1.0], certify=0.01, fit_intercept="penalised", cv=5).fit(
    scale(X), y
)
print(f"C = {model.C_:.4g}, error {1 - model.best_score_:.4f}")
print(f"no C from 0.001 to 1 has an error below {model.error_bound_:.4f}")
print(f"{model.n_solved_} values of C were solved")

# %%
# The error over C, with the band that the proof leaves for it.
C, lower, error = model.band_
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.fill_between(C, 100 * lower, 100 * error, alpha=0.3, label="proven band")
axis.semilogx(C, 100 * error, linewidth=1, label="cross-validation error")
axis.axvline(model.C_, linestyle="--", color="black", linewidth=1, label=f"C = {model.C_:.3g}")
axis.set(xlabel="C", ylabel="error in %")
axis.legend()
plt.show()
