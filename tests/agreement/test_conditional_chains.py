"""SequenceCRF against all labelings one by one, finite differences and python-crfsuite."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from oracle_sequences import features, problem_of, small_sequences
from widemargin import SequenceCRF
from widemargin.methods.base import Settings
from widemargin.methods.structures.exponentiated_gradient import ExponentiatedGradient
from widemargin.problems.certificate import Point
from widemargin.problems.conditional import ConditionalProblem, Potentials, marginals

Array = NDArray[np.float64]


def conditional(X: list[Any], y: list[Any], C: float, boundaries: bool) -> ConditionalProblem:
    other = problem_of(X, y, C, boundaries=boundaries)
    return ConditionalProblem(
        other.rows, other.first, other.label, other.cost, other.mistake, boundaries
    )


def objective(w: Array, X: list[Any], y: list[Any], C: float, boundaries: bool) -> float:
    total = 0.5 * float(np.vdot(w, w))
    for x, own in zip(X, y, strict=True):
        scores = [
            float(np.vdot(w, features(x, z, 3, boundaries)))
            for z in product(range(3), repeat=len(own))
        ]
        total += C * (logsumexp(scores) - float(np.vdot(w, features(x, own, 3, boundaries))))
    return total


@pytest.mark.parametrize("boundaries", [True, False])
def test_losses_gradient_and_dual_by_enumeration(boundaries: bool) -> None:
    X, y = small_sequences(1)
    problem = conditional(X, y, 0.7, boundaries)
    random = np.random.default_rng(0)
    w = np.zeros(problem.shape)
    w[:, :3] = random.normal(size=(problem.shape[0], 3))
    if not boundaries:
        w[-2:] = 0.0
    excess, _, combination = problem.gibbs(w)
    exact = objective(w[:, :3], X, y, 0.7, boundaries)
    assert 0.5 * float(np.vdot(w, w)) + problem.cost @ excess == pytest.approx(exact, rel=1e-13)
    for place in [(0, 0), (3, 2), (5, 1), (-3, 0)]:
        moved = [w.copy(), w.copy()]
        moved[0][place] += 1e-5
        moved[1][place] -= 1e-5
        values = [objective(m[:, :3], X, y, 0.7, boundaries) for m in moved]
        slope = (values[0] - values[1]) / 2e-5
        assert w[place] - combination[place] == pytest.approx(slope, abs=1e-7)
    # The dual value at weights, at the same scores as potentials, which are rounded to single
    # precision, and its bound.
    judged, certificate = problem.certify(Point(w, None, w))
    assert certificate.primal >= exact - 1e-12
    assert certificate.gap == pytest.approx(0.5 * float(np.vdot(w - combination, w - combination)))
    potentials = problem.potentials_at(w)
    other = problem.certify(Point(w, None, potentials))[1]
    assert other.dual == pytest.approx(certificate.dual, rel=1e-7)
    place = problem.certify_in_place(Point(np.ones(problem.shape), None, potentials))
    combination = problem.potentials(potentials)[2]
    np.testing.assert_array_equal(place[0].w, combination)
    assert place[1].dual == other.dual
    again = problem.certify(Point(combination, None, potentials))[1]
    assert place[1].primal == again.primal
    np.testing.assert_array_equal(problem.losses(w)[0], excess)
    assert judged.alpha is w


@pytest.mark.parametrize("spread", [100.0, 400.0, 650.0])
@pytest.mark.parametrize("words", [1, 3])
def test_edges_whose_products_vanish(spread: float, words: int) -> None:
    # Edges against the label that the rows' scores want: e^(-2 spread) is less than any number.
    X = [np.ones((words, 1)), np.ones((3, 1))]
    problem = conditional(X, [np.zeros(words, int), np.arange(3)], 1.0, True)
    nodes = np.zeros((problem.rows.count, problem.classes), np.float32)
    nodes[:, 0] = 1e9
    edges = np.zeros((problem.count, problem.classes + 2, problem.classes), np.float32)
    edges[:, :, 1] = spread
    alpha = Potentials(nodes, edges.reshape(problem.count, -1))
    certificate = problem.certify(Point(np.zeros(problem.shape), None, alpha))[1]
    entropies = problem.potentials(alpha)[0]
    assert certificate.dual <= float(problem.cost @ problem.lengths) * np.log(3.0)
    assert np.isfinite(certificate.dual)
    np.testing.assert_allclose(entropies, 0.0, atol=1e-5)


@pytest.mark.parametrize("spread", [50.0, 150.0, 164.0, 250.0, 320.0, 1e3, 1e5])
@pytest.mark.parametrize("boundaries", [False, True])
def test_losses_and_marginals_with_edges_far_apart(spread: float, boundaries: bool) -> None:
    """With edges up to e^653 apart a loss was 11 too small: unlikely labels had been lost."""
    random = np.random.default_rng(int(spread))
    k, lengths = 4, [1, 2, 10, 25]
    X = [random.standard_normal((length, 3)) for length in lengths]
    y = [random.integers(k, size=length) for length in lengths]
    y[3][:k] = range(k)
    problem = conditional(X, y, 1.0, boundaries)
    w = np.zeros(problem.shape)
    w[:3, :k] = spread * random.standard_normal((3, k))
    edges = random.uniform(-0.5, 0.5, (k + 2, k)) * spread
    w[3:, :k] = edges if boundaries else np.vstack([edges[:k], np.zeros((2, k))])
    excess, _ = problem.losses(w)
    found = marginals(w, problem.rows, problem.first, k)
    for x, own, begin, loss in zip(X, y, problem.first, excess, strict=False):
        nodes, inner = x @ w[:3, :k], w[3 : 3 + k, :k]
        before, after = [w[3 + k, :k] + nodes[0]], [w[4 + k, :k]]
        for node in nodes[1:]:
            before.append(logsumexp(before[-1][:, None] + inner, axis=0) + node)
        for node in nodes[:0:-1]:
            after.append(logsumexp(inner + (node + after[-1]), axis=1))
        logs = np.array(before) + np.array(after[::-1])
        total = logsumexp(logs[-1])
        score = float(nodes[np.arange(len(own)), own].sum() + inner[own[:-1], own[1:]].sum())
        score += float(w[3 + k, own[0]] + w[4 + k, own[-1]])
        assert loss == pytest.approx(total - score, rel=1e-9, abs=1e-10 * spread)
        expected = np.exp(logs - total)
        np.testing.assert_allclose(found[begin : begin + len(x)], expected, atol=1e-10 * spread)
    # What is computed in logarithms proves as much: the gap at weights is that of the gradient.
    _, certificate = problem.certify(Point(w, None, w))
    difference = w - problem.gibbs(w)[2]
    assert certificate.gap == pytest.approx(0.5 * float(np.vdot(difference, difference)), rel=1e-6)
    assert certificate.primal >= 0.5 * float(np.vdot(w, w))


@pytest.mark.parametrize("solver", ["exponentiated_gradient", "lbfgs"])
def test_optimum(solver: str) -> None:
    X, y = small_sequences(4, sentences=8)
    model = SequenceCRF(C=0.5, tol=1e-7, solver=solver).fit(X, y)
    shape = (4 + 3 + 2, 3)
    every = [
        (
            np.array([features(x, z, 3).ravel() for z in product(range(3), repeat=len(own))]),
            features(x, own, 3).ravel(),
        )
        for x, own in zip(X, y, strict=True)
    ]

    def fast(w: Array) -> tuple[float, Array]:
        value, gradient = 0.5 * float(w @ w), w.copy()
        for all_of_them, right in every:
            scores = all_of_them @ w
            total = logsumexp(scores)
            value += 0.5 * (total - float(right @ w))
            gradient += 0.5 * (np.exp(scores - total) @ all_of_them - right)
        return value, gradient

    best = minimize(fast, np.zeros(27), jac=True, options={"gtol": 1e-9}).fun
    assert best == pytest.approx(
        objective(minimize(fast, np.zeros(27), jac=True).x.reshape(shape), X, y, 0.5, True)
    )
    certificate = model.certificate_
    assert certificate.relative_gap <= 1e-7
    assert certificate.dual <= best * (1.0 + 1e-9)
    assert best * (1.0 - 1e-9) <= certificate.primal + 1e-6 * best
    found = model.predict_marginals(X)
    assert found[2].sum(axis=1) == pytest.approx(np.ones(len(X[2])))
    scores = {
        z: float(np.vdot(model._weights[:, :3], features(X[2], z, 3)))
        for z in product(range(3), repeat=len(y[2]))
    }
    total = logsumexp(list(scores.values()))
    first = sum(np.exp(s - total) for z, s in scores.items() if z[0] == 1)
    assert found[2][0, 1] == pytest.approx(first)


def test_even_probabilities_have_the_largest_entropy() -> None:
    X, y = small_sequences(2)
    problem = conditional(X, y, 1.0, True)
    zeros = np.zeros((problem.count, 5 * 3), np.float32)
    nodes = np.zeros((problem.rows.count, 3), np.float32)
    entropy = problem.potentials(Potentials(nodes, zeros))[0]
    assert entropy == pytest.approx(problem.lengths * np.log(3.0))


def test_objective_of_crfsuite() -> None:
    crfsuite = pytest.importorskip("pycrfsuite")
    import re
    import tempfile
    from pathlib import Path

    X, y = small_sequences(5, sentences=30, longest=6)
    X = [np.abs(x) for x in X]  # CRFsuite drops features whose values add up to less than zero
    trainer = crfsuite.Trainer(algorithm="lbfgs", verbose=True)
    for x, labels in zip(X, y, strict=True):
        items = [{f"f{j}": float(v) for j, v in enumerate(row)} for row in x]
        trainer.append(crfsuite.ItemSequence(items), [str(label) for label in labels])
    trainer.set_params(
        {
            "c1": 0.0,
            "c2": 1.0,
            "feature.possible_states": True,
            "feature.possible_transitions": True,
            "epsilon": 1e-9,
            "delta": 1e-12,
            "max_iterations": 2000,
        }
    )
    lines: list[str] = []
    trainer.message = lines.append
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(str(Path(folder, "model")))
    losses = [float(v) for v in re.findall(r"Loss: ([0-9.]+)", "".join(lines))]
    model = SequenceCRF(C=0.5, boundaries=False, tol=1e-8).fit(X, y)
    assert 2.0 * model.certificate_.primal == pytest.approx(min(losses), rel=1e-6)


def test_batches_do_not_depend_on_threads() -> None:
    random = np.random.default_rng(4)
    y = [np.cumsum(random.random(n) < 0.4) % 3 for n in random.integers(1, 5, 1700)]
    y.append(np.cumsum(random.random(90) < 0.3) % 3)  # its rows' products are not kept
    X = [np.eye(3)[labels] + 0.9 * random.normal(size=(labels.size, 3)) for labels in y]
    one = SequenceCRF(C=0.05, tol=1e-5).fit(X, y)
    assert one.certificate_.relative_gap <= 1e-5
    for threads in (2, 3):
        more = SequenceCRF(C=0.05, tol=1e-5, n_jobs=threads).fit(X, y)
        assert np.array_equal(more.coef_, one.coef_)
        assert np.array_equal(more.transition_, one.transition_)
        assert more.n_iter_ == one.n_iter_


def test_every_step_of_a_batch_gains() -> None:
    # Few features that all sentences share: what they propose side by side is far too much.
    random = np.random.default_rng(5)
    y = [np.cumsum(random.random(n) < 0.4) % 3 for n in random.integers(1, 5, 1200)]
    X = [np.eye(3)[labels] + 0.9 * random.normal(size=(labels.size, 3)) for labels in y]
    problem = conditional(X, y, 5.0, True)
    method = ExponentiatedGradient()
    state = method.start(problem, None, Settings(tol=1e-6, seed=0))
    last = -np.inf
    for _ in range(5):
        method.advance(state)
        point = state.point
        # Weights and entropy follow each step by hand; the pass over all sentences does not.
        entropy, _, weights = problem.potentials(point.alpha)
        np.testing.assert_allclose(state.weights, weights, rtol=0.0, atol=1e-9)
        dual = float(problem.cost @ entropy) - 0.5 * float(np.vdot(weights, weights))
        assert dual > last
        last = dual
    assert state.sweeps.again > 0
