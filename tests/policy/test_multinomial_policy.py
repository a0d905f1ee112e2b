"""Decisions about multinomial problems, without a fit; and what they cost with one."""

from __future__ import annotations

import numpy as np
import pytest

from policy_shapes import leg
from widemargin.auto.multinomial import MultinomialPolicy, MultinomialShape
from widemargin.auto.registry import choice_of
from widemargin.data.training_set import TrainingSet
from widemargin.data.work import Size
from widemargin.problems.multinomial import MultinomialProblem
from widemargin.run import Status, run

POLICY = MultinomialPolicy()


def shape(
    rows: int, weights: int, mean: int, classes: int, stiffness: float, served: bool = True
) -> MultinomialShape:
    size = Size(rows, weights, rows * mean)
    return MultinomialShape(size, classes, -(-classes // 4) * 4, served, 1e-4, stiffness)


@pytest.mark.parametrize(
    ("given", "method"),
    [
        (shape(1_797, 64, 64, 10, 0.01), "dual_cd"),
        (shape(1_797, 64, 64, 10, 50.0), "newton"),
        (shape(15_000, 16, 16, 26, 20.0), "newton"),
        (shape(581_000, 54, 54, 7, 5.0), "newton"),
        (shape(60_000, 780, 150, 10, 50.0), "newton"),
        (shape(16_000, 62_000, 80, 20, 0.5), "dual_cd"),
        (shape(11_000, 130_000, 150, 20, 5.0), "dual_cd"),
        (shape(11_000, 500, 150, 20, 500.0, served=False), "dual_cd"),
    ],
)
def test_first(given: MultinomialShape, method: str) -> None:
    assert POLICY.first(given, "").method == method


def test_what_worked_at_the_last_c_goes_on() -> None:
    given = shape(1_797, 64, 64, 10, 50.0)
    assert POLICY.first(given, "dual_cd").method == "dual_cd"
    assert POLICY.first(given, "newton").method == "newton"


def test_sweeps_give_way_when_steps_are_cheaper() -> None:
    given = shape(6_000, 60, 60, 20, 0.1)
    hopeless = leg("dual_cd", 0.5 * given.steps, 20, 1.0, 0.85)
    decision = POLICY.next(given, [hopeless], "")
    assert decision is not None
    assert decision.method == "newton"
    early = leg("dual_cd", 0.001 * given.steps, 20, 1.0, 0.9)
    assert POLICY.next(given, [early], "") is None
    ending = leg("dual_cd", given.steps, 20, 1.0, 2e-4)
    assert POLICY.next(given, [ending], "") is None
    assert POLICY.next(shape(6_000, 60, 60, 20, 0.1, served=False), [hopeless], "") is None


def test_a_loan_is_recalled() -> None:
    given = shape(6_000, 60, 60, 20, 0.1)
    swept = leg("dual_cd", 0.3 * given.steps, 20, 1.0, 0.05)
    spent = leg("newton", 3.0 * given.steps, 10, 0.9, 0.8)
    decision = POLICY.next(given, [swept, spent], "")
    assert decision is not None
    assert decision.method == "dual_cd"
    assert POLICY.next(given, [swept, leg("newton", 0.5 * given.steps, 5, 0.9, 0.8)], "") is None


@pytest.mark.parametrize(("rows", "weights"), [(400, 10), (150, 2_300)])
@pytest.mark.parametrize("C", [0.01, 100.0])
def test_auto_costs_little_more_than_its_best_method(rows: int, weights: int, C: float) -> None:
    """Counted in operations, on data with few and with many weights."""
    random = np.random.default_rng(0)
    y = np.arange(rows) % 5
    X = random.normal(size=(rows, weights)) + random.normal(size=(5, weights))[y] / weights**0.5
    work = {}
    for solver in ("dual_cd", "newton", "auto"):
        problem = MultinomialProblem.of(TrainingSet.of(X, y, C=C, fit_intercept=True))
        watched = []
        real = problem.watched

        def watch(checkpoint, real=real, watched=watched):
            watched.append(real(checkpoint))
            return watched[-1]

        object.__setattr__(problem, "watched", watch)
        choice = choice_of(solver, MultinomialProblem)
        solution = run(problem, choice, tol=1e-4, max_iter=400)
        converged = solution.status is Status.CONVERGED
        work[solver] = watched[0].meter.nanoseconds if converged else np.inf
    assert work["auto"] <= 4.0 * min(work["dual_cd"], work["newton"])
