"""A pair of classes short of the tolerance was called converged: the sum of all pairs was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from widemargin import KernelSVC
from widemargin.problems.certificate import Point

X = np.array([[-9.0], [-8.0], [9.0], [8.0], [7.0], [8.5]])
Y = np.array([0, 2, 1, 1, 2, 0])
WEIGHT = np.array([1e5, 1e-5, 1e5, 1e5, 1e-5, 1e5])
"""The objectives of the pairs with class 2 are 1e-10 of the sum."""


def of_a_sum_only(model: KernelSVC, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Make the first run end with the large pair solved, and the others at zero."""
    solve, runs = model._solve, []

    def without_the_small(titles: Any, problem: Any, *rest: Any, **named: Any) -> Any:
        found = solve(titles, problem, *rest, **named)
        runs.append(titles)
        if len(runs) > 1:
            return found
        whole, given = found[0], problem(0)
        points = list(given.split(whole.point))
        points[1:] = [Point(0.0 * p.w, 0.0, 0.0 * p.alpha) for p in points[1:]]
        judged, certificate = given.certify(given.joined(points))
        assert certificate.relative_gap <= whole.tol
        parts = {"w": judged.w, "b": judged.b, "alpha": judged.alpha}
        found[0] = replace(whole, certificate=certificate, **parts, **changes)
        return found

    monkeypatch.setattr(model, "_solve", without_the_small)


def model(**settings: Any) -> KernelSVC:
    return KernelSVC("linear", "squared_hinge", multi_class="ovo", tol=1e-4, **settings)


def test_pairs_are_solved_each(monkeypatch: pytest.MonkeyPatch) -> None:
    one = model()
    of_a_sum_only(one, monkeypatch)
    one.fit(X, Y, WEIGHT)
    assert one.status_ == ["converged"] * 3
    assert all(certificate.relative_gap <= 1e-4 for certificate in one.certificates_)


def test_a_limit_that_ended_the_sum_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one = model(time_limit=100.0)
    of_a_sum_only(one, monkeypatch, seconds=100.5)
    with pytest.warns(UserWarning, match="time limit"):
        one.fit(X, Y, WEIGHT)
    assert one.status_ == ["converged", "time_limit", "time_limit"]
