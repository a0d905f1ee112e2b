"""The path over C: one solution after the other, each started from the one before."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_array, check_X_y

from widemargin.data.rows import Rows, as_rows_array
from widemargin.data.validation import (
    check_every_class,
    check_sample_weight,
    class_costs,
    encode_labels,
)
from widemargin.interrupt import Interrupt
from widemargin.methods.auto_binary import AutoBinary
from widemargin.methods.choose import choice_of
from widemargin.methods.dual_cd import DualCD
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.losses import LOSSES
from widemargin.problems.multiclass import RULES, MulticlassProblem, one_for_two
from widemargin.problems.problem import ScalableProblem
from widemargin.run import Record, Solution, Status, run
from widemargin.selection.starts import Ahead, dual_start
from widemargin.threads import in_threads

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Solutions over values of C, with a certificate each.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        In rising order. Fewer than were asked for if the path was interrupted.
    solutions : tuple of tuple of Solution
        For each C one solution a problem: one for two classes, else one a class.
    classes : ndarray of shape (n_classes,) or None
        None for a path over a problem.
    scaling : float
        Value of the constant feature behind a penalised intercept, else 0.
    starting : ndarray of shape (n_Cs,)
        Passes that finding the starting points took.
    """

    Cs: Vector
    solutions: tuple[tuple[Solution, ...], ...]
    classes: NDArray[Any] | None = None
    scaling: float = 0.0
    starting: Vector = field(default_factory=lambda: np.zeros(()))

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
        w = np.array([one_for_two(np.vstack([s.w for s in row])) for row in self.solutions])
        return w[..., :-1] if self.scaling > 0.0 else w

    @property
    def intercepts(self) -> Vector:
        """Intercepts of shape (n_Cs, k)."""
        if self.scaling > 0.0:
            b = [[self.scaling * s.w[..., -1] for s in row] for row in self.solutions]
        else:
            b = [[s.b for s in row] for row in self.solutions]
        return np.array([one_for_two(line) for line in np.array(b).reshape(len(self), -1)])

    @property
    def certificates(self) -> list[Certificate]:
        """For each C the certificate of the sum of its problems."""
        return [
            Certificate(
                float(sum(s.certificate.primal for s in row)),
                float(sum(s.certificate.dual for s in row)),
            )
            for row in self.solutions
        ]

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
        """Return the classes of rows at every C, of shape (n_Cs, n)."""
        if self.classes is None:
            raise ValueError("a path over a problem knows no classes; use its solutions")
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 2 else scores.argmax(axis=2)
        return self.classes[places]

    def score(self, X: Any, y: Any) -> Vector:
        """Return the accuracy on rows at every C."""
        return np.asarray((self.predict(X) == np.asarray(y)).mean(axis=1))

    def plot(self, X: Any = None, y: Any = None, *, row: int = 0) -> Any:
        """Draw coefficients, gap and, on the rows given, accuracy over C; return the figure.

        Parameters
        ----------
        X, y : optional
            Rows and labels to show the accuracy on.
        row : int, default=0
            Which class's coefficients to show.
        """
        from widemargin.selection.figures import path_figure

        return path_figure(self, None if X is None else self.score(X, y), row)


def along(
    problem: ScalableProblem,
    Cs: Sequence[float],
    *,
    solver: str = "auto",
    warm: bool = True,
    **options: Any,
) -> Iterator[tuple[Solution, float]]:
    """Solve a problem, whose costs are those at C = 1, at one C after the other.

    Each run starts at the weights of the one before, and at its dual variables times the growth of
    C, which are feasible there (WARM, §3). Where the loss is smooth, both first move on along the
    last solutions; the passes that this took come with each solution. It ends early after an
    interrupt or a time limit.
    """
    before: Solution | None = None
    method = ""
    last: tuple[float, Vector] | None = None
    ahead = None
    if isinstance(problem, BinaryProblem) and problem.loss.smooth and warm:
        problem, ahead = replace(problem, rows=problem.rows.remembering()), Ahead()
    for place, C in enumerate(Cs):
        here, start = problem.rescaled(float(C)), None
        if before is not None and warm:
            alpha = C / Cs[place - 1] * before.alpha
            if isinstance(here, BinaryProblem):
                now = (float(Cs[place - 1]), before.alpha)
                alpha, last = dual_start(here, float(C), now, last), now
            start = Point(before.w, before.b, alpha)
            # From one solution only the weights can move on, which sweeps do not look at.
            idle = place == 1 and method == DualCD.name
            if ahead is not None and not idle and isinstance(here, BinaryProblem):
                start = ahead.of(here, (float(Cs[place - 1]), before.point), float(C), alpha)
        choice = choice_of(solver, type(problem))
        if isinstance(choice, AutoBinary) and start is not None:
            choice.follow(method)
        before = run(here, choice, warm=start, **options)
        method = before.trace[-1].method if before.iterations > 0 else method
        yield before, 0.0 if start is None or ahead is None else ahead.passes
        watch = options.get("interrupt")
        if before.status in (Status.INTERRUPTED, Status.TIME_LIMIT) or (watch and watch.requested):
            return


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
    """Solve over values of C, each from the solution before.

    Parameters
    ----------
    problem_or_X : array-like, sparse matrix or problem
        Examples; or a problem of any kind that can be rescaled, its costs those at C = 1.
    y : array-like of shape (n_samples,), optional
        Labels, if examples are given. Several classes are trained one against the rest.
    Cs : array-like or int, optional
        Values of C, or how many from 1e-4 to 1e4; by default 2^-10, 2^-9, ..., 2^10.
    loss : {"squared_hinge", "hinge", "logistic"}, default="squared_hinge"
    multi_class : {"ovr", "weston_watkins", "crammer_singer"}, default="ovr"
        As in `LinearSVC`; the latter two with ``loss="hinge"``.
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
        Sweeps or steps at most, at every C.
    time_limit : float, optional
        Seconds at most at every C; the path ends where one is not enough.
    warm : bool, default=True
        False starts every C from nothing: for comparison.
    n_jobs : int, optional
        Threads for several classes; the result does not depend on it.
    seed : int, default=0
        Of the order in which examples are visited.
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
    limits = {"tol": tol, "max_iter": max_iter, "intercept_scaling": intercept_scaling}
    if time_limit is not None:
        limits["time_limit"] = time_limit
    for name, value in limits.items():
        if not (isinstance(value, numbers.Real) and 0.0 < float(value) < np.inf):
            raise ValueError(f"{name} must be a positive finite number; got {value!r}")
    options: dict[str, Any] = {
        "solver": solver,
        "warm": warm,
        "tol": tol,
        "max_iter": max_iter,
        "time_limit": time_limit,
    }
    classes, scaling = None, 0.0
    if hasattr(problem_or_X, "rescaled"):
        problems = [problem_or_X]
    else:
        if y is None:
            raise ValueError("a path over examples needs their labels y")
        problems, classes, scaling = _problems(
            problem_or_X,
            y,
            loss,
            multi_class,
            fit_intercept,
            intercept_scaling,
            class_weight,
            sample_weight,
        )
    interrupt = Interrupt()

    def whole(place: int) -> list[tuple[Solution, float]]:
        callbacks: list[Any] = []
        if callback is not None:
            current = iter(values)
            C = [next(current)]
            callbacks.append(lambda record: callback(float(C[0]), record))
        found = []
        for solution in along(
            problems[place],
            list(values),
            seed=seed + place,
            interrupt=interrupt,
            callbacks=callbacks,
            **options,
        ):
            found.append(solution)
            if callback is not None:
                C[0] = next(current, C[0])
        return found

    with interrupt:
        work = [lambda p=p: whole(p) for p in range(len(problems))]
        found = in_threads(work, effective_n_jobs(n_jobs), interrupt)
    common = min(len(solutions) for solutions in found)
    rows = tuple(tuple(solutions[i][0] for solutions in found) for i in range(common))
    starting = np.array([sum(solutions[i][1] for solutions in found) for i in range(common)])
    return Path(values[:common], rows, classes, scaling, starting)


def _problems(
    X: Any,
    y: Any,
    loss: str,
    multi_class: str,
    fit_intercept: bool | str,
    scaling: float,
    class_weight: Any,
    sample_weight: Any,
) -> tuple[list[Any], NDArray[Any], float]:
    """Return the problems of examples at C = 1, the classes, and the constant feature's value."""
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}; got {loss!r}")
    if multi_class not in ("ovr", *RULES):
        raise ValueError(f"multi_class must be 'ovr' or one of {RULES}; got {multi_class!r}")
    if multi_class != "ovr" and loss != "hinge":
        raise ValueError(f"multi_class={multi_class!r} needs loss='hinge'; got {loss!r}")
    if fit_intercept not in (True, False, "penalised"):
        raise ValueError(f"fit_intercept must be True, False or 'penalised'; got {fit_intercept!r}")
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
    rows = Rows.of(as_rows_array(X))
    penalised = fit_intercept == "penalised"
    if penalised:
        rows = rows.with_constant(float(scaling))
    classes, codes = encode_labels(y)
    cost = class_costs(
        1.0, classes, codes, class_weight, check_sample_weight(sample_weight, rows.count)
    )
    check_every_class(classes, codes, cost)
    positives = [1] if classes.size == 2 else range(classes.size)
    free = not penalised and bool(fit_intercept)
    given = float(scaling) if penalised else 0.0
    if multi_class != "ovr":
        label = codes.astype(np.int32)
        joint = MulticlassProblem(rows, label, cost, int(classes.size), multi_class, free)
        return [joint], classes, given
    problems = [
        BinaryProblem(rows, np.where(codes == p, 1.0, -1.0), cost, LOSSES[loss], free)
        for p in positives
    ]
    return problems, classes, given
