"""
The certificate over time
=========================

Every check of a fit records an upper and a lower bound on the best objective. Here are the bounds
as they close in on each other, and the relative gap for each solver, on 20,000 examples of 100
features with the hinge loss.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from widemargin import LinearSVC

X, y = make_classification(20_000, 100, n_informative=20, flip_y=0.1, random_state=0)


def watch(class_name, record):
    """Do nothing: with a callback, checks are made more often, and history_ keeps them all."""


# %%
# Coordinate descent crawls where examples are many more than features, so it gets a time limit. The
# others work to a gap of 1e-8. ``solver="auto"`` begins with coordinate descent and hands over.
histories = {}
for solver in ("dual_cd", "proximal_newton", "interior_point", "auto"):
    model = LinearSVC(
        "hinge", tol=1e-8, solver=solver, max_iter=10**6, time_limit=3.0, callback=watch
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    histories[solver] = model.history_[0]
    print(f"{solver:16} {model.status_[0]:12} {model.certificate_}")
    if solver == "auto":
        print(model.solver_)

# %%
# Left: the optimum is always between the two lines of a colour. Right: what ``tol`` is compared
# with.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for number, (solver, history) in enumerate(histories.items()):
    colour = f"C{number}"
    left.plot(history["seconds"], history["primal"], color=colour, label=solver)
    left.plot(history["seconds"], history["dual"], color=colour, linestyle="--")
    right.semilogy(history["seconds"], history["relative_gap"], ".-", color=colour, label=solver)
best = histories["auto"]["primal"][-1]
left.set(
    xlabel="seconds",
    ylabel="objective",
    title="upper bound P (solid), lower bound D (dashed)",
    xscale="log",
    ylim=(0.9 * best, 1.1 * best),
)
right.set(xlabel="seconds", ylabel="(P − D) / P", title="relative gap", xscale="log")
for axis in (left, right):  # the labels of minor ticks would overlap
    axis.xaxis.set_minor_formatter("")
right.axhline(1e-4, color="grey", linewidth=0.8, linestyle=":")
right.text(right.get_xlim()[0], 1.3e-4, " the default tol", color="grey", fontsize="small")
right.legend()
plt.show()
