"""How a fit went: what it recorded itself or, for quick fits, a second run that looks often."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from widemargin.auto.registry import choice_of
from widemargin.benchmark.probe import Probed
from widemargin.problems.certificate import Certificate
from widemargin.report.subject import Subject

ENOUGH = 12
"""Records that make a picture."""
QUICK = 0.4
"""Seconds of a fit that is worth a second run for a better picture."""


@dataclass(frozen=True)
class Curve:
    """Best primal and dual value so far, over time and passes, and the method at work."""

    name: str
    seconds: list[float]
    passes: list[float]
    primal: list[float]
    dual: list[float]
    method: list[str]

    @property
    def gaps(self) -> list[float]:
        """The relative gaps."""
        return [
            (p - d) / p if p > 0 else float("nan")
            for p, d in zip(self.primal, self.dual, strict=True)
        ]

    @property
    def phases(self) -> list[tuple[str, float]]:
        """Each method in turn and the seconds until the next one took over."""
        found: list[list[Any]] = []
        for method, now in zip(self.method, self.seconds, strict=True):
            if not found or found[-1][0] != method:
                found.append([method, now])
            found[-1][1] = now
        ends = [0.0, *(end for _, end in found)]
        return [(m, end - ends[place]) for place, (m, end) in enumerate(found)]

    @property
    def hand_overs(self) -> list[tuple[int, str, str]]:
        """The places at which a method took over, with its name and that of the one before."""
        pairs = zip(self.method, self.method[1:], strict=False)
        return [(place, b, a) for place, (a, b) in enumerate(pairs, 1) if a != b]


def recorded(subject: Subject) -> list[Curve]:
    """Return what the fit itself has recorded, one curve for each problem."""
    estimator = subject.estimator
    names = problem_names(subject)
    return [
        _best(name, h["seconds"], h["passes"], h["primal"], h["dual"], h["method"])
        for name, h in zip(names, getattr(estimator, "history_", []), strict=False)
        if h and h["seconds"]
    ]


def problem_names(subject: Subject) -> list[str]:
    """Return what each problem is about."""
    classes, count = subject.classes, len(subject.estimator.status_)
    if count == 1:
        return [f"{classes[1]} against {classes[0]}" if len(classes) == 2 else "all classes"]
    return [f"{name} against the rest" for name in classes]


def curves(subject: Subject, again: bool | str) -> tuple[list[Curve], bool]:
    """Return the curves, and whether they are those of a second run."""
    found = recorded(subject)
    if again == "auto":
        total = sum(curve.seconds[-1] for curve in found)
        most = max((len(curve.seconds) for curve in found), default=0)
        again = bool(found) and most < ENOUGH and total <= QUICK
    if again:
        second = traced(subject)
        if _same_problem(subject, second):
            return second, True
    return found, False


def _same_problem(subject: Subject, second: list[Curve]) -> bool:
    """Whether the bounds of both runs overlap, as they must if they are about one optimum.

    They are not if the model was trained with weights or on rows that the report was not given.
    """
    bounds = zip(subject.estimator.primal_, subject.estimator.dual_, second, strict=True)
    return all(c.dual[-1] <= primal and dual <= c.primal[-1] for primal, dual, c in bounds)


def traced(subject: Subject) -> list[Curve]:
    """Train a copy, look at the certificate as often as is worth a point, off the clock."""
    twin = _twin(subject.estimator)
    probes: dict[int, tuple[Probed, Any]] = {}

    def probed(problem: Any, place: int) -> Probed:
        probe = Probed(choice_of(twin._method(), type(problem)))
        probes[place] = probe, problem
        return probe

    twin._choice = probed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report says whether the fit converged
        twin.fit(subject.train.X, subject.labels, subject.sample_weight)
    ends = [Certificate(float(p), float(d)) for p, d in zip(twin.primal_, twin.dual_, strict=True)]
    made = [probes[place] for place in sorted(probes)]
    runs = zip(problem_names(subject), made, ends, twin.history_, strict=True)
    return [
        _certified(name, probe, problem, end, history)
        for name, (probe, problem), end, history in runs
    ]


def _twin(estimator: Any) -> Any:
    """Return an estimator with the same problem, unfitted; of a search, the one that it chose."""
    twin = estimator._at_best() if hasattr(estimator, "_at_best") else clone(estimator)
    settings = {"verbose": 0, "callback": None, "n_jobs": 1, "warm_start": False}
    known = twin.get_params()
    return twin.set_params(**{name: value for name, value in settings.items() if name in known})


def _certified(
    name: str, probe: Probed, problem: Any, end: Certificate, history: dict[str, list[Any]]
) -> Curve:
    """Return the certificates of a run's snapshots and, last, that of its answer."""
    taken = probe.snapshots
    values = [problem.certify(snapshot.point)[1] for snapshot in taken]
    last = taken[-1]
    ended = max(history["seconds"][-1] - probe.clock.outside, last.seconds)
    return _best(
        name,
        [*(s.seconds for s in taken), ended],
        [*(s.passes for s in taken), max(history["passes"][-1], last.passes)],
        [*(v.primal for v in values), end.primal],
        [*(v.dual for v in values), end.dual],
        [*(s.method for s in taken), last.method],
    )


def _best(name: str, seconds: Any, passes: Any, primal: Any, dual: Any, method: Any) -> Curve:
    lowest = np.minimum.accumulate(np.asarray(primal, dtype=float))
    highest = np.maximum.accumulate(np.asarray(dual, dtype=float))
    return Curve(
        name,
        [float(v) for v in seconds],
        [float(v) for v in passes],
        lowest.tolist(),
        highest.tolist(),
        [str(v) for v in method],
    )
