"""The path over C: as good as fits from nothing, for less work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from oracle import INTERCEPTS, LOSSES, PAIRS, Oracle, make_data
from widemargin import LinearSVC, Path, path
from widemargin.data.rows import Rows
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import HINGE

Cs = 2.0 ** np.arange(-10, 11)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_every_point_has_its_certificate(loss: str, intercept: Any) -> None:
    X, y = make_data((120, 6))
    tol = 1e-6
    over = path(X, y, Cs, loss=loss, fit_intercept=intercept, tol=tol)
    assert over.converged
    assert len(over) == 21
    for place, C in enumerate(Cs):
        oracle = Oracle(X, y, np.full(120, C), loss, intercept)
        w, b = over.coefs[place, 0], float(over.intercepts[place, 0])
        P, D = oracle.primal(w, b), oracle.dual(over.solutions[place][0].alpha)
        assert tol * P + oracle.rounding(w, b) >= P - D
        assert abs(over.certificates[place].primal - P) <= oracle.rounding(w, b)


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_equals_the_cold_path(solver: str, loss: str) -> None:
    """Both certify the same optimum: the better primal lies above the other's dual."""
    X, y = make_data((100, 5))
    some = [0.01, 0.1, 1.0, 10.0]
    warm = path(X, y, some, loss=loss, solver=solver, tol=1e-7, max_iter=20_000)
    cold = path(X, y, some, loss=loss, solver=solver, tol=1e-7, max_iter=20_000, warm=False)
    for one, other in zip(warm.certificates, cold.certificates, strict=True):
        assert one.relative_gap <= 1e-7
        assert other.relative_gap <= 1e-7
        assert one.dual <= other.primal
        assert other.dual <= one.primal


@pytest.mark.parametrize(
    ("loss", "solver"), [("squared_hinge", "auto"), ("logistic", "auto"), ("logistic", "dual_cd")]
)
@pytest.mark.parametrize("shape", [(2000, 30), (400, 60)])
def test_warm_starts_save_passes(loss: str, solver: str, shape: tuple[int, int]) -> None:
    """Over the whole range a third of the passes, and at no C more than a tenth above the cold."""
    X, y = make_data(shape, seed=5)
    warm, cold = (
        path(X, y, Cs, loss=loss, solver=solver, tol=1e-4, warm=w, max_iter=3000)
        for w in (True, False)
    )
    assert warm.converged
    assert warm.passes.sum() <= cold.passes.sum() / 3.0
    assert (warm.passes <= 1.1 * cold.passes).all()


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("intercept", [True, False])
def test_scores_that_were_left_are_those_of_the_start(
    loss: str, intercept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Newton's method begins with scores that were mixed; they are products with the data."""
    X, y = make_data((300, 12), seed=1)
    off: list[float] = []
    remember = Rows.remember

    def checked(rows: Rows, w: Any, scores: Any) -> None:
        off.append(float(np.abs(scores - X @ w).max()))
        remember(rows, w, scores)

    monkeypatch.setattr(Rows, "remember", checked)
    over = path(X, y, Cs, loss=loss, fit_intercept=intercept, tol=1e-6)
    assert over.converged
    assert len(off) > 20
    assert max(off) <= 1e-9


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_dual_variables_move_on(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More features than examples, as in text: a sixth less sweeps than from Δα."""
    X, y = make_data((300, 600), seed=2)
    settings = {"loss": loss, "solver": "dual_cd", "fit_intercept": False, "tol": 1e-3}
    moved = path(X, y, Cs, **settings)
    monkeypatch.setattr(
        "widemargin.selection.continuation.dual_start",
        lambda problem, C, last, before: C / last[0] * last[1],
    )
    scaled = path(X, y, Cs, **settings)
    assert moved.converged
    assert moved.passes.sum() <= 5 / 6 * scaled.passes.sum()


@pytest.mark.parametrize(("shape", "factor"), [((2000, 30), 1.8), ((400, 60), 1.6)])
def test_warm_starts_of_the_hinge(shape: tuple[int, int], factor: float) -> None:
    """Sweeps that were enough at the C before are not given up after the first few.

    Solvers that follow a central path gain less from a warm start than sweeps do.
    """
    X, y = make_data(shape, seed=5)
    warm, cold = (
        path(X, y, Cs, loss="hinge", tol=1e-4, warm=w, max_iter=3000) for w in (True, False)
    )
    assert warm.passes.sum() <= cold.passes.sum() / factor
    # Sweeps go on until they have cost what another method would, where the cold run takes that at
    # once: at most twice as much, and only around the one C where it is changed.
    worse = warm.passes > np.maximum(1.25 * cold.passes, cold.passes + 2.0)
    assert worse.sum() <= 2
    assert (warm.passes <= 2.0 * cold.passes + 2.0).all()


def test_several_classes_and_predictions() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 4))
    y = np.array(["x", "y", "z"])[(X[:, :3] + 0.3 * random.normal(size=(150, 3))).argmax(axis=1)]
    over = path(X, y, [0.1, 1.0], loss="logistic", n_jobs=2)
    assert over.coefs.shape == (2, 3, 4)
    assert over.decision_function(X).shape == (2, 150, 3)
    assert set(over.predict(X)[0]) <= {"x", "y", "z"}
    assert (over.score(X, y) > 0.7).all()


def test_a_path_over_a_problem() -> None:
    X, y = make_data((80, 5))
    problem = BinaryProblem(Rows.of(X), y, np.ones(80), HINGE, True)
    over = path(problem, Cs=[0.1, 1.0], tol=1e-8)
    same = path(X, y, [0.1, 1.0], loss="hinge", tol=1e-8)
    np.testing.assert_allclose(over.coefs, same.coefs, atol=1e-12)
    with pytest.raises(ValueError, match="has no classes"):
        over.predict(X)


def test_a_callback_ends_the_path() -> None:
    X, y = make_data((100, 5))
    seen: list[float] = []

    def stop(C: float, record: Any) -> bool:
        seen.append(C)
        return C >= 1.0

    over = path(X, y, [0.01, 0.1, 1.0, 10.0], callback=stop)
    assert isinstance(over, Path)
    assert over.Cs.tolist() == [0.01, 0.1, 1.0]
    assert max(seen) == 1.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"Cs": [-1.0]}, "Cs must be positive"),
        ({"loss": "square"}, "loss must be one of"),
        ({"fit_intercept": "maybe"}, "fit_intercept must be"),
        ({"y": None}, "needs their labels"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], words: str) -> None:
    X, y = make_data()
    with pytest.raises(ValueError, match=words):
        path(X, **{"y": y, **arguments})


def test_plot() -> None:
    pytest.importorskip("matplotlib")
    X, y = make_data((60, 4))
    figure = path(X, y, [0.1, 1.0]).plot(X, y)
    assert len(figure.axes) == 3


@pytest.mark.parametrize("rule", ["weston_watkins", "crammer_singer"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_joint_rules(rule: str, intercept: Any) -> None:
    X, y = load_iris(return_X_y=True)
    values = [0.01, 0.1, 1.0]
    over = path(
        X,
        y,
        values,
        loss="hinge",
        multi_class=rule,
        fit_intercept=intercept,
        tol=1e-5,
        max_iter=5000,
    )
    assert over.converged
    assert over.coefs.shape == (3, 3, 4)
    for place, C in enumerate(values):
        alone = LinearSVC(
            "hinge", C=C, multi_class=rule, fit_intercept=intercept, tol=1e-5, max_iter=5000
        ).fit(X, y)
        # Both may be exact: then only rounding lies between them.
        assert over.certificates[place].dual <= alone.certificate_.primal * (1 + 1e-12)
        assert alone.certificate_.dual <= over.certificates[place].primal * (1 + 1e-12)
        assert over.score(X, y)[place] == pytest.approx(alone.score(X, y), abs=0.03)


@pytest.mark.parametrize("rule", ["weston_watkins", "crammer_singer"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_two_classes_at_once_have_one_row_as_in_the_estimator(rule: str, intercept: Any) -> None:
    X, y = make_data((80, 4))
    given: dict[str, Any] = {"multi_class": rule, "fit_intercept": intercept, "tol": 1e-9}
    over = path(X, y, [0.1, 1.0], loss="hinge", **given)
    model = LinearSVC("hinge", C=1.0, **given).fit(X, y)
    assert over.coefs.shape == (2, 1, 4)
    assert over.intercepts.shape == (2, 1)
    np.testing.assert_allclose(over.coefs[1], model.coef_, atol=1e-3)
    np.testing.assert_allclose(over.intercepts[1], model.intercept_, atol=1e-3)
    np.testing.assert_array_equal(over.predict(X)[1], model.predict(X))
