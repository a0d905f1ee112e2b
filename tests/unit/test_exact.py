"""The exact judge against plain fractions, formula by formula, and against false claims."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris

from widemargin import (
    KernelSVC,
    LinearSVC,
    LinearSVCCV,
    LogisticRegression,
    RobustSVC,
    RobustSVCCV,
    verify_exactly,
)
from widemargin.exact.binary import ExactBinary
from widemargin.exact.bounds import Bounds
from widemargin.exact.integers import (
    ExactRows,
    Scaled,
    float_above,
    float_below,
    root_above,
    root_below,
)
from widemargin.exact.losses import EXACT_LOSSES
from widemargin.exact.multinomial import ExactMultinomial
from widemargin.exact.robust import ExactRobust, squared_distance
from widemargin.exact.verdict import ExactCertificate

HARD = np.array([0.1, -3.0, 5e-324, 1e300, -0.0, 2.0**40 + 0.125, 1.0 / 3.0])


def fractions(values: object) -> list[Fraction]:
    return [Fraction(float(value)) for value in np.asarray(values).ravel()]


def random_numbers(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.normal(size=shape) * 2.0 ** random.integers(-30, 30, size=shape)


def test_numbers_are_converted_without_rounding() -> None:
    scaled = Scaled.of(HARD)
    assert [Fraction(int(v)) * Fraction(2) ** scaled.exponent for v in scaled.values] == fractions(
        HARD
    )
    assert scaled.total() == sum(fractions(HARD))
    np.testing.assert_array_equal(scaled.floats(), HARD)
    with pytest.raises(ValueError, match="no exact value"):
        Scaled.of([np.nan])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csr_array, sp.csc_matrix])
def test_products(make: object) -> None:
    random = np.random.default_rng(1)
    X = random_numbers(random, 5, 4) * (random.random((5, 4)) < 0.6)
    X[2] = 0.0
    rows = ExactRows(make(X))  # type: ignore[operator]
    w, a = random_numbers(random, 4), random_numbers(random, 5)
    scores = rows.scores(Scaled.of(w))
    combination = rows.combine(Scaled.of(a))
    for i in range(5):
        expected = sum(map(Fraction.__mul__, fractions(X[i]), fractions(w)), Fraction(0))
        assert int(scores.values[i]) * Fraction(2) ** scores.exponent == expected
    for j in range(4):
        expected = sum(map(Fraction.__mul__, fractions(X[:, j]), fractions(a)), Fraction(0))
        assert int(combination.values[j]) * Fraction(2) ** combination.exponent == expected
    longest = max(sum(x * x for x in fractions(row)) for row in X)
    assert rows.largest_squared_norm() == longest
    farthest = max(
        sum((x - m) ** 2 for x, m in zip(fractions(row), fractions(w), strict=True)) for row in X
    )
    assert rows.largest_squared_distance(Scaled.of(w)) == farthest


@pytest.mark.parametrize("number", [Fraction(2), Fraction(9, 4), Fraction(1, 3), Fraction(0)])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(2) ** 300, Fraction(1, 2**700)])
def test_roots(number: Fraction, scale: Fraction) -> None:
    number = number * scale
    low, high = root_below(number), root_above(number)
    assert low * low <= number <= high * high
    assert high - low <= high / 2**190


def test_rounding_outwards() -> None:
    third = Fraction(1, 3)
    assert float_below(third) < third < float_above(third)
    assert nextafter(float_below(third), inf) == float_above(third)
    assert float_above(Fraction(5, 4)) == float_below(Fraction(5, 4)) == 1.25
    assert float_above(Fraction(10) ** 400) == inf
    assert float_below(Fraction(10) ** 400) < inf


def binary(loss: str, free: bool, scaling: float = 0.0, seed: int = 0) -> tuple:
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(12, 3)), np.where(random.random(12) < 0.5, -1.0, 1.0)
    cost = random.exponential(size=12)
    exact = ExactBinary.of(ExactRows(X), y, cost, EXACT_LOSSES[loss], free, scaling)
    return exact, X, y, cost, random


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("scaling", [0.0, 3.0])
def test_binary_values(loss: str, scaling: float) -> None:
    exact, X, y, cost, random = binary(loss, free=False, scaling=scaling)
    w, b, alpha = random.normal(size=3), 0.7, cost * random.random(12)
    power = 2 if loss == "squared_hinge" else 1
    primal = sum(x * x for x in fractions(w)) / 2
    v = [Fraction(0)] * 3
    dual, residual = Fraction(0), Fraction(0)
    for i in range(12):
        x, c, a = fractions(X[i]), Fraction(cost[i]), Fraction(alpha[i])
        m = int(y[i]) * (sum(map(Fraction.__mul__, x, fractions(w))) + Fraction(b))
        primal += c * max(Fraction(0), 1 - m) ** power
        dual += a - (a * a / (4 * c) if power == 2 else 0)
        v = [p + int(y[i]) * a * q for p, q in zip(v, x, strict=True)]
        residual += int(y[i]) * a
    square = sum(p * p for p in v)
    if scaling:
        primal += (Fraction(b) / Fraction(scaling)) ** 2 / 2
        square += (Fraction(scaling) * residual) ** 2
    assert exact.primal(w, b) == Bounds.exactly(primal)
    found = exact.dual(alpha)
    assert found.in_range
    assert found.value.lower <= dual - square / 2 <= found.value.upper
    assert found.value.upper - found.value.lower <= Fraction(1, 2**200)


def test_logistic_values() -> None:
    exact, X, y, cost, random = binary("logistic", free=False)
    w, alpha = random.normal(size=3), cost * random.random(12)
    margins = y * (X @ w + 0.2)
    primal = 0.5 * w @ w + cost @ np.logaddexp(0.0, -margins)
    v = X.T @ (alpha * y)
    entropy = cost * np.log(cost) - alpha * np.log(alpha) - (cost - alpha) * np.log(cost - alpha)
    found = exact.primal(w, 0.2)
    assert float(found.lower) == pytest.approx(primal, rel=1e-14)
    assert 0 < found.upper - found.lower < Fraction(1, 2**150)
    dual = exact.dual(alpha).value
    assert float(dual.upper) == pytest.approx(entropy.sum() - 0.5 * v @ v, rel=1e-13)
    assert 0 < dual.upper - dual.lower < Fraction(1, 2**150)
    # Margins that exp cannot take, and dual variables at the ends of their range.
    far = exact.primal(1e300 * np.ones(3), 0.0)
    assert far.lower > Fraction(10) ** 290
    assert exact.dual(np.where(y > 0, cost, 0.0)).value.upper < 10


@pytest.mark.parametrize("free", [False, True])
def test_multinomial_values(free: bool) -> None:
    random = np.random.default_rng(2)
    X, label = random.normal(size=(9, 3)), np.arange(9) % 3
    cost = random.exponential(size=9)
    exact = ExactMultinomial(ExactRows(X), label, Scaled.of(cost), 3, False, free, 0.0)
    primals = []
    for _ in range(10):
        w, b = random.normal(size=(3, 3)), random.normal(size=3) * free
        scores = X @ w.T + b
        losses = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(9), label]
        found = exact.primal(w, b)
        assert float(found.upper) == pytest.approx(0.5 * (w**2).sum() + cost @ losses, rel=1e-13)
        assert 0 < found.upper - found.lower < Fraction(1, 2**150)
        primals.append(found.lower)
    for _ in range(10):
        A = random.dirichlet(np.ones(3), size=9) * cost[:, None]
        rivals = A.copy()
        rivals[np.arange(9), label] = 0.0
        bound = exact.dual(rivals, min(primals)).value
        assert bound.upper <= min(primals)
        if not free:
            factors = -A
            factors[np.arange(9), label] += cost
            dual = -(A * np.log(A / cost[:, None])).sum() - 0.5 * ((factors.T @ X) ** 2).sum()
            assert float(bound.lower) == pytest.approx(dual, rel=1e-12)


@pytest.mark.parametrize("loss", list(EXACT_LOSSES))
def test_a_free_intercept_is_mended_and_stays_below_every_objective(loss: str) -> None:
    for seed in range(5):
        exact, _, y, cost, random = binary(loss, free=True, seed=seed)
        lowest = min(
            exact.primal(random.normal(size=3), float(b)).upper for b in np.linspace(-2, 2, 40)
        )
        for _ in range(10):
            alpha = cost * random.random(12) * 10.0 ** random.integers(-3, 1)
            found = exact.dual(alpha, lowest)
            assert found.residual == abs(
                sum(map(Fraction.__mul__, fractions(alpha), fractions(y)), Fraction(0))
            )
            assert found.value.upper <= lowest
        # What is nearly balanced loses nearly nothing.
        alpha[y > 0] *= alpha[y < 0].sum() / alpha[y > 0].sum()
        alpha = np.minimum(alpha, cost * 0.99)
        even = alpha.copy()
        even[y > 0] *= even[y < 0].sum() / even[y > 0].sum()
        if (even < cost).all():
            v = exact.rows.matrix.T @ (even * y)
            plain = float(EXACT_LOSSES[loss].dual_total(Scaled.of(even), exact.cost).lower)
            expected = plain - 0.5 * v @ v
            assert float(exact.dual(even).value.lower) == pytest.approx(expected, abs=1e-12)


def test_dual_variables_outside_their_range_are_clipped_and_told() -> None:
    exact, _, _, cost, _ = binary("hinge", free=False)
    outside = cost.copy()
    outside[3] = nextafter(cost[3], inf)
    assert exact.dual(cost).in_range
    found = exact.dual(outside)
    assert not found.in_range
    assert found.value == exact.dual(cost).value


@pytest.mark.parametrize("norm", [1.0, 2.0, inf])
def test_distance_to_a_ball(norm: float) -> None:
    v = np.array([3.0, -1.0, 0.5, 0.0])
    scale, radius = Fraction(1, 2), Fraction(3, 4)
    found = squared_distance(Scaled.of(v), scale, radius, norm)
    sizes = 0.5 * np.abs(v)
    if norm == 1.0:
        expected = (np.maximum(sizes - 0.75, 0.0) ** 2).sum()
    elif norm == 2.0:
        expected = (np.linalg.norm(sizes) - 0.75) ** 2
    else:  # 1.5, .5, .25 lowered by .75 down to 0 has the norm .75
        expected = 0.75**2 + 0.5**2 + 0.25**2
    assert float(found.lower) == pytest.approx(expected, rel=1e-14)
    assert found.lower <= found.upper <= found.lower + Fraction(1, 2**150)


@pytest.mark.parametrize("norm", [1.0, 2.0, inf])
@pytest.mark.parametrize("label_cost", [0.7, inf])
@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("free", [False, True])
def test_robust_duality(norm: float, label_cost: float, l2: float, free: bool) -> None:
    """P at any point, λ by brute force, is above D at any other."""
    random = np.random.default_rng(3)
    X, y = random.normal(size=(9, 3)), np.where(np.arange(9) % 2, 1.0, -1.0)
    weight = np.full(9, 1.0 / 9.0)
    signs = y.astype(np.int64).astype(object)
    exact = ExactRobust(ExactRows(X), signs, Scaled.of(weight), 0.2, label_cost, norm, l2, free)
    primals = []
    for _ in range(10):
        w, b = random.normal(size=3) * 0.5, float(random.normal()) * free
        margins = y * (X @ w + b)
        prices = np.linalg.norm(w, norm) + np.linspace(0.0, 5.0, 5001)
        losses = np.maximum(1.0 - margins, 0.0)[:, None]
        if label_cost < inf:
            losses = np.maximum(losses, 1.0 + margins[:, None] - label_cost * prices)
        brute = (0.2 * prices + weight @ np.broadcast_to(losses, (9, 5001))).min()
        found = exact.primal(w, b)
        assert found.lower <= found.upper <= found.lower + Fraction(1, 2**150)
        assert float(found.upper) == pytest.approx(brute + 0.5 * l2 * w @ w, abs=1e-3)
        assert float(found.upper) <= brute + 0.5 * l2 * w @ w + 1e-12
        primals.append(found.lower)
    for _ in range(10):
        keep, flip = random.random((2, 9)) / 15.0
        assert exact.dual(keep, flip).value.upper <= min(primals)


MODELS = [
    *[LinearSVC(loss, fit_intercept=b) for loss in ("hinge", "squared_hinge") for b in (0, 1)],
    LinearSVC("hinge", fit_intercept="penalised", class_weight="balanced"),
    LogisticRegression(),
    LogisticRegression(fit_intercept="penalised"),
    LogisticRegression(fit_intercept=False, C=30.0),
    LogisticRegression(multi_class="ovr"),
    LinearSVC("hinge", multi_class="weston_watkins"),
    LinearSVC("hinge", multi_class="crammer_singer", fit_intercept="penalised"),
    LinearSVCCV(Cs=[0.1, 1.0]),
    RobustSVC(),
    RobustSVC(norm=1, label_cost=2.0, l2=0.1),
    RobustSVCCV(radii=[0.05, 0.5]),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_models_agree_with_the_judge(model: LinearSVC, classes: int) -> None:
    """To rounding: whether a claim holds to the last bit is for tests/certificate to say."""
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 2 - classes], y[y > 2 - classes]
    if isinstance(model.fit_intercept, int):
        model.fit_intercept = bool(model.fit_intercept)
    weight = np.linspace(0.5, 2.0, y.size)
    model.fit(X, y, sample_weight=weight)
    report = verify_exactly(model, X, y, weight)
    assert len(report.problems) == len(model.primal_)
    for problem in report.problems:
        assert float(problem.exact_primal.upper) == pytest.approx(problem.primal, rel=1e-10)
        assert float(problem.exact_dual.lower) == pytest.approx(problem.dual, rel=1e-9)
        assert problem.gap >= 0
        assert problem.relative_gap <= 1.0001e-4
    model.primal_ = model.primal_ * (1.0 + 1e-9)
    model.dual_ = model.dual_ * (1.0 - 1e-9)
    report = verify_exactly(model, X, y, weight)
    assert report, str(report)
    model.primal_ = model.primal_ * (1.0 - 1e-8)
    assert [p.verdict for p in verify_exactly(model, X, y, weight).problems] == ["false"] * len(
        report.problems
    )


@pytest.mark.parametrize("intercept", [True, "penalised", False])
@pytest.mark.parametrize("left", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        LinearSVC("hinge", multi_class="crammer_singer"),
        LogisticRegression(multi_class="ovr"),
        LogisticRegression(),
    ],
    ids=str,
)
def test_classes_without_a_weight_are_left_out(model: LinearSVC, left: int, intercept: Any) -> None:
    random = np.random.default_rng(left)
    X, y = random.normal(size=(40, 4)), random.integers(0, left + 1, 40)
    weight = np.where(y == 1, 0.0, random.uniform(0.5, 2.0, 40))
    model = clone(model).set_params(fit_intercept=intercept, tol=1e-3).fit(X, y, weight)
    report = verify_exactly(model, X, y, weight)
    assert report
    assert all(0.0 <= problem.relative_gap <= 1e-3 for problem in report.problems)


def test_verdicts() -> None:
    def of(primal: float, dual: float) -> str:
        exact = Bounds.exactly(Fraction(1)), Bounds.exactly(Fraction(1, 2))
        return ExactCertificate("a", primal, dual, *exact, Fraction(0), True).verdict

    assert of(1.0, 0.5) == "true"
    assert of(nextafter(1.0, 0.0), 0.5) == "false"
    assert of(1.0, nextafter(0.5, 1.0)) == "not proved"
    assert of(1.0, nextafter(1.0, 2.0)) == "false"
    assert of(inf, -inf) == "true"
    assert of(float("nan"), 0.5) == of(1.0, float("nan")) == "false"


def test_what_cannot_be_checked_is_refused() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="KernelSVC cannot be checked exactly"):
        verify_exactly(KernelSVC().fit(X, y), X, y)
    model = LinearSVC().fit(X, y)
    with pytest.raises(ValueError, match="fitted on 150 rows of 4 features"):
        verify_exactly(model, X[:-1], y[:-1])
    with pytest.raises(ValueError, match="other classes"):
        verify_exactly(model, X, y + 1)


def test_a_loss_far_below_every_number_takes_little_memory() -> None:
    """log(1 + exp(−2³⁴)) has billions of bits below the point."""
    pytest.importorskip("flint")
    loss = EXACT_LOSSES["logistic"].total(Scaled.of([2.0**34]), Scaled.of([1.0]))
    assert 0 <= loss.lower <= loss.upper <= Fraction(1, 1 << 4000)
