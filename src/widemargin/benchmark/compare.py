"""Run methods and other libraries on the same data, interleaved, and keep their curves."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.auto.registry import METHODS, SEQUENCES, choice_of
from widemargin.benchmark.probe import Probed
from widemargin.benchmark.rivals import Fit, RefusalError, known_rivals, rivals
from widemargin.benchmark.tasks import ROBUST, Ball, Examples, Task, find_examples, make_task
from widemargin.data.replacing import replacing
from widemargin.interrupt import Interrupt
from widemargin.methods.base import Choice
from widemargin.problems.certificate import Point
from widemargin.run import Record, run


@dataclass(frozen=True)
class Measurement:
    """One point of one curve: the columns of the CSV file, in order.

    ``gap`` is the relative gap of the best primal and dual points so far; rivals have none.
    ``suboptimality`` is (P − P*)/P*. P* is the lowest objective of all runs if a dual bound
    certifies it to `until`, else the best dual bound, so that the number may be too large but never
    too small. Without a bound it is infinite.
    """

    data: str
    method: str
    round: int
    seconds: float
    passes: float
    iteration: int
    primal: float
    dual: float
    gap: float
    suboptimality: float
    accuracy: float


_OF_ALL = {"problem": str, "C": float, "until": float, "setting": str}
"""Columns that are the same in every line of the CSV file."""


@dataclass
class Comparison:
    """The curves of all runs.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.benchmark import compare
    >>> from widemargin.benchmark.tasks import Examples
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> examples = Examples("toy", X, np.sign(X[:, 0] + X[:, 1] ** 3))
    >>> result = compare("logistic", [examples], ["newton", "dual_cd"], until=1e-6)
    >>> result.methods("toy")
    ['newton', 'dual_cd']
    >>> print(f"gap {result.curve('toy', 'newton')[-1].gap:.0e}, {result.setting}")
    gap ...e-..., C = 1
    """

    problem: str
    C: float
    until: float
    measurements: list[Measurement] = field(default_factory=list)
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    """Why a method did not run on a data set."""
    interrupted: bool = False
    """Whether Ctrl-C ended it. The current run is kept up to that point; later ones are missing."""
    setting: str = ""
    """What the problem depends on: "C = 1", or "radius 0.1" of the robust one."""

    def __post_init__(self) -> None:
        self.setting = self.setting or f"C = {self.C:g}"

    @property
    def data(self) -> list[str]:
        """The data sets, in order."""
        return list(dict.fromkeys(m.data for m in self.measurements))

    def methods(self, data: str) -> list[str]:
        """The methods that ran on a data set."""
        return list(dict.fromkeys(m.method for m in self.measurements if m.data == data))

    def curve(self, data: str, method: str, round: int | None = None) -> list[Measurement]:
        """The measurements of one run over time; by default of the first round."""
        own = [m for m in self.measurements if m.data == data and m.method == method]
        if round is None:
            round = min((m.round for m in own), default=0)
        return [m for m in own if m.round == round]

    def seconds_to(self, data: str, method: str) -> float:
        """Median time, over the rounds, to a suboptimality of `until`; inf if not reached."""
        rounds = {m.round for m in self.measurements if m.data == data and m.method == method}
        times = [
            min(
                (
                    m.seconds
                    for m in self.curve(data, method, r)
                    if m.suboptimality <= self.until or m.gap <= self.until
                ),
                default=np.inf,
            )
            for r in rounds
        ]
        return float(np.median(times)) if times else np.inf

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write all measurements, one per line; the last columns say what was compared."""
        same = {name: getattr(self, name) for name in _OF_ALL}
        names = [*(f.name for f in fields(Measurement)), *same]
        with replacing(path, text=True) as stream:
            writer = csv.DictWriter(stream, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows({**asdict(m), **same} for m in self.measurements)

    @classmethod
    def read_csv(cls, path: str | os.PathLike[str]) -> Comparison:
        """Read what `write_csv` wrote."""
        kinds = {"data": str, "method": str, "round": int, "iteration": int}
        with open(path, encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        if not rows:
            raise ValueError(f"{path} has no measurements")
        try:
            same = {name: kind(rows[0][name]) for name, kind in _OF_ALL.items()}
            found = [
                Measurement(**{k: kinds.get(k, float)(v) for k, v in row.items() if k not in same})
                for row in rows
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is not a file of widemargin bench: {error}") from None
        return cls(measurements=found, **same)

    def write_figures(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Draw one figure per data set; needs matplotlib."""
        from widemargin.benchmark.figures import write_figure

        return [write_figure(self, data, Path(folder)) for data in self.data]


Teller = Callable[[str, str, int, Record | None], object]
"""Called with (data, method, round, record): None at the start of a run, then at every check."""


def compare(
    problem: str,
    data: Sequence[str | Examples],
    methods: Sequence[str],
    *,
    until: float = 1e-6,
    C: float = 1.0,
    intercept: str = "none",
    kernel: str | None = None,
    gamma: float | None = None,
    radius: float | None = None,
    label_cost: float | None = None,
    norm: float | None = None,
    rounds: int = 1,
    max_iter: int = 1_000_000,
    time_limit: float = 60.0,
    folder: str | None = None,
    seed: int = 0,
    tell: Teller | None = None,
) -> Comparison:
    """Run methods and other libraries on data sets and record their progress over time.

    Parameters
    ----------
    problem : str
        "hinge", "squared_hinge", "logistic", "crammer_singer", "weston_watkins" or "robust".
    data : sequence of str or Examples
        Names of data sets (see `folder`), files, or examples.
    methods : sequence of str
        Names that ``solver=`` accepts, or rivals: "liblinear", "scikit_learn".
    until : float, default=1e-6
        Relative gap at which a method stops; rivals stop at their own tightest tolerance.
    C : float, default=1.0
    intercept : {"none", "exact", "penalised"}, default="none"
    kernel : {"rbf", "poly", "linear"}, optional
    gamma : float, optional
        By default 1 / (n_features · variance of X).
    radius, label_cost, norm : float, optional
        Of the robust problem, as in `RobustSVC`; by default 0.1, infinity and 2.
    rounds : int, default=1
        Repetitions. Methods are interleaved, so that other load affects all of them.
    max_iter, time_limit : limits of each run
    folder : str, optional
        Folder of the data sets; by default ``$WIDEMARGIN_DATA``.
    seed : int, default=0
    tell : callable, optional
        Called at the start of every run and at every check, for a progress display.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.benchmark import compare
    >>> from widemargin.benchmark.tasks import Examples
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(200, 5))
    >>> examples = Examples("toy", X, np.sign(X[:, 0] + 0.1 * random.normal(size=200)))
    >>> result = compare("hinge", [examples], ["dual_cd", "pragam"], until=1e-3)
    >>> for name in result.methods("toy"):
    ...     print(f"{name}: gap {result.curve('toy', name)[-1].gap:.0e}")
    dual_cd: gap ...e-...
    pragam: gap ...e-...
    """
    installed = _check_names(methods)
    ball = Ball(radius, label_cost, norm)
    setting = f"radius {ball.filled()[0]:g}" if problem == ROBUST else ""
    result = Comparison(problem, float(C), float(until), setting=setting)
    # One for all runs: Ctrl-C ends the comparison, not only one run.
    with Interrupt() as interrupt:
        limits = _Limits(until, max_iter, time_limit, interrupt)
        for entry in data:
            if interrupt.requested:
                break
            examples = find_examples(entry, folder) if isinstance(entry, str) else entry
            task = make_task(
                problem, examples, C=C, intercept=intercept, kernel=kernel, gamma=gamma, ball=ball
            )
            _warm_up(task, interrupt)
            series: dict[tuple[str, int], list[Any]] = {}
            for round, name in product(range(rounds), methods):
                if interrupt.requested:
                    break
                informed = _informed(tell, examples.name, name, round)
                try:
                    if name in installed:
                        series[name, round] = _rival(task, installed[name], limits)
                    else:
                        series[name, round] = _method(task, name, limits, seed + round, informed)
                except RefusalError as refusal:
                    result.failures[examples.name, name] = str(refusal)
            result.measurements += _measure(task, series, result.until)
        result.interrupted = interrupt.requested
    return result


@dataclass(frozen=True)
class _Limits:
    """When a run ends."""

    until: float
    max_iter: int
    time_limit: float
    interrupt: Interrupt


def _check_names(methods: Sequence[str]) -> dict[str, Fit]:
    """Return the installed rivals; raise an error for a name that is neither rival nor method."""
    ours = ("auto", *METHODS, *SEQUENCES)
    installed = {name: fit for name, fit in rivals().items() if name not in ours}
    for name in methods:
        if name not in (*ours, *installed):
            reason = "is not installed" if name in known_rivals() else "is unknown"
            known = ", ".join([*ours, *installed])
            raise ValueError(f"method {name!r} {reason}; available: {known}")
    return installed


def _warm_up(task: Task, interrupt: Interrupt) -> None:
    """Pay first-call costs before any clock runs."""
    with suppress(RefusalError):
        run(task.problem, _choice(task, "auto", 0.5), tol=0.5, max_iter=1, interrupt=interrupt)


def _informed(tell: Teller | None, data: str, name: str, round: int) -> list[Any]:
    """Announce a run; return its callbacks."""
    if tell is None:
        return []
    tell(data, name, round, None)
    return [lambda record: tell(data, name, round, record) and None]


def _choice(task: Task, name: str, until: float) -> Choice:
    """Return the choice of that name; raise `RefusalError` if it does not support the problem."""
    try:
        choice_of(name, type(task.problem)).first(task.problem, None, until)
    except ValueError as refusal:
        raise RefusalError(str(refusal)) from refusal
    return choice_of(name, type(task.problem))


def _method(task: Task, name: str, limits: _Limits, seed: int, callbacks: list[Any]) -> list[Any]:
    """Return (seconds, passes, iteration, point) along one run."""
    probe = Probed(_choice(task, name, limits.until))
    solution = run(
        task.problem,
        probe,
        tol=limits.until,
        max_iter=limits.max_iter,
        time_limit=limits.time_limit,
        seed=seed,
        callbacks=callbacks,
        interrupt=limits.interrupt,
    )
    taken = [(s.seconds, s.passes, s.iteration, s.point) for s in probe.snapshots]
    passes = taken[-1][1] if taken else 0.0
    if solution.trace:
        passes = max(passes, solution.trace[-1].passes)
    seconds = max(solution.seconds - probe.clock.outside, taken[-1][0] if taken else 0.0)
    return [*taken, (seconds, passes, solution.iterations, solution.point)]


def _rival(task: Task, fit: Fit, limits: _Limits) -> list[Any]:
    taken, spent = [], 0.0
    for rung, (seconds, w) in enumerate(fit(task)):
        spent += seconds
        taken.append((seconds, float("nan"), rung, w))
        if spent > 2.0 * limits.time_limit or limits.interrupt.requested:
            break
    return taken


def _measure(
    task: Task, series: dict[tuple[str, int], list[Any]], until: float
) -> list[Measurement]:
    """Certify every snapshot, off the clock."""
    found: list[tuple[str, int, Any, float, float, float]] = []
    for (name, round), taken in series.items():
        primal, dual = np.inf, -np.inf
        for moment in taken:
            if isinstance(moment[3], Point):
                point, certificate = task.problem.certify(moment[3])
                dual = max(dual, certificate.dual)
                here = certificate.primal
            else:
                point, here = Point(moment[3], 0.0, np.zeros(0)), task.primal(moment[3])
            primal = min(primal, here)
            found.append((name, round, moment, primal, dual, task.accuracy(point)))
    if not found:
        return []
    best = min(primal for _, _, _, primal, _, _ in found)
    bound = max(dual for _, _, _, _, dual, _ in found)
    if best - bound > until * best:
        # No bound certifies the lowest objective as nearly P*: use the bound instead.
        best = bound
    return [
        Measurement(
            task.examples.name,
            name,
            round,
            float(moment[0]),
            float(moment[1]),
            int(moment[2]),
            primal,
            dual,
            max(primal - dual, 0.0) / primal if np.isfinite(dual) else float("nan"),
            (primal - best) / best if best > 0.0 else np.inf,
            accuracy,
        )
        for name, round, moment, primal, dual, accuracy in found
    ]
