"""Build problems from names of problems and data sets, and evaluate weights."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.gram import Gram, Kernel
from widemargin.data.svmlight import load_svmlight
from widemargin.data.training_set import TrainingSet
from widemargin.data.validation import check_not_negative, check_number
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.kernel import KernelProblem
from widemargin.problems.kernel_multiclass import KernelMulticlassProblem
from widemargin.problems.losses import LOSSES
from widemargin.problems.multiclass import RULES, MulticlassProblem
from widemargin.problems.norms import NORMS
from widemargin.problems.robust import RobustProblem

ROBUST = "robust"
PROBLEMS = (*LOSSES, *RULES, ROBUST)


@dataclass(frozen=True)
class Ball:
    """The Wasserstein ball of the robust problem; None stands for the default.

    Attributes
    ----------
    radius : float, default=0.1
    label_cost : float, default=inf
    norm : {1, 2, inf}, default=2
    """

    radius: float | None = None
    label_cost: float | None = None
    norm: float | None = None

    def filled(self) -> tuple[float, float, float]:
        """Return radius, label_cost and norm, checked, defaults filled in."""
        radius = 0.1 if self.radius is None else float(self.radius)
        label_cost = np.inf if self.label_cost is None else float(self.label_cost)
        norm = 2.0 if self.norm is None else float(self.norm)
        check_not_negative("radius", radius)
        check_number("label_cost", label_cost, lambda v: v > 0.0, "a positive number or infinity")
        check_number("norm", norm, lambda v: v in NORMS, "1, 2 or infinity")
        return radius, label_cost, norm


@dataclass(frozen=True, eq=False)
class Examples:
    """A named data set: training examples and, optionally, test examples."""

    name: str
    X: Any
    y: NDArray[Any]
    X_test: Any = None
    y_test: NDArray[Any] | None = None


def find_examples(name: str, folder: str | None = None) -> Examples:
    """Read a file, or a named set of the data folder, with its test set if there is one.

    The folder is `folder`, else ``$WIDEMARGIN_DATA``, else the working directory.
    """
    places = [Path(name)]
    for parent in (folder, os.environ.get("WIDEMARGIN_DATA"), "."):
        if parent:
            places += [Path(parent) / name, Path(parent) / f"{name}.xz"]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise FileNotFoundError(
            f"no data called {name!r}: pass a file, or set WIDEMARGIN_DATA to its folder"
        )
    X, y = load_svmlight(path)[:2]
    stem = path.name.removesuffix(".xz")
    test = path.with_name(f"{stem}.t{path.name[len(stem) :]}")
    if test == path or not test.is_file():
        return Examples(stem, X, y)
    X_test, y_test = load_svmlight(test)[:2]
    width = max(X.shape[1], X_test.shape[1])
    X.resize((X.shape[0], width))
    X_test.resize((X_test.shape[0], width))
    return Examples(stem, X, y, X_test, y_test)


@dataclass(frozen=True, eq=False)
class Task:
    """A problem on a data set, and its test set."""

    problem: Any
    name: str
    examples: Examples
    classes: NDArray[Any]
    kernel: Kernel | None
    C: float
    intercept: str

    @property
    def binary(self) -> bool:
        """Whether there is one weight vector."""
        return self.name not in RULES

    @property
    def signs(self) -> NDArray[np.float64]:
        """The labels ±1 of a binary problem: the last class against the others."""
        return np.where(self.examples.y == self.classes[-1], 1.0, -1.0)

    def primal(self, w: NDArray[np.float64], b: float = 0.0) -> float:
        """Return the objective of a linear problem at some weights."""
        if self.binary:
            return float(self.problem.primal_at(w, b))
        zeros = self.problem.cold_point().alpha
        return float(self.problem.certify(Point(w, b, zeros))[1].primal)

    def accuracy(self, point: Point) -> float:
        """Return the test accuracy of a point; nan without a test set."""
        examples = self.examples
        if examples.X_test is None or examples.y_test is None:
            return float("nan")
        w = np.asarray(point.w)
        if self.kernel is not None:
            block = self.kernel.between(examples.X_test, examples.X)
            scores = block @ w
        elif self.binary:
            width = examples.X_test.shape[1]
            scores = examples.X_test @ w[:width] + (w[width] if w.size > width else 0.0)
        else:
            width = examples.X_test.shape[1]
            scores = np.asarray(examples.X_test @ w[:, :width].T)
            scores += w[:, width] if w.shape[1] > width else np.asarray(point.b)
        if self.binary:
            truth = np.where(examples.y_test == self.classes[-1], 1.0, -1.0)
            return float(np.mean(np.where(scores + float(point.b) > 0.0, 1.0, -1.0) == truth))
        return float(np.mean(self.classes[scores.argmax(axis=1)] == examples.y_test))


def make_task(
    name: str,
    examples: Examples,
    *,
    C: float = 1.0,
    intercept: str = "none",
    kernel: str | None = None,
    gamma: float | None = None,
    ball: Ball | None = None,
) -> Task:
    """Return a problem on a data set."""
    ball = ball or Ball()
    _check(name, C, intercept, kernel, ball)
    kinds = {"none": False, "exact": True}
    data = TrainingSet.of(
        examples.X, examples.y, C=float(C), fit_intercept=kinds.get(intercept, intercept)
    )
    last = data.classes.size - 1
    problem: Any
    function = None
    if kernel is None:
        if name in RULES:
            problem = MulticlassProblem.of(data, name)
        elif name == ROBUST:
            problem = RobustProblem.of(data, last, *ball.filled())
        else:
            problem = BinaryProblem.of(data, last, LOSSES[name])
    else:
        if intercept == "penalised" or (name in RULES and data.free_intercept):
            raise ValueError(f"this kernel problem does not support intercept={intercept!r}")
        X = examples.X.toarray() if hasattr(examples.X, "toarray") else examples.X
        function = Kernel(kernel, gamma or 1.0 / (X.shape[1] * (float(np.var(X)) or 1.0)))
        gram = Gram.of(X, function, 1e9)
        if name in RULES:
            problem = KernelMulticlassProblem.of(data, gram, name)
        else:
            problem = KernelProblem.of(data, gram, last, LOSSES[name])
    return Task(problem, name, examples, data.classes, function, float(C), intercept)


def _check(name: str, C: float, intercept: str, kernel: str | None, ball: Ball) -> None:
    """Raise an error for arguments that a problem does not have."""
    if name not in PROBLEMS:
        raise ValueError(f"problem must be one of {', '.join(PROBLEMS)}; got {name!r}")
    if intercept not in ("none", "exact", "penalised"):
        raise ValueError(f"intercept must be none, exact or penalised; got {intercept!r}")
    if name != ROBUST:
        given = [key for key, value in vars(ball).items() if value is not None]
        if given:
            raise ValueError(f"{given[0]} is for the problem {ROBUST!r}; the problem is {name!r}")
    elif C != 1.0:
        raise ValueError(f"the robust problem has no C, it has a radius; got C={C!r}")
    elif kernel is not None or intercept == "penalised":
        raise ValueError("the robust problem is linear, with an exact intercept or none")
