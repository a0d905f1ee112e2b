"""
One slow fit made fast
======================

scikit-learn's ``LinearSVC`` with the hinge loss and a large C: the kind of fit that ends with
"Liblinear failed to converge". Here is the same problem with both, at several settings, and how far
from the optimum each answer really is.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC as TheirLinearSVC

from widemargin import LinearSVC

X, y = make_classification(4000, 60, n_informative=20, flip_y=0.1, random_state=0)
C = 100.0


def objective(model):
    """Return ½‖w‖² + C Σ max(0, 1 − y (w·x)), which both minimise without an intercept."""
    w = model.coef_[0]
    return 0.5 * w @ w + C * np.maximum(0.0, 1.0 - np.where(y == 1, 1, -1) * (X @ w)).sum()


def timed(model):
    """Return CPU seconds and objective of a fit."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    return time.process_time() - start, objective(model)


# %%
# scikit-learn's knob is the number of passes, ours is the proven distance from the optimum.
settings = {"loss": "hinge", "C": C, "fit_intercept": False}
timed(LinearSVC(**settings))  # the first fit of a process imports what it needs
theirs = [
    timed(TheirLinearSVC(max_iter=m, random_state=0, **settings)) for m in (100, 400, 1600, 6400)
]
ours = [timed(LinearSVC(tol=tol, **settings)) for tol in (1e-2, 1e-4, 1e-6, 1e-8)]
model = LinearSVC(tol=1e-8, **settings).fit(X, y)
best = model.certificate_.dual
print(model.certificate_)
print("solver:", model.solver_)

# %%
# Down and left is better. The optimum is known from the certificate, so the distance is real.
figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, runs, style in (("scikit-learn", theirs, "C1s-"), ("widemargin", ours, "C0o-")):
    seconds, values = np.array(runs).T
    distance = np.maximum(values / best - 1.0, 1e-10)
    axis.loglog(seconds, distance, style, label=name)
    for s, d in zip(seconds, distance, strict=True):
        print(f"{name:13} {s:7.3f} s, {d:.1e} above the optimum")
axis.set(xlabel="CPU seconds", ylabel="objective above the optimum, relative")
axis.legend()
plt.show()
