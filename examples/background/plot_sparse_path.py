"""
Path of sparse coefficients over C
==================================

With the 1-norm as the penalty, features join the model one after the other as C grows. The path
starts at the smallest C that has a weight, which has a closed form. Every point of it is certified.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from widemargin import LogisticRegressionCV, path

data = load_breast_cancer()
X, y = scale(data.data), data.target
over = path(X, y, loss="logistic", l1_ratio=1.0)
print(over)

# %%
# How many features does a good model need? A search over the same values of C tells.
search = LogisticRegressionCV(
    over.Cs[::5], l1_ratios=[1.0], scoring="accuracy", use_legacy_attributes=False
).fit(X, y)
print(f"C = {search.C_:.3g}: {np.count_nonzero(search.coef_)} of {X.shape[1]} features")
print(f"cross-validated accuracy {search.best_score_:.3f}")
print(search.certificate_)

# %%
# Each line is a coefficient. The dashed line is the C with the best score.
coefs = over.coefs[:, 0, :]
figure, (top, bottom) = plt.subplots(2, 1, sharex=True, figsize=(8, 6), layout="constrained")
top.plot(over.Cs, coefs, linewidth=1)
last = np.abs(coefs).max(axis=0).argsort()[-5:]
for j in last:
    top.annotate(data.feature_names[j], (over.Cs[-1], coefs[-1, j]), fontsize=8)
top.set(xscale="log", ylabel="coefficient", title="Logistic regression with the 1-norm")
bottom.plot(over.Cs, (coefs != 0.0).sum(axis=1), drawstyle="steps-post")
bottom.set(xlabel="C", ylabel="features in the model")
for axis in (top, bottom):
    axis.axvline(search.C_, color="grey", linestyle="--")
plt.show()
