"""The campaign of certificates draws every kind of problem and every solver of the registry."""

from __future__ import annotations

import numpy as np
import pytest
from tests.fuzz.certificates import case, draw
from tests.fuzz.problems import KINDS, margin_solvers

from widemargin.auto.registry import METHODS, POLICIES, SEQUENCES

DRAWS = 400


def drawn(name: str) -> set[str]:
    """Return the solvers of many models of a kind."""
    kind, random = KINDS[name], np.random.default_rng(0)
    settings = {"tol": 1e-4, "max_iter": 5, "time_limit": 0.1, "random_state": 0}
    models = [kind.make(random, settings, kind.classes[1]) for _ in range(DRAWS)]
    return {getattr(model, "solver", "auto") for model in models}


def test_every_kind_of_problem_is_drawn() -> None:
    served = {key for kind in KINDS.values() for key in kind.serves}
    tables = (*METHODS.values(), *SEQUENCES.values())
    registered = {*POLICIES, *(key for table in tables for key in table)}
    assert registered <= served


@pytest.mark.parametrize("name", [name for name in KINDS if KINDS[name].serves != ("lanes",)])
def test_every_solver_is_drawn(name: str) -> None:
    solvers = drawn(name)
    keys = KINDS[name].serves
    named = {**METHODS, **SEQUENCES}
    expected = {solver for solver, table in named.items() if any(key in table for key in keys)}
    assert {"auto", *expected} <= solvers


def test_losses_have_solvers_of_their_own() -> None:
    assert "interior_point" in margin_solvers("hinge")
    assert "interior_point" not in margin_solvers("logistic")
    assert "newton" in margin_solvers("logistic")


@pytest.mark.parametrize("name", list(KINDS))
def test_a_case_of_every_kind_is_judged(name: str) -> None:
    numbers = (number for number in range(3000) if draw(7, number).kind == name)
    outcomes = [case(7, next(numbers)) for _ in range(3)]
    assert {outcome.result for outcome in outcomes} <= {"true", "fell short", "refused"}, outcomes
