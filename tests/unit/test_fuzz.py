"""The campaigns themselves: they find what is planted, and cases can be run again."""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.fuzz import certificates, files, planted
from tests.fuzz.__main__ import sort_of
from tests.fuzz.children import Outcome, outcomes
from tests.fuzz.judges import untrue
from tests.fuzz.nasty import LAYOUTS, data_of, in_layout


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_crashes_and_hangs_are_seen() -> None:
    run = outcomes(planted.case, 0, 60.0, limit=1.0)
    assert next(run) == (0, Outcome("planted", "well"))
    assert next(run)[1].failure == "no answer after 1 s"
    assert next(run)[1].failure == "died of signal 9"
    assert next(run) == (3, Outcome("planted", "well"))
    run.close()


def test_cases_can_be_run_again() -> None:
    for number in range(20):
        one, two = certificates.draw(7, number), certificates.draw(7, number)
        assert one.row == two.row
        # A structured model has no text of its own.
        assert one.kind == "structured" or str(one.model) == str(two.model)
        assert one.data.story == two.data.story
        for first, second in zip(one.data.y, two.data.y, strict=True):
            np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_hold_the_same_numbers(layout: str) -> None:
    X = np.arange(6.0).reshape(3, 2)
    laid = in_layout(X, layout)
    np.testing.assert_array_equal(laid.toarray() if hasattr(laid, "toarray") else laid, X)


def test_data_have_every_class() -> None:
    for seed in range(50):
        data = data_of(np.random.default_rng(seed), 4)
        assert np.unique(data.y).size == 4


@pytest.mark.parametrize("name", ["primal_", "dual_"])
def test_a_false_claim_is_found(name: str) -> None:
    drawn = next(
        drawn
        for drawn in (certificates.draw(3, number) for number in range(400))
        if drawn.row == "binary hinge dual_cd"
    )
    drawn.model.fit(drawn.data.X, drawn.data.y, drawn.data.sample_weight)
    change = -0.5 if name == "primal_" else 0.5
    value = getattr(drawn.model, name) + change * (1.0 + drawn.model.primal_)
    setattr(drawn.model, name, value)
    assert untrue(drawn.kind, drawn.model, drawn.data).startswith("untrue by ")


def test_files_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FILES_PER_CASE", 30)
    for number in range(len(files.KINDS)):
        outcome = files.case(1, number)
        assert outcome.failure == ""
    monkeypatch.setattr(files, "load_svmlight_file", lambda path: ([[9.0]], [9.0]))
    assert "TypeError" in files.case(1, 0).failure or "AttributeError" in files.case(1, 0).failure


def test_sorts_of_failures() -> None:
    assert sort_of("untrue by 3e-05 of it: 1.5 [a]") == sort_of("untrue by 4e-12 of it: -7 [b]")
    assert sort_of("RuntimeError: a") != sort_of("ValueError: a")
