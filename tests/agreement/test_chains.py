"""Sequences against all labelings one by one, and against Clarabel on the factorised dual."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from oracle_sequences import (
    all_losses,
    factorised_dual,
    features,
    objective,
    problem_of,
    small_sequences,
)
from widemargin import SequenceSVC
from widemargin.auto.registry import choice_of
from widemargin.data.rows import Rows
from widemargin.methods.base import Settings
from widemargin.methods.structures.cached_frank_wolfe import CachedFrankWolfe
from widemargin.problems.certificate import Point
from widemargin.problems.sequence import Labelings, SequenceProblem
from widemargin.run import run

SOLVERS = ["cached_frank_wolfe", "block_frank_wolfe", "bmrm_qp", "pragam"]
COST = np.array([[0.0, 1.0, 0.3], [2.0, 0.0, 0.7], [1.0, 0.5, 0.0]])


@pytest.mark.parametrize("seed", range(4))
def test_losses_and_combinations_by_enumeration(seed: int) -> None:
    X, y = small_sequences(seed)
    problem = problem_of(X, y, 0.7, COST)
    random = np.random.default_rng(seed)
    w = np.zeros(problem.shape)
    w[:, :3] = random.normal(size=(problem.shape[0], 3))
    labels, excess, _ = problem.best_labelings(w)
    for place, (x, own) in enumerate(zip(X, y, strict=True)):
        expected = all_losses(w[:, :3], x, own, COST).max()
        assert excess[place] == pytest.approx(expected, abs=1e-12)
    # Shares of two labelings: D by the formula.
    other = random.integers(0, 3, labels.size).astype(np.int32)
    shares = np.array([0.5, 0.25])
    duals = Labelings.mixture([labels, other], shares, problem.lengths)
    certificate = problem.certify(Point(w, None, duals))[1]
    total, linear = np.zeros((problem.shape[0], 3)), 0.0
    for place, (x, own) in enumerate(zip(X, y, strict=True)):
        begin, end = problem.first[place : place + 2]
        for z, share in zip((labels[begin:end], other[begin:end]), shares, strict=True):
            total += 0.7 * share * (features(x, own, 3) - features(x, z, 3))
            linear += 0.7 * share * COST[own, z].sum()
    expected = linear - 0.5 * float(np.vdot(total, total))
    assert certificate.dual <= expected + 1e-15
    assert certificate.dual == pytest.approx(expected, rel=1e-9)
    exact = objective(w[:, :3], X, y, 0.7, COST)
    assert certificate.primal >= exact - 1e-12
    assert certificate.primal == pytest.approx(exact, rel=1e-9)


def test_a_certificate_computes_the_weights_of_its_labelings_in_place() -> None:
    X, y = small_sequences(3)
    problem = problem_of(X, y, 0.7, COST)
    state = CachedFrankWolfe().start(problem, None, Settings(tol=1e-3, seed=0))
    for _ in range(3):
        CachedFrankWolfe().advance(state)
    combination, _ = problem.combine(state.point.alpha.feasible())
    whole = problem.certify(Point(combination, None, state.point.alpha))[1]
    state.weights += 1.0  # what a method has added up is not trusted
    judged, certificate = problem.certify_in_place(state.point)
    assert judged.w is state.weights
    np.testing.assert_array_equal(state.weights, combination)
    assert certificate.primal == whole.primal
    assert certificate.dual == pytest.approx(whole.dual, rel=1e-12)


def test_a_certificate_forms_the_weights_of_a_few_labels_at_a_time() -> None:
    random = np.random.default_rng(1)
    y = [random.integers(0, 11, length) for length in (5, 1, 7)]
    X = [random.normal(size=(labels.size, 4)) for labels in y]
    problem = problem_of(X, y, 0.7, 1.0 - np.eye(11))
    parts = [random.integers(0, 11, 13).astype(np.int32) for _ in range(2)]
    duals = Labelings.mixture(parts, np.array([0.5, 0.25]), problem.lengths)
    weights, linear = problem.combine(duals)
    expected = linear - 0.5 * float(np.vdot(weights, weights))
    assert problem.stride > 8
    dual = problem.certify(Point(weights, None, duals))[1].dual
    assert dual == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_optimum_of_the_factorised_dual(solver: str) -> None:
    pytest.importorskip("cvxpy")
    X, y = small_sequences(7)
    best = factorised_dual(X, y, 0.5, COST)
    problem = problem_of(X, y, 0.5, COST)
    tol = 1e-3 if solver in ("block_frank_wolfe", "pragam") else 1e-6
    solution = run(problem, choice_of(solver, SequenceProblem), tol=tol, max_iter=20000)
    certificate = solution.certificate
    assert certificate.relative_gap <= tol
    assert certificate.dual <= best * (1.0 + 1e-7)
    assert best * (1.0 - 1e-7) <= certificate.primal <= best * (1.0 + 1.1 * tol)
    assert certificate.primal == pytest.approx(objective(solution.w[:, :3], X, y, 0.5, COST))


def test_layouts_threads_and_long_sentences_agree() -> None:
    random = np.random.default_rng(3)
    y = [np.cumsum(random.random(n) < 0.3) % 4 for n in random.integers(1, 12, 300)]
    y.append(np.cumsum(random.random(90) < 0.3) % 4)  # its rows' products are not kept
    X = [np.eye(4)[labels] + 0.8 * random.normal(size=(labels.size, 4)) for labels in y]
    dense = SequenceSVC(C=0.2, tol=1e-4).fit(X, y)
    assert dense.certificate_.relative_gap <= 1e-4
    threads = SequenceSVC(C=0.2, tol=1e-4, n_jobs=2).fit(X, y)
    assert np.array_equal(threads.coef_, dense.coef_)
    assert np.array_equal(threads.transition_, dense.transition_)
    lengths = [len(labels) for labels in y]
    flat = sp.csr_matrix(np.vstack(X).astype(np.float32))
    sparse = SequenceSVC(C=0.2, tol=1e-4).fit(flat, np.concatenate(y), lengths=lengths)
    assert sparse.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=2e-4)
    assert dense.score(X, y) > np.mean(np.vstack(X).argmax(axis=1) == np.concatenate(y))


def test_batches_do_not_depend_on_threads() -> None:
    random = np.random.default_rng(4)
    y = [np.cumsum(random.random(n) < 0.4) % 3 for n in random.integers(1, 5, 1700)]
    X = [np.eye(3)[labels] + 0.9 * random.normal(size=(labels.size, 3)) for labels in y]
    one = SequenceSVC(C=0.05, tol=1e-3).fit(X, y)
    assert one.certificate_.relative_gap <= 1e-3
    for threads in (2, 3):
        more = SequenceSVC(C=0.05, tol=1e-3, n_jobs=threads).fit(X, y)
        assert np.array_equal(more.coef_, one.coef_)
        assert np.array_equal(more.transition_, one.transition_)
        assert more.n_iter_ == one.n_iter_


@pytest.mark.parametrize("boundaries", [True, False])
def test_weights_are_those_of_the_labelings(boundaries: bool) -> None:
    # Visits and the average of the last passes change both by hand; the certificate asks for each
    # on its own, so that a slip would only show as a gap that does not close.
    random = np.random.default_rng(3)
    y = [np.cumsum(random.random(n) < 0.3) % 4 for n in random.integers(1, 9, 60)]
    X = [np.eye(4)[labels] + 0.8 * random.normal(size=(labels.size, 4)) for labels in y]
    problem = problem_of(X, y, 0.2, boundaries=boundaries)
    method = CachedFrankWolfe()
    gaps = []
    for seed in range(9):
        state = method.start(problem, None, Settings(tol=1e-3, seed=seed))
        for _ in range(100):
            method.advance(state)
            weights, linear = problem.combine(state.point.alpha)
            np.testing.assert_allclose(state.weights, weights, rtol=0.0, atol=1e-12)
            assert boundaries or not state.weights[-2:].any()
            assert state.sweeps.linear == pytest.approx(linear, rel=1e-12)
            if state.expected_gap <= 1e-3:
                break
        assert state.hopes == 1
        gaps.append(problem.certify(state.point)[1].relative_gap)
    # The last passes were averaged, and the average is what was expected of it: an estimate, which
    # one order of visits in ten misses by a fifth.
    assert np.median(gaps) <= 1.1e-3


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_ones_are_values_like_others(index: type) -> None:
    # Rows whose stored values are all one are read without them, unless a zero is stored, too.
    random = np.random.default_rng(5)
    y = [random.integers(0, 3, n).astype(np.int32) for n in random.integers(1, 9, 30)]
    tokens = int(sum(map(len, y)))
    dense = (random.random((tokens, 40)) < 0.3) * 1.0
    dense[:, -1] = 0.0
    ones = sp.csr_matrix(dense)
    other = sp.csr_matrix(dense + np.eye(tokens, 40, 39))
    other.data[other.indices == 39] = 0.0
    problems = []
    for matrix in (ones, other):
        matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
        problem = problem_of([dense], [np.concatenate(y)], 0.3)
        first = np.concatenate([[0], np.cumsum([len(own) for own in y])]).astype(np.int64)
        problem = replace(
            problem, rows=Rows.of(matrix), first=first, cost=np.full(len(y), 0.3), _kept={}
        )
        problems.append(problem)
    w = np.zeros(problems[0].shape)
    w[:, :3] = random.normal(size=(len(w), 3))
    mine, others = (problem.best_labelings(w) for problem in problems)
    assert np.array_equal(mine[0], others[0])
    np.testing.assert_allclose(mine[1], others[1], rtol=0.0, atol=1e-11)
    solutions = [
        run(problem, choice_of("cached_frank_wolfe", SequenceProblem), tol=1e-6)
        for problem in problems
    ]
    for solution in solutions:
        assert solution.certificate.relative_gap <= 1e-6
    assert solutions[0].certificate.primal == pytest.approx(
        solutions[1].certificate.primal, rel=1e-6
    )
    combined = [problem.combine(solutions[0].alpha)[0] for problem in problems]
    np.testing.assert_allclose(*combined, rtol=0.0, atol=1e-12)
