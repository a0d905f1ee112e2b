"""What a comparison says about its runs."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

from widemargin.auto.registry import choice_of
from widemargin.benchmark import compare
from widemargin.benchmark.probe import Probed
from widemargin.benchmark.tasks import Examples, make_task
from widemargin.run import run


def examples(n: int = 200) -> Examples:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 5))
    return Examples("toy", X, np.sign(X[:, 0] + random.normal(size=n)))


def test_nobody_reached_what_nobody_proved() -> None:
    """The lowest objective of runs that are far away was taken for P*."""
    result = compare("hinge", [examples()], ["pegasos", "pragam"], until=1e-9, max_iter=3)
    truth = compare("hinge", [examples()], ["dual_cd"], until=1e-9)
    best = truth.curve("toy", "dual_cd")[-1].primal
    for name in ("pegasos", "pragam"):
        assert result.seconds_to("toy", name) == np.inf
        for point in result.curve("toy", name):
            assert point.suboptimality >= (point.primal - best) / best > 1e-9


def test_one_proof_serves_all_runs() -> None:
    result = compare("hinge", [examples()], ["dual_cd", "scikit_learn"], until=1e-5)
    assert np.isfinite(result.seconds_to("toy", "dual_cd"))
    assert np.isfinite(result.seconds_to("toy", "scikit_learn"))
    alone = compare("hinge", [examples()], ["scikit_learn"], until=1e-5)
    assert alone.seconds_to("toy", "scikit_learn") == np.inf


def test_ctrl_c_ends_the_comparison_and_keeps_what_there_is() -> None:
    begun: list[str] = []

    def tell(data: str, method: str, round: int, record: Any) -> None:
        if record is None:
            begun.append(method)
            if len(begun) == 2:
                signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    result = compare("hinge", [examples()], ["dual_cd", "pragam", "bmrm_qp"], until=1e-3, tell=tell)
    assert signal.getsignal(signal.SIGINT) is handler
    assert begun == ["dual_cd", "pragam"]
    assert result.interrupted
    assert result.methods("toy") == ["dual_cd", "pragam"]
    assert result.curve("toy", "dual_cd")[-1].gap <= 1e-3


def test_what_is_refused_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    result = compare("squared_hinge", [examples()], ["pragam", "dual_cd"], until=1e-2)
    assert result.methods("toy") == ["dual_cd"]
    assert "supports the loss 'hinge'" in result.failures["toy", "pragam"]
    assert not result.interrupted

    # Any other error is nobody's refusal.
    def broken(*arguments: Any, **named: Any) -> None:
        raise ValueError("a bug")

    monkeypatch.setitem(compare.__globals__, "run", broken)
    with pytest.raises(ValueError, match="a bug"):
        compare("hinge", [examples()], ["dual_cd"])


@pytest.mark.parametrize("solver", ["auto", "dual_cd"])
def test_the_logistic_loss_has_no_kernel_method(solver: str) -> None:
    result = compare("logistic", [examples()], [solver], kernel="rbf")
    assert result.measurements == []
    assert "'hinge', 'squared_hinge', not 'logistic'" in result.failures["toy", solver]


def test_a_curve_is_of_the_first_round_there_is() -> None:
    result = compare("hinge", [examples()], ["dual_cd"], until=1e-2, rounds=2)
    result.measurements = [m for m in result.measurements if m.round == 1]
    assert result.curve("toy", "dual_cd")
    assert result.curve("toy", "dual_cd", 0) == []


def test_snapshots_within_their_memory() -> None:
    problem = make_task("hinge", examples(500)).problem
    one = 8 * (5 + 500)
    probe = Probed(choice_of("pegasos", type(problem)), growth=1.0, memory=10.5 * one)
    run(problem, probe, tol=1e-12, max_iter=300)
    assert 3 <= len(probe.snapshots) <= 10
    assert probe.snapshots[0].iteration == 1
    assert all(np.diff([taken.seconds for taken in probe.snapshots]) > 0.0)
