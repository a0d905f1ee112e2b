"""
Multiclass: one-vs-rest, or all classes at once
===============================================

Four groups of points lie on a line, so no plane separates either of the two inner groups from all
others. One-vs-rest cannot find those two. Weston-Watkins and Crammer-Singer compare classes with
each other: each class only has to beat its rivals, and all four are told apart. The title of every
plot has the certificate of its fit.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import LinearSVC

random = np.random.default_rng(0)
centres = np.array([[-3.0, -1.0], [-1.0, -0.3], [1.0, 0.3], [3.0, 1.0]])
y = np.repeat(np.arange(4), 100)
X = centres[y] + random.normal(0.0, 0.4, (400, 2))

# %%
# The same call three times. With ``"ovr"`` the certificate adds up those of the classes.
rules = {
    "ovr": "one against the rest",
    "weston_watkins": "Weston-Watkins",
    "crammer_singer": "Crammer-Singer",
}
models = {rule: LinearSVC("hinge", multi_class=rule, C=10.0, tol=1e-6).fit(X, y) for rule in rules}

# %%
# The regions that `predict` draws
grid = np.stack(np.meshgrid(np.linspace(-4.5, 4.5, 300), np.linspace(-2.5, 2.5, 200)), axis=-1)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
for panel, (rule, name) in zip(axes, rules.items(), strict=True):
    model = models[rule]
    regions = model.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    panel.contourf(grid[..., 0], grid[..., 1], regions, levels=np.arange(5) - 0.5, alpha=0.25)
    panel.scatter(*X.T, c=y, s=8)
    right = 100 * model.score(X, y)
    panel.set_title(f"{name}: {right:.0f} % right\ngap {model.certificate_.relative_gap:.0e}")
plt.show()
