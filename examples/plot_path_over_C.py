"""
A path over C by warm starts
============================

To choose C one fits many values of it. With ``warm_start=True`` each fit starts from the one
before, which is close when C grows by small factors. The certificates hold for each point of the
path.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from widemargin import LinearSVC

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
scaler = StandardScaler().fit(X)
X, X_test = scaler.transform(X), scaler.transform(X_test)
costs = 2.0 ** np.arange(-14, 5)

# %%
# The same path twice: each C on its own, and each from its neighbour.
iterations = {}
for warm in (False, True):
    model = LinearSVC(tol=1e-6, warm_start=warm)
    began = time.perf_counter()
    rows = []
    for C in costs:
        model.set_params(C=C).fit(X, y)
        rows.append(
            (
                model.n_iter_[0],
                model.certificate_.relative_gap,
                model.score(X, y),
                model.score(X_test, y_test),
            )
        )
    iterations[warm], gap, inside, outside = np.array(rows).T
    seconds = time.perf_counter() - began
    kind = "warm" if warm else "cold"
    print(
        f"{kind}: {iterations[warm].sum():.0f} iterations, {seconds:.3f} s, "
        f"largest gap {gap.max():.1e}"
    )

# %%
# Small C underfits, large C overfits. Warm starts keep the number of iterations small throughout.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.semilogx(costs, inside, ".-", base=2, label="training")
left.semilogx(costs, outside, ".-", base=2, label="held out")
left.set(xlabel="C", ylabel="accuracy")
left.legend()
right.semilogx(costs, iterations[False], ".-", base=2, label="cold")
right.semilogx(costs, iterations[True], ".-", base=2, label="warm")
right.set(xlabel="C", ylabel="iterations", ylim=(0, None))
right.legend()
plt.show()
