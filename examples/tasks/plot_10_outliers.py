"""
Outliers among measurements
===========================

A one-class SVM learns from ordinary examples alone. In two dimensions its half-space is a line that
cuts off a share ``nu`` of them, as far from the origin as possible. After a random feature map the
same fit encloses the cloud.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline

from widemargin import LinearOneClassSVM

random = np.random.default_rng(0)
X = random.normal(size=(400, 2)) @ [[1.0, 0.6], [0.0, 0.8]] + [5.0, 4.0]
odd = random.uniform(0, 9, size=(15, 2))

# %%
# Both fits are certified; about five percent of the training examples lie outside.
line = LinearOneClassSVM(nu=0.05, tol=1e-6).fit(X)
region = make_pipeline(Nystroem(gamma=0.2, random_state=0), LinearOneClassSVM(nu=0.05, tol=1e-6))
region.fit(X)
for name, model in (("half-space", line), ("region", region)):
    outside = (model.predict(X) < 0).mean()
    print(f"{name}: {outside:.1%} of training, {(model.predict(odd) < 0).sum()} of 15 new")
print(line.certificate_)

# %%
# Everything below the line, or outside of the region, is called an outlier.
grid = np.stack(np.meshgrid(np.linspace(0, 9, 120), np.linspace(0, 9, 120)), axis=-1)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for axis, (name, model) in zip(axes, (("linear", line), ("with Nystroem", region)), strict=True):
    values = model.decision_function(grid.reshape(-1, 2)).reshape(120, 120)
    axis.contourf(grid[..., 0], grid[..., 1], values >= 0, levels=[0.5, 1.5], alpha=0.2)
    axis.contour(grid[..., 0], grid[..., 1], values, levels=[0.0], colors="black")
    axis.scatter(*X.T, s=6, label="training")
    axis.scatter(*odd.T, s=20, marker="x", color="tab:red", label="new")
    axis.set(title=name, xlabel="first", ylabel="second")
axes[0].legend()
plt.show()
