"""Some columns of the rows: as rows of their own, and column after column."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.auto.registry import choice_of
from widemargin.data.along import Along, step_ahead
from widemargin.data.columns import Columns, LastColumns
from widemargin.data.rows import Rows
from widemargin.data.training_set import TrainingSet
from widemargin.methods.base import Settings
from widemargin.methods.coordinate.columns import SparsePrimalCD
from widemargin.methods.newton._column_sets import KeptMatrix
from widemargin.methods.newton._elastic_net_model import (
    Penalty,
    QuadraticModel,
    by_columns,
    by_matrix,
)
from widemargin.methods.newton._samples import balanced_sample
from widemargin.methods.newton.sparse_weights import SparseProximalNewton
from widemargin.problems.losses import LOSSES
from widemargin.problems.sparse_weights import SparseProblem
from widemargin.run import run
from widemargin.selection.predicted_starts import sparse_start


def _dense(random: np.random.Generator, dtype: type, density: float) -> np.ndarray:
    X = random.normal(size=(50, 12)) * (random.random((50, 12)) < density)
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["dense", "csr", "nearly dense csr", "taken", "constant"])
def test_columns_are_those_of_the_rows(dtype: type, layout: str) -> None:
    random = np.random.default_rng(3)
    density = {"dense": 1.0, "nearly dense csr": 0.97}.get(layout, 0.3)
    X = _dense(random, dtype, density)
    rows = Rows.of(X if layout == "dense" else sp.csr_array(X))
    assert rows.size.dense == (density > 0.9)
    if layout == "taken":
        subset = np.sort(random.choice(50, 20, replace=False))
        rows, X = rows.take(subset), X[subset]
    elif layout == "constant":
        rows, X = rows.with_constant(2.0), np.hstack([X, np.full((50, 1), 2.0)])
    a = random.normal(size=X.shape[0])
    # Few columns, others than these, and all: each way to copy them.
    for places in (np.array([1]), np.array([0, 4, X.shape[1] - 1]), np.arange(X.shape[1])):
        columns, part = Columns(rows, places), X[:, places].astype(np.float64)
        w = random.normal(size=places.size)
        np.testing.assert_allclose(columns.rows.scores(w), part @ w, atol=1e-12)
        np.testing.assert_allclose(columns.scores(w), part @ w, atol=1e-12)
        np.testing.assert_allclose(columns.combine(a), a @ part, atol=1e-12)
        sums, squares = columns.sums(a)
        np.testing.assert_allclose(sums, a @ part, atol=1e-12)
        np.testing.assert_allclose(squares, a @ part**2, atol=1e-12)
        assert columns.size.values == np.count_nonzero(part) or layout == "dense"


@pytest.mark.parametrize("constant", [False, True])
def test_columns_are_read_in_place_until_that_costs_a_copy(constant: bool) -> None:
    random = np.random.default_rng(11)
    X = _dense(random, np.float64, 0.3)
    last, h = LastColumns(), random.random(50)
    columns = Columns(Rows.of(sp.csr_array(X)), np.array([0, 3, 7]), last)
    part, w = X[:, columns.places], random.normal(size=3)
    extended = np.hstack([part, np.ones((50, 1))]) if constant else part
    expected = extended.T @ (h[:, None] * extended)
    for turn in range(4):
        # Each turn costs four products, half of which a copy would save; a copy costs four.
        assert columns.in_place == (turn < 2)
        assert (last.rows is None) == (turn < 3)
        np.testing.assert_allclose(columns.gram(h, constant), expected, atol=1e-12)
        np.testing.assert_allclose(columns.row_scores(w), part @ w, atol=1e-12)
        np.testing.assert_allclose(columns.row_combine(h), h @ part, atol=1e-12)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_a_kept_matrix_follows_the_curvature(layout: str, free: bool) -> None:
    random = np.random.default_rng(5)
    X = _dense(random, np.float64, 1.0 if layout == "dense" else 0.3)
    rows = Rows.of(X if layout == "dense" else sp.csr_array(X))
    columns, kept = Columns(rows, np.arange(12)), None
    extended = np.hstack([X, np.ones((50, 1))]) if free else X
    h, counted = random.random(50), []
    h[:5] = 1e-4
    for allowed in (0.0, 0.0, 0.1, 0.1):
        before = rows.meter.nanoseconds
        model = QuadraticModel(columns, np.zeros(12), np.zeros(12), h, np.zeros(50), free)
        kept = KeptMatrix.following(kept, model, allowed)
        counted.append(rows.meter.nanoseconds - before)
        expected = extended.T @ (kept.curvature[:, None] * extended)
        np.testing.assert_allclose(kept.matrix, expected, atol=1e-12)
        assert np.abs(kept.curvature - h).max() <= allowed * h.mean()
        # Four examples change by a lot, all others by little.
        h = h * (1.0 + 1e-3 * random.random(50))
        h[:4] = random.random(4) * np.array([1.0, 1.0, 0.0, 1.0])
    assert max(counted[2:]) < 0.3 * min(counted[:2])
    fresh = KeptMatrix.following(None, model, 0.1)
    assert fresh.curvature[4] == 0.0
    assert np.count_nonzero(fresh.curvature) > 40


def test_a_sample_has_as_many_of_the_rare_class() -> None:
    random = np.random.default_rng(13)
    X, y = random.normal(size=(4000, 3)), np.where(random.random(4000) < 0.02, 1.0, -1.0)
    problem = SparseProblem(Rows.of(X), y, np.full(4000, 0.5), LOSSES["logistic"], True, 1.0)
    sample = balanced_sample(problem, 500, np.random.default_rng(0))
    assert sample is not None
    assert sample.size == 500 == np.unique(sample).size
    assert (y[sample] > 0.0).sum() == (y > 0.0).sum()
    part = problem.subproblem(sample)
    np.testing.assert_allclose(part.class_costs, problem.class_costs)


def test_duals_of_a_model_prove_more_than_those_of_its_minimiser() -> None:
    """They end a run early, and what they promise holds."""
    random = np.random.default_rng(17)
    X = random.normal(size=(300, 20))
    y = np.sign(X[:, 0] - X[:, 1] + random.normal(size=300))
    data = TrainingSet.of(X, y, C=0.5, fit_intercept=True)
    problem = SparseProblem.of(data, 1, LOSSES["logistic"], 1.0)
    method = SparseProximalNewton()
    state = method.start(problem, None, Settings(1e-4, 0))
    while state.expected_gap > 1e-4:
        method.advance(state)
    assert state.better is not None
    promised = problem.certify(state.point)[1].relative_gap
    assert promised <= 1e-4
    own = problem.certify(problem.point_at(state.w, state.b))[1].relative_gap
    assert promised < 0.1 * own


def _many_rows() -> SparseProblem:
    random = np.random.default_rng(5)
    X = random.normal(size=(6000, 8))
    y = np.sign(X[:, 0] - X[:, 1] + random.normal(size=6000))
    data = TrainingSet.of(X, y, C=0.05, fit_intercept=True)
    return SparseProblem.of(data, 1, LOSSES["logistic"], 1.0)


@pytest.mark.parametrize("method", [SparsePrimalCD(), SparseProximalNewton()])
def test_steps_on_a_sample_are_steps_of_the_run(method: SparsePrimalCD) -> None:
    problem = _many_rows()
    state = method.start(problem, None, Settings(1e-8, 0))
    on_sample = 0
    while state.sample is not None:
        assert state.point.w is state.sample.w  # what was found there is not lost
        assert state.point.alpha is state.alpha
        method.advance(state)
        on_sample += 1
    assert 1 <= on_sample <= 10
    assert np.count_nonzero(state.w)
    choice = choice_of(method.name, SparseProblem)
    assert run(problem, choice, tol=1e-8, max_iter=on_sample).iterations == on_sample
    assert run(problem, choice, tol=1e-8).certificate.relative_gap <= 1e-8


def test_a_copy_of_few_columns_is_used_again() -> None:
    random = np.random.default_rng(7)
    X = sp.csr_array(_dense(random, np.float64, 0.3))
    rows, w, last = Rows.of(X), np.ones(3), LastColumns()
    first = Columns.of(rows, np.array([1, 2, 5]), last)
    np.testing.assert_allclose(first.rows.scores(w), X[:, [1, 2, 5]] @ w)
    met: list[int] = []
    watched = rows.watched(lambda: met.append(1))
    again = Columns.of(watched, np.array([1, 5]), last)
    assert again.places is first.places
    assert again.rows.view is first.rows.view
    # With the checkpoint and the meter of the run that uses it.
    np.testing.assert_allclose(again.rows.scores(w), X[:, [1, 2, 5]] @ w)
    assert met
    assert again.rows.meter is watched.meter
    assert Columns.of(watched, np.array([1]), last).places.size == 1
    assert Columns.of(watched, np.array([1, 6]), last).places.tolist() == [1, 6]


def test_starts_along_a_path_keep_signs_and_zeros() -> None:
    last, before = np.array([1.0, 0.2, 0.0, -1.0, 0.5]), np.array([0.8, 0.5, 0.3, -0.5, 0.0])
    found = sparse_start(1.0, last, before)
    np.testing.assert_allclose(found, [1.2, 0.2, 0.0, -1.5, 1.0])
    # As far over log C as the known ones are apart, at most.
    assert step_ahead(4.0, 2.0, 1.0) == step_ahead(8.0, 2.0, 1.0) == 1.0
    assert step_ahead(2.0, 1.0, 0.25) == pytest.approx(0.5)
    assert step_ahead(4.0, 2.0, 2.0) == 0.0


def test_slopes_are_guessed_along_a_path_with_how_far_they_may_be_off() -> None:
    along = Along()
    assert along.guessed_slopes(2.0) is None
    along.keep_slopes(1.0, np.array([0.5, 1.0]))
    guess, margin = along.guessed_slopes(1.25) or (None, None)
    np.testing.assert_allclose(guess, [0.5, 1.0])
    assert margin == pytest.approx(0.4)  # the strong rule: 2 C/C' - 1 is 0.6 here
    along.keep_slopes(1.25, np.array([0.6, 1.0]))
    guess, margin = along.guessed_slopes(1.25**2) or (None, None)
    np.testing.assert_allclose(guess, [0.7, 1.0])
    assert margin == pytest.approx(2.0 * 0.1)
    # Not far away, and not backwards.
    assert along.guessed_slopes(4.0) is None
    assert along.guessed_slopes(1.0) is None


def test_scores_come_from_the_copied_columns_where_they_have_all_weights() -> None:
    X = np.random.default_rng(5).standard_normal((30, 6))
    rows, last = Rows.of(X), LastColumns()
    assert last.known_scores(rows, np.ones(6)) is None
    columns = Columns.of(rows, np.array([1, 4]), last)
    assert columns.rows.weights == 2
    w = np.array([0.0, 2.0, 0.0, 0.0, -1.0, 0.0])
    np.testing.assert_allclose(last.known_scores(rows, w), X @ w)
    assert last.known_scores(rows, w + 1.0) is None


@pytest.mark.parametrize("free", [True, False])
def test_minimising_a_model_leaves_its_matrix_as_it_was(free: bool) -> None:
    random = np.random.default_rng(2)
    rows, y = Rows.of(random.normal(size=(60, 8))), np.where(np.arange(60) % 3 == 0, 1.0, -1.0)
    columns, h = Columns(rows, np.arange(8)), random.uniform(0.1, 1.0, size=60)
    w, rest = np.zeros(8), y * random.uniform(size=60)
    model = QuadraticModel(columns, w, rows.combine(rest), h, rest, free)
    matrix = columns.gram(h, free)
    before, penalty = matrix.copy(), Penalty(0.5, 0.5)
    found = by_matrix(model, penalty, 1e-10, matrix)
    np.testing.assert_array_equal(matrix, before)
    assert np.count_nonzero(found.z)
    again = by_columns(model, penalty, 1e-10, np.inf)
    np.testing.assert_allclose(found.z, again.z, atol=1e-8)
    assert found.move == pytest.approx(again.move, abs=1e-8)


def test_columns_are_copied_once_and_all_of_them_after_many_passes() -> None:
    random = np.random.default_rng(11)
    X = sp.random_array((200, 300), density=0.1, rng=random, format="csr")
    rows, seen = Rows.of(X), []
    for places in np.split(np.arange(300), 100):
        np.testing.assert_allclose(Columns(rows, places).scores(np.ones(3)), X[:, places].sum(1))
        seen.append(int((rows._kept["columns"].place >= 0).sum()))
    assert seen[:2] == [3, 6]
    assert seen[-1] == 300
    assert seen.count(300) > 50  # passes for a few columns each would cost far more than a copy


def test_places_beyond_those_that_have_room_are_refused() -> None:
    rows = Rows.of(sp.csr_array(np.eye(4)))
    numbers, values = np.empty(2, dtype=np.int32), np.empty(2)
    place = np.array([0, 1, -1, 2], dtype=np.int32)
    with pytest.raises(ValueError, match="place"):
        rows.view.take_by_column(place, np.array([0, 1]), numbers, values, 0, 4)
    with pytest.raises(ValueError, match="next"):
        rows.view.take_by_column(place, np.array([0, 1, 9]), numbers, values, 0, 4)


def test_a_known_gap_says_how_far_the_last_model_is_to_be_minimised():
    """The bound from the penalty asks for more than the gap does; without a gap it stands."""
    X = sp.random(30, 5, 0.5, "csr", random_state=0)
    y = np.where(np.arange(30) % 2, 1.0, -1.0)
    problem = SparseProblem(Rows.of(X), y, np.ones(30), LOSSES["logistic"], False, 1.0)

    def accuracy(gap, sampled=False):
        state = SparsePrimalCD().start(problem, None, Settings(tol=1e-6, seed=0))
        state.expected_gap, state.sampled = gap, sampled
        state.penalised, state.total = 1.0, 0.0
        return SparsePrimalCD()._accuracy(state, 1e-3)

    assert accuracy(4e-6) == pytest.approx(0.125e-3)
    assert accuracy(1e-5) == pytest.approx(0.5e-4)
    for unknown in (accuracy(1e-2), accuracy(np.inf), accuracy(1e-5, sampled=True)):
        assert unknown == pytest.approx(1e-4)
