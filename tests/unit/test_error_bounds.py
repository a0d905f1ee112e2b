"""Balls between two solved values of C: they hold the solutions, at every C and in every fold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from oracle import LOSSES, make_data
from widemargin.data.training_set import TrainingSet
from widemargin.interrupt import Interrupt
from widemargin.problems.losses import LOSSES as KINDS
from widemargin.selection.engines.base import Effort, Engine
from widemargin.selection.engines.fold_lanes import FoldLanes
from widemargin.selection.engines.separate import Separate
from widemargin.selection.error_bounds import HeldOut, between
from widemargin.selection.folds import Folds
from widemargin.selection.knots import knot_of

EXACT = Effort(1e-12, 100_000, None, 0, 1, Interrupt())
ROUGH = Effort(1e-3, 100_000, None, 0, 1, Interrupt())


def engine_of(loss: str, classes: int, dtype: Any = np.float64) -> Engine:
    if classes == 2:
        X, y = make_data((90, 5), seed=4)
        X = X + 0.3 * np.random.default_rng(0).normal(size=X.shape)
    else:
        X, y = load_iris(return_X_y=True)
    fold = np.arange(y.size) % 3
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
    weight = np.random.default_rng(1).uniform(0.0, 2.0, y.size)
    data = TrainingSet.of(X.astype(dtype), y, weight, class_weight="balanced")
    folds = Folds(data, splits, KINDS[loss])
    return FoldLanes(folds) if KINDS[loss].smooth else Separate(folds)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("effort", [EXACT, ROUGH])
def test_solutions_lie_in_the_balls(loss: str, classes: int, effort: Effort) -> None:
    """The centre and the radius of each interval, against solutions at C inside of it."""
    engine, exact = engine_of(loss, classes), engine_of(loss, classes)
    engine.solve(0.5, effort)
    a = knot_of(engine, 0.5)
    engine.solve(1.0, effort)
    b = knot_of(engine, 1.0)
    found = between(a, b, np.linspace(a.x, b.x, 5), HeldOut.of(engine.folds))
    for place in range(4):
        for share in (0.0, 0.21, 0.83):
            ends = np.exp(found.x[place : place + 2])
            C = (1.0 - share) * ends[0] + share * ends[1]
            mix = (1.0 - share) * found.mix[place] + share * found.mix[place + 1]
            exact.solve(C, EXACT)
            w = exact.weights()[0]
            for p, q in zip(a.parts, b.parts, strict=True):
                centres = np.tensordot(mix, np.stack([p.w, q.w, p.u, q.u]), axes=1)
                for lane, cell in enumerate(p.cells):
                    away = ((w[cell] - centres[:, lane]) ** 2).sum()
                    # The solutions compared with are exact to a gap of 1e-12.
                    assert away <= found.over[cell][place] * (1.0 + 1e-4) + 1e-10


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_share_of_sure_errors(loss: str, classes: int, dtype: Any) -> None:
    """Never more than the error there is, and for exact and close knots all of it but a few."""
    engine, exact = engine_of(loss, classes, dtype), engine_of(loss, classes, dtype)
    engine.solve(0.5, EXACT)
    a = knot_of(engine, 0.5)
    engine.solve(0.55, EXACT)
    b = knot_of(engine, 0.55)
    held_out = HeldOut.of(engine.folds)
    assert held_out.mass.sum() == pytest.approx(1.0)
    found = between(a, b, np.linspace(a.x, b.x, 9), held_out)
    wrong = found.wrong()
    for place in range(8):
        C = float(np.exp(0.5 * (found.x[place] + found.x[place + 1])))
        solved = exact.solve(C, EXACT)
        scores = np.concatenate(solved.decisions)
        guess = scores.argmax(axis=1) if classes == 3 else (scores[:, 0] > 0).astype(int)
        error = held_out.mass[guess != held_out.code].sum()
        assert error - 0.08 <= wrong[place] <= error + 1e-12


def test_radii_fall_with_the_fourth_power_of_the_distance() -> None:
    """Of the knots: that is why few of them do."""
    engine = engine_of("logistic", 2)
    largest = []
    for factor in (2.0, 2.0**0.5, 2.0**0.25):
        engine.solve(1.0, EXACT)
        a = knot_of(engine, 1.0)
        engine.solve(factor, EXACT)
        found = between(
            a,
            knot_of(engine, factor),
            np.linspace(0.0, np.log(factor), 3),
            HeldOut.of(engine.folds),
        )
        largest.append(float(found.at[..., 1].max()))
    assert largest[1] < largest[0] / 12.0
    assert largest[2] < largest[1] / 12.0


def test_more_points_make_smaller_balls() -> None:
    engine = engine_of("squared_hinge", 2)
    engine.solve(1.0, EXACT)
    a = knot_of(engine, 1.0)
    engine.solve(1.2, EXACT)
    b, held_out = knot_of(engine, 1.2), HeldOut.of(engine.folds)
    few, many = (between(a, b, np.linspace(a.x, b.x, n + 1), held_out) for n in (2, 32))
    assert many.over.max() < few.over.max() / 4.0
    assert many.wrong().min() >= few.wrong().min()
    assert few.intervals(0.0) == 2
    assert few.intervals(1.0) == 0
