"""What must not change the answer, over problems that hypothesis draws."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from oracle import INTERCEPTS, LOSSES, SERVES, Oracle, estimator
from widemargin.instruction_sets import core

TOL = 1e-9


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, str, Any]:
    """Data, labels, integer weights, C, loss and intercept."""
    seed = draw(st.integers(0, 2**32 - 1))
    n, d = draw(st.integers(4, 40)), draw(st.integers(1, 12))
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(n, d)) * draw(st.sampled_from([0.1, 1.0, 5.0])), 2)
    if draw(st.booleans()):
        X *= random.random((n, d)) < 0.5
    y = random.choice([-1.0, 1.0], size=n)
    if draw(st.booleans()):  # a signal to learn
        y = np.where(X[:, 0] + 0.1 * random.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weight = random.integers(0, 4, size=n).astype(float)
    weight[:2] = 1.0, 2.0
    C = draw(st.sampled_from([0.01, 0.3, 2.0]))
    return X, y, weight, C, draw(st.sampled_from(LOSSES)), draw(st.sampled_from(INTERCEPTS))


def fit(X: np.ndarray, y: np.ndarray, weight: Any = None, tol: float = TOL, **more: Any) -> Any:
    loss = more.pop("loss")
    model = estimator(loss, tol=tol, max_iter=more.pop("max_iter", 20_000), **more)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        return model.fit(np.ascontiguousarray(X), y, sample_weight=weight)


def assert_same_answer(one: Any, other: Any, factor: float = 1.0) -> None:
    """Equal objectives to the gap, and weights to the distance that the gaps allow.

    ½‖w − w*‖² ≤ P(w) − P* for each of the two, so they lie at most 2 √(2 gap) apart; rounding of P
    adds to the gap.
    """
    P = one.primal_[0]
    assert abs(P - other.primal_[0] * factor) <= 2 * TOL * P
    distance = np.linalg.norm(one.coef_ - other.coef_ * np.sqrt(factor))
    assert distance <= 2 * np.sqrt(2 * (TOL + 1e-14) * P)


@given(problems())
def test_weight_is_multiplicity(case: Any) -> None:
    """Weight 2 is the row twice, weight 0 is no row."""
    X, y, weight, C, loss, intercept = case
    times = weight.astype(int)
    weighted = fit(X, y, weight, C=C, loss=loss, fit_intercept=intercept)
    repeated = fit(
        np.repeat(X, times, axis=0), np.repeat(y, times), C=C, loss=loss, fit_intercept=intercept
    )
    assert_same_answer(weighted, repeated)
    assert (weighted.dual_coef_[0, weight == 0] == 0.0).all()
    assert not set(weighted.support_) & set(np.flatnonzero(weight == 0))


@given(problems())
def test_zero_weight_is_no_row(case: Any) -> None:
    X, y, weight, C, loss, intercept = case
    kept = weight > 0
    one = fit(X, y, weight, C=C, loss=loss, fit_intercept=intercept)
    other = fit(X[kept], y[kept], weight[kept], C=C, loss=loss, fit_intercept=intercept)
    assert_same_answer(one, other)


@given(problems(), st.randoms(use_true_random=False))
def test_order_of_rows_and_columns(case: Any, random: Any) -> None:
    """The dual variables come back in the order of the rows that were given."""
    X, y, weight, C, loss, intercept = case
    rows, columns = list(range(y.size)), list(range(X.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    one = fit(X, y, weight, C=C, loss=loss, fit_intercept=intercept)
    other = fit(X[rows][:, columns], y[rows], weight[rows], C=C, loss=loss, fit_intercept=intercept)
    other.coef_ = other.coef_[:, np.argsort(columns)]
    assert_same_answer(one, other)
    other.dual_coef_ = other.dual_coef_[:, np.argsort(rows)]
    Oracle(X, y, C * weight, loss, intercept).check(other, TOL)


@given(problems(), st.sampled_from([1e-3, 0.1, 7.0, 1e3]))
def test_change_of_units(case: Any, s: float) -> None:
    """X → sX with C → C/s² (and the constant feature → s): w → w/s, P → P/s², b stays."""
    X, y, weight, C, loss, intercept = case
    scaling = s if intercept == "penalised" else 1.0
    one = fit(X, y, weight, C=C, loss=loss, fit_intercept=intercept)
    other = fit(
        s * X, y, weight, C=C / s**2, loss=loss, fit_intercept=intercept, intercept_scaling=scaling
    )
    assert_same_answer(one, other, factor=s**2)


@given(problems())
def test_labels_flipped(case: Any) -> None:
    """y → −y: w → −w, b → −b, the same α."""
    X, y, weight, C, loss, intercept = case
    one = fit(X, y, weight, C=C, loss=loss, fit_intercept=intercept)
    other = fit(X, -y, weight, C=C, loss=loss, fit_intercept=intercept)
    other.coef_ = -other.coef_
    assert_same_answer(one, other)


@given(problems())
def test_features_flipped(case: Any) -> None:
    """X → −X: w → −w."""
    X, y, weight, C, loss, intercept = case
    one = fit(X, y, weight, C=C, loss=loss, fit_intercept=intercept)
    other = fit(-X, y, weight, C=C, loss=loss, fit_intercept=intercept)
    other.coef_ = -other.coef_
    assert_same_answer(one, other)


@given(problems())
def test_a_column_of_zeros_changes_nothing(case: Any) -> None:
    X, y, weight, C, loss, intercept = case
    one = fit(X, y, weight, C=C, loss=loss, fit_intercept=intercept)
    wider = np.hstack([X, np.zeros((y.size, 1))])
    other = fit(wider, y, weight, C=C, loss=loss, fit_intercept=intercept)
    assert other.coef_[0, -1] == 0.0
    other.coef_ = other.coef_[:, :-1]
    assert_same_answer(one, other)


@given(problems(), st.sampled_from([-10.0, -3.0, 0.5, 10.0]))
def test_exact_intercept_does_not_mind_a_shift(case: Any, shift: float) -> None:
    """X → X + shift: an unpenalised b takes it up."""
    X, y, weight, C, loss, _ = case
    one = fit(X, y, weight, C=C, loss=loss)
    other = fit(X + shift, y, weight, C=C, loss=loss)
    assert_same_answer(one, other)


@given(problems())
def test_weights_and_cost_trade(case: Any) -> None:
    """C and a constant factor on the weights are one thing."""
    X, y, weight, C, loss, intercept = case
    one = fit(X, y, 4.0 * weight, C=C, loss=loss, fit_intercept=intercept)
    other = fit(X, y, weight, C=4.0 * C, loss=loss, fit_intercept=intercept)
    np.testing.assert_array_equal(one.coef_, other.coef_)  # a power of two: no rounding at all


@given(problems(), st.sampled_from(["auto", *SERVES]), st.sampled_from([1, 3, 20_000]))
def test_warm_start_never_ends_worse(case: Any, solver: str, steps: int) -> None:
    X, y, weight, C, loss, intercept = case
    assume(solver == "auto" or loss in SERVES[solver])
    model = estimator(
        loss, C=C, fit_intercept=intercept, solver=solver, tol=1e-6, max_iter=steps, warm_start=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        first = model.fit(X, y, weight).certificate_
        iterations, status = np.max(model.n_iter_), model.status_[0]
        second = model.fit(X, y, weight).certificate_
    rounding = 1e-14 * first.primal
    assert second.primal <= first.primal + rounding
    assert second.dual >= first.dual - rounding
    if status == "converged":
        assert model.status_ == ["converged"]
        assert np.max(model.n_iter_) <= iterations


@given(problems(), st.sampled_from([0.5, 2.0, 100.0]))
def test_warm_start_from_another_cost(case: Any, ratio: float) -> None:
    """A start at the answer for another C leads to the answer for this one."""
    X, y, weight, C, loss, intercept = case
    model = fit(X, y, weight, C=C, loss=loss, fit_intercept=intercept, warm_start=True)
    model.set_params(C=C * ratio).fit(X, y, sample_weight=weight)
    assert_same_answer(model, fit(X, y, weight, C=C * ratio, loss=loss, fit_intercept=intercept))


@given(problems())
@settings(max_examples=100)
def test_certificate_is_true(case: Any) -> None:
    X, y, weight, C, loss, intercept = case
    model = fit(X, y, weight, C=C, loss=loss, fit_intercept=intercept, tol=1e-7)
    Oracle(X, y, C * weight, loss, intercept).check(model, 1e-7)


@st.composite
def projections(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Two points, signs and bounds, with ties and zeros among them."""
    n = draw(st.integers(1, 30))
    numbers = st.one_of(
        st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0]),
        st.floats(-1e6, 1e6, allow_subnormal=False),
    )
    bounds = st.one_of(
        st.sampled_from([0.0, 1.0, np.inf]), st.floats(0.0, 1e6, allow_subnormal=False)
    )
    signs = st.sampled_from([-1.0, 1.0])

    def vector(of: Any) -> np.ndarray:
        return np.array(draw(st.lists(of, min_size=n, max_size=n)), dtype=float)

    return vector(numbers), vector(numbers), vector(signs), vector(bounds)


def project(a: np.ndarray, sign: np.ndarray, upper: np.ndarray) -> np.ndarray:
    out = a.copy()
    core.project_box_equality(out, sign, upper)
    return out


@given(projections())
@settings(max_examples=300)
def test_projection(case: Any) -> None:
    """Feasible, idempotent, nonexpansive, and no farther than any other feasible point."""
    a, other, sign, upper = case
    size = 1.0 + np.abs(a).max() + np.abs(other).max()
    p, q = project(a, sign, upper), project(other, sign, upper)
    for point in (p, q):
        assert (point >= 0.0).all()
        assert (point <= upper).all()
        assert abs(float(point @ sign)) <= 1e-12 * size
    np.testing.assert_allclose(project(p, sign, upper), p, atol=1e-12 * size)
    assert np.linalg.norm(p - q) <= np.linalg.norm(a - other) + 1e-11 * size
    # The angle at the projection is not acute: (a − p)·(q − p) ≤ 0 for the feasible q.
    assert float((a - p) @ (q - p)) <= 1e-10 * size * size
