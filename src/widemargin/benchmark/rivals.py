"""Other libraries that solve the same problems, if they are installed.

A rival is fitted from scratch at each of a ladder of its own tolerances, from loose to tight; each
fit is one point of its curve. Other packages can add rivals through the entry point group
``widemargin.rivals``: a name and a callable like those below, which raises `RefusalError` for a
problem that it does not support.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from widemargin.benchmark.tasks import Task
from widemargin.model_io.liblinear import LOSS_OF

Fit = Callable[[Task], Iterator[tuple[float, NDArray[np.float64]]]]
"""Yields (seconds of the fit, weights) for each tolerance."""


class RefusalError(ValueError):
    """A rival or a method does not support a problem; the others run."""


_LADDER = [10.0 ** (-k / 2) for k in range(17)]


def _refuse(task: Task, name: str, supported: tuple[str, ...]) -> None:
    if task.kernel is not None or task.name not in supported:
        raise RefusalError(f"rival {name!r} supports linear problems with {', '.join(supported)}")
    if task.intercept == "exact":
        raise RefusalError(f"rival {name!r} has no free intercept")


def liblinear(task: Task) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """LIBLINEAR's dual coordinate descent, through ``liblinear-official``."""
    from liblinear.liblinear import problem
    from liblinear.liblinearutil import train

    numbers = {"L2R_L1LOSS_SVC_DUAL": 3, "L2R_L2LOSS_SVC_DUAL": 1, "L2R_LR_DUAL": 7}
    solvers = {LOSS_OF[kind]: number for kind, number in numbers.items()}
    _refuse(task, "liblinear", tuple(solvers))
    signs = task.signs
    data = problem(signs, task.examples.X)
    bias = "-B 1" if task.intercept == "penalised" else ""
    for tolerance in _LADDER:
        began = time.perf_counter()
        model = train(data, f"-s {solvers[task.name]} -c {task.C!r} -e {tolerance!r} -q {bias}")
        seconds = time.perf_counter() - began
        length = model.nr_feature + (1 if bias else 0)
        w = np.ctypeslib.as_array(model.w, shape=(length,)).copy()
        yield seconds, w if model.label[0] == 1 else -w


def scikit_learn(task: Task) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """scikit-learn's LinearSVC without an intercept."""
    import warnings

    from sklearn.svm import LinearSVC

    _refuse(task, "scikit_learn", ("hinge", "squared_hinge"))
    if task.intercept != "none":
        raise RefusalError("rival 'scikit_learn' is run without an intercept")
    for tolerance in _LADDER:
        model = LinearSVC(
            loss=task.name, C=task.C, tol=tolerance, fit_intercept=False, max_iter=100_000
        )
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(task.examples.X, task.signs)
        yield time.perf_counter() - began, model.coef_[0].astype(np.float64)


_BUILT_IN: dict[str, tuple[str, Fit]] = {
    "liblinear": ("liblinear", liblinear),
    "scikit_learn": ("sklearn", scikit_learn),
}


def rivals() -> dict[str, Fit]:
    """Return the rivals that are installed, by name."""
    found = {name: fit for name, (package, fit) in _BUILT_IN.items() if find_spec(package)}
    for entry in entry_points(group="widemargin.rivals"):
        found[entry.name] = entry.load()
    return found


def known_rivals() -> tuple[str, ...]:
    """Return the names of the built-in rivals, installed or not."""
    return tuple(_BUILT_IN)
