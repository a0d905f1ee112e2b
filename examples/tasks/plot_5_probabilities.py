"""
Probabilities from a support vector machine
===========================================

A support vector machine gives scores, not probabilities. `LinearSVCCV` searches C by
cross-validation, so it has a score for every row from a model that has not seen that row. With
``probability=True`` those scores calibrate a sigmoid, without a further fit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from widemargin import LinearSVCCV

X, y = make_classification(
    8000, 40, n_informative=10, n_clusters_per_class=1, flip_y=0.05, random_state=3
)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = LinearSVCCV("hinge", probability=True, cv=5).fit(X, y)
calibrated = model.predict_proba(X_test)[:, 1]
print(f"C = {model.C_:.3g}, accuracy {model.score(X_test, y_test):.3f}")

# %%
# What people do without it: squash the score as it is.
squashed = 1.0 / (1.0 + np.exp(-model.decision_function(X_test)))
losses = log_loss(y_test, calibrated), log_loss(y_test, squashed)
print("log loss: calibrated {:.4f}, squashed {:.4f}".format(*losses))

# %%
# Of the rows that are given a probability of 80 %, 80 % should be positive: the diagonal.
figure, (left, right) = plt.subplots(
    2, 1, figsize=(6, 6), height_ratios=[3, 1], sharex=True, layout="constrained"
)
left.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
for name, probability in {"probability=True": calibrated, "1/(1 + exp(-score))": squashed}.items():
    share, mean = calibration_curve(y_test, probability, n_bins=12)
    left.plot(mean, share, "o-", label=name)
    right.hist(probability, bins=40, range=(0, 1), histtype="step", linewidth=1.5)
left.set(ylabel="share that is positive")
left.legend()
right.set(xlabel="predicted probability", ylabel="rows")
plt.show()
