"""A method that is paused for a trial of another goes on where it was."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from widemargin.auto.registry import method_named
from widemargin.data.training_set import TrainingSet
from widemargin.given_way import Paused
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOSSES
from widemargin.run import Solution, Status, run


class Counted:
    """Newton's method, which counts how often it begins."""

    name = "newton"

    def __init__(self) -> None:
        self.method: Any = method_named("newton", BinaryProblem)
        self.begun = 0

    def refuses(self, problem: Any) -> None:
        """Serve everything."""

    def start(self, problem: Any, warm: Any, settings: Any) -> Any:
        self.begun += 1
        return self.method.start(problem, warm, settings)

    def advance(self, state: Any) -> None:
        state.allowed = 1  # so that the choice is asked after every step
        self.method.advance(state)


class InTurns:
    """Newton's steps, then sweeps, then Newton's steps to the end."""

    explanation = "in turns"

    def __init__(self, sweeps: int, pauses: bool) -> None:
        self.newton, self.sweeps, self.pauses = Counted(), sweeps, pauses
        self.course: list[str] = []

    def follow(self, method: str) -> None:
        """Ignore it."""

    def first(self, problem: Any, warm: Any, tol: float) -> Any:
        return self.newton

    def next(self, progress: Any) -> Any:
        self.course.append(progress.method)
        if "dual_cd" not in self.course and progress.expected[-1] < 0.1:
            self.course.append("dual_cd")
            return method_named("dual_cd", BinaryProblem)
        back = self.course.count("dual_cd") == self.sweeps + 1 and progress.method == "dual_cd"
        return self.newton if back else None


def solved(sweeps: int, pauses: bool) -> tuple[InTurns, Solution]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 40)) * 10.0 ** rng.uniform(-1, 1, 40)
    y = np.where(X @ rng.standard_normal(40) + 5.0 * rng.standard_normal(300) > 0, 1, 0)
    data = TrainingSet.of(X, y, C=100.0, fit_intercept=False)
    problem = BinaryProblem.of(data, 1, LOSSES["logistic"])
    choice = InTurns(sweeps, pauses)
    return choice, run(problem, choice, tol=1e-8, max_iter=5000)


def test_it_goes_on_where_it_was() -> None:
    choice, solution = solved(sweeps=1, pauses=True)
    assert solution.status is Status.CONVERGED
    assert choice.newton.begun == 1


def test_it_begins_anew_if_it_was_not_kept() -> None:
    choice, solution = solved(sweeps=1, pauses=False)
    assert solution.status is Status.CONVERGED
    assert choice.newton.begun == 2


@pytest.mark.parametrize(
    ("name", "gap", "goes_on"),
    [
        ("newton", 0.5, True),
        ("newton", 0.06, True),
        ("newton", 0.04, False),
        ("dual_cd", 0.5, False),
    ],
)
def test_it_begins_anew_if_another_got_much_further(name: str, gap: float, goes_on: bool) -> None:
    newton, other = (method_named(each, BinaryProblem) for each in ("newton", name))
    paused = Paused(newton, SimpleNamespace(expected_gap=0.1))
    assert paused.goes_on(other, gap) is goes_on


def test_passes_never_fall() -> None:
    _, solution = solved(sweeps=1, pauses=True)
    passes = [record.passes for record in solution.trace]
    assert passes == sorted(passes)
