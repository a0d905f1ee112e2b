"""
Regression with a tube
======================

Residuals within ``epsilon`` cost nothing, and a target far away pulls no harder than one just
outside. Here a tenth of the targets are wrong. Least squares bends towards them; the
epsilon-insensitive loss does not, and only the points outside of its tube, the support vectors,
shape the line.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from widemargin import LinearSVR

random = np.random.default_rng(0)
x = np.sort(random.uniform(0, 10, 80))
y = 0.7 * x + 1.0 + random.normal(0, 0.4, 80)
y[-8:] -= 6.0  # the last readings failed

# %%
# The certificate says how far the fit can be from the best one.
tube = LinearSVR(epsilon=0.6, C=10.0, tol=1e-8).fit(x[:, None], y)
ridge = Ridge(alpha=0.05).fit(x[:, None], y)
print(tube.certificate_)
print(f"slope 0.70: tube {tube.coef_[0]:.2f}, least squares {ridge.coef_[0]:.2f}")

# %%
# Filled points are support vectors: without the others the line would be the same.
support = np.isin(np.arange(80), tube.support_)
line = np.array([0.0, 10.0])
middle = tube.predict(line[:, None])
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.fill_between(line, middle - 0.6, middle + 0.6, alpha=0.2, label="tube")
axis.plot(line, middle, label="LinearSVR")
axis.plot(line, ridge.predict(line[:, None]), "--", label="least squares")
axis.scatter(x[support], y[support], s=16, color="black", label="support vectors")
axis.scatter(x[~support], y[~support], s=16, facecolors="none", edgecolors="black")
axis.set(xlabel="x", ylabel="y")
axis.legend()
plt.show()
