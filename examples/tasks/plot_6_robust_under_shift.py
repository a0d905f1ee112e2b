"""
Robust training for data that will shift
========================================

Sensors age: after training, every feature drifts by a little, in the direction that hurts most. A
plain support vector machine is best on data like the training set. `RobustSVC` minimises the loss
of the worst distribution within a radius, and loses far less when the features move.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from widemargin import LinearSVC, RobustSVC

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
scaler = StandardScaler().fit(X)
X, X_test = scaler.transform(X), scaler.transform(X_test)

# %%
# With ``norm=1`` on the weights each feature may move by the radius. Labels are trusted, so
# changing one costs much.
models = {"LinearSVC": LinearSVC("hinge", C=10.0).fit(X, y)}
for radius in (0.05, 0.15):
    models[f"RobustSVC, radius {radius}"] = RobustSVC(radius, norm=1, label_cost=10.0).fit(X, y)

# %%
# The worst drift of size s for a linear model moves each feature against the sign of its weight.
drifts = np.linspace(0.0, 0.6, 25)
figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, model in models.items():
    w, side = model.coef_[0], np.where(y_test == 1, 1.0, -1.0)
    margins = side * model.decision_function(X_test)
    accuracy = [np.mean(margins - s * np.abs(w).sum() > 0) for s in drifts]
    axis.plot(drifts, 100 * np.array(accuracy), label=name)
    print(f"{name:24} as trained {accuracy[0]:.1%}, drift 0.3 {accuracy[12]:.1%}")
axis.set(xlabel="drift of every feature, in standard deviations", ylabel="accuracy in %")
axis.legend()
plt.show()
