"""The path over C: one solution after the other, each started from the one before."""

from __future__ import annotations

import numbers
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_array

from widemargin.data.training_set import split_intercept
from widemargin.data.validation import check_number, check_positive
from widemargin.interrupt import Interrupt
from widemargin.linalg.blas import one_blas_thread
from widemargin.problems.certificate import Certificate
from widemargin.problems.multiclass import one_for_two
from widemargin.run import Record, Solution, Status
from widemargin.selection.continuation import Continuation
from widemargin.selection.engines.base import Effort
from widemargin.selection.path_problems import Asked
from widemargin.threads import in_threads

Vector = NDArray[np.float64]

_SPARSE_VALUES = 100
"""Values of C of a path of sparse models, unless they are given."""


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Solutions over values of C, with a certificate each.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        In increasing order. Fewer than requested if the path was interrupted.
    solutions : tuple of tuple of Solution
        For each C one solution per problem: one for two classes, else one per class.
    classes : ndarray of shape (n_classes,) or None
        None for a path over a problem.
    scaling : float, the constant feature behind a penalised intercept, or 0
    starting : ndarray of shape (n_Cs,)
        Passes spent on finding the starting points.
    shift : ndarray of shape (n_features,) or None
        What was subtracted from columns far from zero while training.
    origin : float, optional
        Of a regression, what was subtracted from its targets.

    Examples
    --------
    >>> from widemargin import path
    >>> over = path([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], Cs=[0.1, 1.0])
    >>> over.coefs.shape, over.Cs
    ((2, 1, 1), array([0.1, 1. ]))
    """

    Cs: Vector
    solutions: tuple[tuple[Solution, ...], ...]
    classes: NDArray[Any] | None = None
    scaling: float = 0.0
    starting: Vector = field(default_factory=lambda: np.zeros(()))
    shift: Vector | None = None
    origin: float | None = None

    def __len__(self) -> int:
        return self.Cs.size

    def __repr__(self) -> str:
        values = f"{len(self)} values of C"
        if len(self):
            values += f" from {self.Cs[0]:.3g} to {self.Cs[-1]:.3g}"
        worst = max((c.relative_gap for c in self.certificates), default=0.0)
        return f"<Path: {values}, largest relative gap {worst:.1e}>"

    @property
    def coefs(self) -> Vector:
        """Weights of shape (n_Cs, k, n_features); k is one for two classes."""
        return self._answers[0]

    @property
    def intercepts(self) -> Vector:
        """Intercepts of shape (n_Cs, k)."""
        return self._answers[1]

    @property
    def _answers(self) -> tuple[Vector, Vector]:
        w = np.array([one_for_two(np.vstack([s.w for s in row])) for row in self.solutions])
        b = np.array([[s.b for s in row] for row in self.solutions]).reshape(len(self), -1)
        b = np.array([one_for_two(line) for line in b])
        w, b = split_intercept(w, b, self.scaling, self.shift)
        return w, b + (self.origin or 0.0)

    @property
    def certificates(self) -> list[Certificate]:
        """For each C the certificate of the sum of its problems."""
        return [Certificate.of_sum([s.certificate for s in row]) for row in self.solutions]

    @property
    def passes(self) -> Vector:
        """Passes over the data for each C, summed over the problems; certificates not counted.

        A pass reads every row once, for a sweep, a product in both directions or a Gram matrix; a
        Newton step is three: gradient, matrix and the scores of its direction.
        """
        return np.array([sum(s.passes for s in row) for row in self.solutions]) + self.starting

    @property
    def converged(self) -> bool:
        """Whether every certificate reached the tolerance."""
        return all(s.status is Status.CONVERGED for row in self.solutions for s in row)

    def decision_function(self, X: Any) -> Vector:
        """Return the scores of rows at every C, of shape (n_Cs, n) or (n_Cs, n, k)."""
        coefs, intercepts = self.coefs, self.intercepts
        count, k, width = coefs.shape
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        if X.shape[1] != width:
            raise ValueError(f"X has {X.shape[1]} features, but the path is over {width}")
        stacked = np.asarray(X @ coefs.reshape(count * k, width).T)
        scores = np.moveaxis(stacked.reshape(-1, count, k), 1, 0) + intercepts[:, None, :]
        return scores[..., 0] if k == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes of rows, or of a regression numbers, at every C: (n_Cs, n)."""
        if self.origin is not None:
            return self.decision_function(X)
        if self.classes is None:
            raise ValueError("a path over a problem has no classes; use its solutions")
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 2 else scores.argmax(axis=2)
        return self.classes[places]

    def score(self, X: Any, y: Any) -> Vector:
        """Return the accuracy, or R² of a regression, on rows at every C."""
        if self.origin is not None:
            from sklearn.metrics import r2_score

            return np.array([r2_score(y, line) for line in self.predict(X)])
        return np.asarray((self.predict(X) == np.asarray(y)).mean(axis=1))

    def plot(self, X: Any = None, y: Any = None, *, row: int = 0) -> Any:
        """Draw coefficients, gap and, on the rows given, `score` over C; return the figure.

        Parameters
        ----------
        X, y : optional
            Rows and labels to show the score on.
        row : int, default=0
            The class whose coefficients to show.
        """
        from widemargin.selection.figures import path_figure

        return path_figure(self, None if X is None else self.score(X, y), row)


def check_Cs(Cs: Any) -> Vector:
    """Return values of C as a rising array of different positive numbers.

    An integer means as many values from 1e-4 to 1e4, in equal ratios, as it does in scikit-learn.
    """
    if isinstance(Cs, numbers.Integral) and not isinstance(Cs, bool) and int(Cs) > 0:
        return np.logspace(-4.0, 4.0, int(Cs))
    try:
        if np.ndim(Cs) == 0:
            raise TypeError
        values = np.unique(np.asarray(Cs, dtype=np.float64).ravel())
    except (TypeError, ValueError):
        raise ValueError(f"Cs must be positive finite numbers; got {Cs!r}") from None
    if values.size == 0 or not np.isfinite(values).all() or values[0] <= 0.0:
        raise ValueError(f"Cs must be positive finite numbers; got {Cs!r}")
    return values


def path(
    problem_or_X: Any,
    y: Any = None,
    Cs: Any = None,
    *,
    loss: str = "squared_hinge",
    epsilon: float = 0.0,
    l1_ratio: float = 0.0,
    multi_class: str = "ovr",
    fit_intercept: bool | str = True,
    intercept_scaling: float = 1.0,
    class_weight: Any = None,
    sample_weight: Any = None,
    solver: str = "auto",
    tol: float = 1e-4,
    max_iter: int = 1000,
    time_limit: float | None = None,
    warm: bool = True,
    n_jobs: int | None = None,
    seed: int = 0,
    callback: Callable[[float, Record], object] | None = None,
) -> Path:
    """Solve at several values of C, each warm-started from the previous one.

    Parameters
    ----------
    problem_or_X : array-like, sparse matrix or problem
        Examples; or a problem of any kind that can be rescaled, with its costs at C = 1.
    y : array-like of shape (n_samples,), optional
        Labels, or numbers to predict, if examples are given.
    Cs : array-like or int, optional
        Values of C, or how many from 1e-4 to 1e4; by default 2^-10, 2^-9, ..., 2^10. With
        ``l1_ratio`` an integer means as many from the smallest C that has a weight to 1000 times as
        much, in equal ratios, and the default is 100.
    loss : {"squared_hinge", "hinge", "logistic", "epsilon_insensitive", \
"squared_epsilon_insensitive"}, default="squared_hinge"
        The last two are those of regression, see `LinearSVR`.
    epsilon : float, default=0.0
        Half-width of the tube of a regression.
    l1_ratio : float, default=0.0
        ρ in the penalty ρ‖w‖₁ + ½(1 − ρ)‖w‖²; above 0 it makes weights exactly zero.
    multi_class : {"ovr", "weston_watkins", "crammer_singer", "multinomial"}, default="ovr"
        Multiclass rule, as in `LinearSVC`; Weston-Watkins and Crammer-Singer need
        ``loss="hinge"``, "multinomial" needs ``loss="logistic"``.
    fit_intercept : bool or "penalised", default=True
        As in `LinearSVC`.
    intercept_scaling : float, default=1.0
        As in `LinearSVC`.
    class_weight, sample_weight : optional
        As in `LinearSVC`.
    solver : str, default="auto"
        As in `LinearSVC`; methods may hand over to others as C grows.
    tol : float, default=1e-4
        Relative duality gap to reach at every C.
    max_iter : int, default=1000
        Maximum number of sweeps or steps per C.
    time_limit : float, optional
        Time limit in seconds per C; the path ends at the first C that exceeds it.
    warm : bool, default=True
        Whether to use warm starts; False is for comparison.
    n_jobs : int, optional
        Number of threads over the classes; the result does not depend on it.
    seed : int, default=0
        Seed of the order in which examples are visited.
    callback : callable, optional
        Called as ``callback(C, record)`` at every check; returning True ends the path.

    Returns
    -------
    Path

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> over = path(scale(X), y, [0.001, 0.01, 0.1, 1.0], loss="logistic", tol=1e-6)
    >>> over.coefs.shape, over.converged
    ((4, 1, 30), True)
    >>> over.score(scale(X), y).round(2)
    array([0.91, 0.96, 0.98, 0.99])
    """
    values = check_Cs(2.0 ** np.arange(-10, 11) if Cs is None else Cs)
    check_positive("tol", tol)
    check_positive("max_iter", max_iter)
    if time_limit is not None:
        check_positive("time_limit", time_limit)
    asked = Asked(
        *(loss, epsilon, l1_ratio, multi_class),
        *(fit_intercept, intercept_scaling, class_weight, sample_weight),
    )
    given = hasattr(problem_or_X, "rescaled")
    problems, classes, scaling, origin = (
        ([problem_or_X], None, 0.0, None) if given else asked.stated(problem_or_X, y)
    )
    values = _values_of(problems, Cs, values)
    interrupt = Interrupt()

    def effort_at(C: float, place: int) -> Effort:
        deadline = None if time_limit is None else time.perf_counter() + time_limit
        told = None if callback is None else partial(callback, C)
        return Effort(tol, max_iter, deadline, seed + place, 1, interrupt, told)

    with interrupt, one_blas_thread():
        work = [
            partial(_along, problem, solver, warm, values, partial(effort_at, place=place))
            for place, problem in enumerate(problems)
        ]
        found = in_threads(work, effective_n_jobs(n_jobs), interrupt)
    common = min(len(solutions) for solutions in found)
    rows = tuple(tuple(solutions[i][0] for solutions in found) for i in range(common))
    starting = np.array([sum(solutions[i][1] for solutions in found) for i in range(common)])
    shift = None if given else problems[0].rows.shift
    return Path(values[:common], rows, classes, scaling, starting, shift, origin)


def _values_of(problems: Sequence[Any], Cs: Any, values: Vector) -> Vector:
    """Return the values of C of sparse models where only their number is given, or nothing."""
    if np.ndim(Cs) > 0 or not hasattr(problems[0], "smallest_factor"):
        return values
    first = min(problem.smallest_factor() for problem in problems)
    return first * np.logspace(0.0, 3.0, _SPARSE_VALUES if Cs is None else int(Cs))


def _along(
    problem: Any, solver: str, warm: bool, Cs: Vector, effort_at: Callable[[float], Effort]
) -> list[tuple[Solution, float]]:
    """Solve a problem at one C after the other; return the solutions and the passes of starts.

    It ends early after an interrupt or a time limit.
    """
    following, found = Continuation.moving_on(problem, solver), []
    for C in map(float, Cs):
        if not warm:
            following = Continuation(problem, solver)
        effort = effort_at(C)
        solution = following.solve(C, effort)
        found.append((solution, following.starting))
        ended = solution.status in (Status.INTERRUPTED, Status.TIME_LIMIT)
        if ended or effort.interrupt.requested:
            break
    return found


def smallest_C(
    X: Any,
    y: Any,
    *,
    loss: str = "squared_hinge",
    l1_ratio: float = 1.0,
    multi_class: str = "ovr",
    fit_intercept: bool | str = True,
    intercept_scaling: float = 1.0,
    class_weight: Any = None,
    sample_weight: Any = None,
) -> float:
    """Return the C up to which all weights of a sparse model are zero, in closed form.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    loss : {"squared_hinge", "logistic"}, default="squared_hinge"
    l1_ratio : float, default=1.0
        ρ in the penalty ρ‖w‖₁ + ½(1 − ρ)‖w‖², above 0.
    multi_class, fit_intercept, intercept_scaling, class_weight, sample_weight
        As in `path`.

    Returns
    -------
    float
        For three or more classes and "ovr" the smallest one of the one-vs-rest problems.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import smallest_C
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(smallest_C(scale(X), y, loss="logistic"), 5)
    0.00458
    """
    check_number("l1_ratio", l1_ratio, lambda v: 0.0 < v <= 1.0, "above 0 and at most 1")
    asked = Asked(
        *(loss, 0.0, l1_ratio, multi_class),
        *(fit_intercept, intercept_scaling, class_weight, sample_weight),
    )
    problems, _, _ = asked.problems(X, y)
    return float(min(problem.smallest_factor() for problem in problems))
