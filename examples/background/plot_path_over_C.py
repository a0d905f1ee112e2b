"""
A path over C by warm starts
============================

To choose C one looks at many values of it. `path` solves them in turn, each from the one before,
which is close when C grows by small factors. The certificates hold for each point of the path.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from widemargin import path

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
scaler = StandardScaler().fit(X)
X, X_test = scaler.transform(X), scaler.transform(X_test)
costs = 2.0 ** np.arange(-14, 5)

# %%
# The same path twice: each C on its own, and each from its neighbour.
cold = path(X, y, costs, tol=1e-6, warm=False)
warm = path(X, y, costs, tol=1e-6)
for kind, over in (("cold", cold), ("warm", warm)):
    largest = max(certificate.relative_gap for certificate in over.certificates)
    print(f"{kind}: {over.passes.sum():.0f} passes over the data, largest gap {largest:.1e}")

# %%
# Small C underfits, large C overfits. Warm starts keep the work small throughout.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
left.semilogx(costs, warm.coefs[:, 0], base=2, linewidth=1)
left.set(xlabel="C", ylabel="coefficients")
middle.semilogx(costs, warm.score(X, y), ".-", base=2, label="training")
middle.semilogx(costs, warm.score(X_test, y_test), ".-", base=2, label="held out")
middle.set(xlabel="C", ylabel="accuracy")
middle.legend()
right.semilogx(costs, cold.passes, ".-", base=2, label="cold")
right.semilogx(costs, warm.passes, ".-", base=2, label="warm")
right.set(xlabel="C", ylabel="passes", ylim=(0, None))
right.legend()
plt.show()
