"""Sequence labelling in exact arithmetic, against all labelings one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from widemargin import SequenceCRF, SequenceSVC, verify_exactly
from widemargin.exact.verify import chain_weights, exact_chains


def sequences(random: np.random.Generator) -> tuple[list[Any], list[Any]]:
    """Return a few short sequences of three labels."""
    y = [[0, 1, 2], [2], [1, 1], [0, 2, 1, 1]]
    return [random.normal(size=(len(labels), 2)) for labels in y], y


def scores(model: Any, x: Any, y: Any) -> list[tuple[tuple[int, ...], Fraction]]:
    """Return every labeling of a sequence and its score less that of the right one."""

    def score(labels: Any) -> Fraction:
        parts = [
            Fraction(v) * Fraction(w)
            for row, j in zip(x, labels, strict=True)
            for v, w in zip(row.tolist(), model.coef_[j].tolist(), strict=True)
        ]
        parts += [Fraction(float(model.transition_[a, b])) for a, b in pairwise(labels)]
        parts += [Fraction(float(model.start_[labels[0]])), Fraction(float(model.end_[labels[-1]]))]
        return sum(parts, Fraction(0))

    right = score(y)
    return [(other, score(other) - right) for other in product(range(3), repeat=len(y))]


@pytest.mark.parametrize("boundaries", [True, False])
def test_all_labelings(boundaries: bool) -> None:
    X, y = sequences(np.random.default_rng(0))
    model = SequenceSVC(0.7, boundaries=boundaries, tol=1e-6).fit(X, y)
    losses = Fraction(0)
    for x, labels in zip(X, y, strict=True):
        worst = max(
            gain + sum(a != b for a, b in zip(other, labels, strict=True))
            for other, gain in scores(model, x, labels)
        )
        losses += Fraction(0.7) * worst
    parts = (model.coef_, model.transition_, model.start_, model.end_)
    square = sum(Fraction(v) ** 2 for part in parts for v in part.ravel().tolist())
    report = verify_exactly(model, X, y)
    assert report.problems[0].exact_primal.lower == losses + square / 2
    assert report.problems[0].relative_gap <= 1e-6
    assert report
    model.dual_coef_ = 0.5 * model.dual_coef_
    assert verify_exactly(model, X, y).problems[0].verdict == "not proved"


def test_log_loss() -> None:
    X, y = sequences(np.random.default_rng(1))
    model = SequenceCRF(0.7).fit(X, y)
    exact = exact_chains(model, X, y, None).log_primal(chain_weights(model))
    losses = sum(
        np.log(sum(np.exp(float(gain)) for _, gain in scores(model, x, labels)))
        for x, labels in zip(X, y, strict=True)
    )
    parts = (model.coef_, model.transition_, model.start_, model.end_)
    expected = 0.7 * losses + 0.5 * sum(float((part**2).sum()) for part in parts)
    assert float(exact.lower) == pytest.approx(expected, rel=1e-12)
    assert exact.upper <= model.certificate_.primal
    with pytest.raises(ValueError, match="keeps no dual variables"):
        verify_exactly(model, X, y)
