"""
How tight a tolerance, and when to stop
=======================================

``tol`` is the relative duality gap. How small need it be? Here is the accuracy on held-out data for
a range of tolerances on sparse data, and two ways to stop early.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from widemargin import LinearSVC

random = np.random.default_rng(0)
X = sp.random(12_000, 4000, density=0.01, format="csr", random_state=0)
signal = X @ random.normal(size=4000)
y = signal + 0.3 * signal.std() * random.normal(size=12_000) > 0
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# One solver throughout, so that only the tolerance differs.
tolerances = 10.0 ** np.arange(0, -7, -1)
accuracy, gap, seconds = [], [], []
for tol in tolerances:
    model = LinearSVC("hinge", C=0.2, solver="dual_cd", tol=min(tol, 0.9)).fit(X, y)
    accuracy.append(model.score(X_test, y_test))
    gap.append(model.certificate_.relative_gap)
    seconds.append(model.history_[0]["seconds"][-1])
    print(f"tol {tol:7.0e}: gap {gap[-1]:.1e}, accuracy {accuracy[-1]:.4f}, {seconds[-1]:.3f} s")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.semilogx(gap, accuracy, "o-")
left.invert_xaxis()
left.set(xlabel="relative gap reached", ylabel="accuracy on held-out data")
right.loglog(gap, seconds, "o-")
right.invert_xaxis()
right.set(xlabel="relative gap reached", ylabel="seconds")
plt.show()

# %%
# Below a gap of about 1e-2 or 1e-3 the predictions hardly change. What the callback sees is the
# record of a check, not the weights, so to stop by accuracy, fit in short stretches with
# ``warm_start``: each fit goes on where the one before ended.
model = LinearSVC("hinge", C=0.2, solver="dual_cd", tol=1e-7, max_iter=2, warm_start=True)
best, patience = 0.0, 0
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    while patience < 3:
        model.fit(X, y)
        score = model.score(X_test, y_test)
        patience = 0 if score > best + 1e-4 else patience + 1
        best = max(best, score)
        print(f"gap {model.certificate_.relative_gap:.1e}, accuracy {score:.4f}")


# %%
# To stop by anything that the record holds, a callback is enough. It returns True to stop, and the
# certificate says how good the answer is that was stopped at.
def after_fifteen_passes(class_name, record):
    """Stop when the work amounts to fifteen passes over the data."""
    return record.passes >= 15


with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    model = LinearSVC("hinge", C=0.2, tol=1e-10, solver="dual_cd", callback=after_fifteen_passes)
    model.fit(X, y)
print(model.status_, model.certificate_)
