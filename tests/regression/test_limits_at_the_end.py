"""Found by the campaign of certificates: a time limit that was reached while a run ended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from widemargin.auto.registry import choice_of
from widemargin.data.rows import Rows
from widemargin.problems.losses import LOSSES
from widemargin.problems.unpenalised import UnpenalisedProblem
from widemargin.run import Status, run


def test_where_a_state_reads_the_data_to_say_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal of the limit left the estimator as an exception."""
    clock = iter(np.arange(10_000.0))
    monkeypatch.setattr("widemargin.run.time.perf_counter", lambda: float(next(clock)))
    random = np.random.default_rng(0)
    y = np.where(random.random(20) < 0.5, -1.0, 1.0)
    data: Any = Rows.of(random.normal(size=(20, 2)))
    problem = UnpenalisedProblem(data, y, np.ones(20), LOSSES["logistic"], True)
    for seconds in range(1, 40):
        choice = choice_of("newton", UnpenalisedProblem)
        solution = run(problem, choice, tol=1e-12, time_limit=float(seconds))
        assert solution.status in (Status.TIME_LIMIT, Status.CONVERGED, Status.STALLED)
