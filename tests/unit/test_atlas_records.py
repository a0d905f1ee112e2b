"""Recording methods on a cell, keeping the records, and replaying policies over them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.atlas import fit, record, replay
from benchmarks.atlas.data import generate
from benchmarks.atlas.design import cell_at
from benchmarks.atlas.record import Record

from policy_shapes import shape
from widemargin.auto.binary import BinaryPolicy
from widemargin.auto.decision import Decision, Leg

SMALL = replace(
    cell_at(1, 0),
    kind="binary",
    classes=2,
    loss="hinge",
    rows=60,
    features=5,
    density=1.0,
    dense=True,
    C=1.0,
    tol=1e-3,
)


def test_records_are_kept_and_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "REPEATS", 1)
    facts, found = record.record(SMALL, *generate(SMALL))
    assert {r.method for r in found} == {"dual_cd", "proximal_newton", "interior_point"}
    assert all(r.converged and r.gap <= SMALL.tol for r in found)
    record.write(tmp_path / "1-0.npz", facts, found)
    facts_again, again = record.read(tmp_path / "1-0.npz")
    assert facts_again == facts
    for old, new in zip(found, again, strict=True):
        assert (old.method, old.seconds) == (new.method, new.seconds)
        np.testing.assert_allclose(new.steps, old.steps, rtol=1e-6)
    outcome = replay.outcome(SMALL, facts, again)
    assert outcome is not None
    assert outcome.regret >= 1.0
    assert not outcome.lost


class OneChange:
    """Sweeps three times, then the other method."""

    def first(self, shape: object, follows: str) -> Decision:
        return Decision("dual_cd", "")

    def next(self, shape: object, legs: list, follows: str) -> Decision | None:
        if len(legs) == 1 and len(legs[0].gaps) == 3:
            return Decision("newton", "")
        return None


def made(method: str, steps: int, status: str = "CONVERGED") -> Record:
    k = np.arange(1.0, steps + 1)
    table = np.column_stack([0.5**k, 10.0 * k, 0.01 * k, 0 * k])
    return Record(method, 0, table, 0.01 * steps + 0.005, status, 1e-4)


def test_a_replay_adds_up_what_each_method_took() -> None:
    records = {"dual_cd": made("dual_cd", 50), "newton": made("newton", 4)}
    done = replay.replay(OneChange(), None, records)
    assert done.seconds == pytest.approx(0.03 + 0.045)
    assert done.course == ["dual_cd 3", "newton 4"]
    over = {"dual_cd": made("dual_cd", 50), "newton": made("newton", 4, "OVER")}
    assert replay.replay(OneChange(), None, over).lost


def test_a_policy_may_know_what_it_can_only_predict() -> None:
    records = {"dual_cd": made("dual_cd", 50), "newton": made("newton", 4)}
    about = shape(1_000, 50, "logistic")
    policy = replay.knowing(BinaryPolicy(), records, ("prices", "sweeps"))
    assert [each.price for each in policy.offers(about)] == pytest.approx([0.045e9])
    leg = Leg("dual_cd", works=[10.0, 20.0, 30.0, 40.0], gaps=[0.5, 0.25, 0.1, 0.05])
    assert policy._to_go(about, leg) == pytest.approx(460.0)
    plain = replay.knowing(BinaryPolicy(), records, ())
    assert plain.offers(about)[0].price == BinaryPolicy().offers(about)[0].price


def test_weights_are_found_again() -> None:
    """A truth made from the forecasts gives its own weights back."""
    random = np.random.default_rng(0)
    forecasts = random.normal(size=(30, 3))
    truth = -0.5 + forecasts @ [0.1, 0.3, 0.5]
    rows = [(1.0, *f, t) for f, t in zip(forecasts, truth, strict=True)]
    weights, spread = fit.weights_of(rows, [1.0] * 30)
    np.testing.assert_allclose(weights, [-0.5, 0.1, 0.3, 0.5], atol=1e-12)
    assert spread < 1e-12
    seen = list(fit.course(BinaryPolicy(), shape(1_000, 50), made("dual_cd", 20)))
    assert seen[0][-1] == pytest.approx(np.log(16 / 4))
