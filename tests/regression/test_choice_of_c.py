"""The search over C with unusual folds, weights, limits and continuations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracle import LOSSES, make_data
from widemargin import LinearSVCCV, LogisticRegressionCV, path


def chooser(loss: str, **arguments: Any) -> Any:
    return (
        LogisticRegressionCV(**{"Cs": None, **arguments})
        if loss == "logistic"
        else LinearSVCCV(loss, **arguments)
    )


def halves(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    even, odd = np.arange(0, count, 2), np.arange(1, count, 2)
    return [(even, odd), (odd, even)]


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_rows_that_a_fold_draws_twice_count_twice(loss: str) -> None:
    """Folds side by side had lost repetitions among the rows to train on."""
    X, y = make_data((60, 4))
    random = np.random.default_rng(0)
    splits = [(random.integers(0, 60, 80), np.arange(20)) for _ in range(3)]
    stacked = chooser(loss, Cs=[0.1, 1.0], cv=splits, solver="newton", search_tol=1e-9).fit(X, y)
    separate = chooser(loss, Cs=[0.1, 1.0], cv=splits, solver="dual_cd", search_tol=1e-9).fit(X, y)
    np.testing.assert_allclose(stacked.fold_coef_, separate.fold_coef_, atol=1e-4)


@pytest.mark.parametrize("solver", ["newton", "dual_cd"])
def test_masks_and_negative_indices(solver: str) -> None:
    """Masks were read as the indices 0 and 1."""
    X, y = make_data((60, 4))
    plain = halves(60)
    masks = [(np.isin(np.arange(60), a), np.isin(np.arange(60), b)) for a, b in plain]
    behind = [(a - 60, b - 60) for a, b in plain]
    models = [
        LinearSVCCV(Cs=[1.0], cv=cv, solver=solver).fit(X, y) for cv in (plain, masks, behind)
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(other.path_["scores"], models[0].path_["scores"])
        np.testing.assert_array_equal(other.fold_coef_, models[0].fold_coef_)


@pytest.mark.parametrize(
    ("split", "words"),
    [
        (([0, 1, 2, 60], [3, 4]), "index outside of the 60 rows"),
        (([0, 1, 2, 3], [-61]), "index outside of the 60 rows"),
        (([0.5, 1.0], [3]), "neither indices nor a mask"),
        (([True, False], [3]), "neither indices nor a mask"),
        ((np.arange(60), []), "holds out no rows"),
    ],
)
def test_bad_splits(split: Any, words: str) -> None:
    X, y = make_data((60, 4))
    with pytest.raises(ValueError, match=words):
        LinearSVCCV(Cs=[1.0], cv=[split]).fit(X, y)


def test_a_fold_whose_held_out_rows_have_no_weight_is_refused() -> None:
    """Its score was not a number, and the smallest C was chosen without a word."""
    X, y = make_data((60, 4))
    weight = np.ones(60)
    weight[1::2] = 0.0
    with pytest.raises(ValueError, match="fold 0 of cv holds out nothing but rows of weight zero"):
        LinearSVCCV(Cs=[0.1, 1.0], cv=halves(60)[:1]).fit(X, y, sample_weight=weight)


def test_a_class_without_weight_is_refused_before_the_search() -> None:
    X, y = make_data((60, 4))
    seen: list[str] = []
    model = LinearSVCCV(class_weight={1.0: 0.0}, callback=lambda title, _: seen.append(title))
    with pytest.raises(ValueError, match=r"every example of class 1\.0 has weight zero"):
        model.fit(X, y)
    assert not seen


@pytest.mark.parametrize("loss", LOSSES)
def test_class_weights_move_the_smallest_C(loss: str) -> None:
    """C times a class weight of 1024 is what the problem sees."""
    X, y = make_data((80, 4))
    plain = chooser(loss, fit_intercept=False).fit(X, y)
    heavy = chooser(loss, fit_intercept=False, class_weight={1.0: 1024.0, -1.0: 1024.0}).fit(X, y)
    assert heavy.Cs_[0] == plain.Cs_[0] / 1024.0


def test_the_time_limit_is_one_for_all_folds_and_classes() -> None:
    """Each of the problems at one C had got the whole of it."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(600, 100)), random.integers(0, 8, 600)
    model = LinearSVCCV(
        "hinge", Cs=[1e4], time_limit=0.3, solver="dual_cd", max_iter=10**6, tol=9.0
    )
    model.fit(X, y)
    # 40 problems, each of which ends with a certificate after its time is over.
    assert model.path_["seconds"].sum() < 4.0


def test_an_exact_intercept_is_refused_also_as_numpys_true() -> None:
    """The certificate does not hold for it, in whatever type it is asked for."""
    X, y = make_data((60, 4))
    with pytest.raises(ValueError, match="needs fit_intercept='penalised' or False"):
        LinearSVCCV(Cs=[0.1, 1.0], certify=0.1, fit_intercept=np.True_).fit(X, y)


def test_a_certificate_does_not_outlive_its_fit() -> None:
    X, y = make_data((60, 4))
    model = LinearSVCCV(Cs=[0.1, 1.0], certify=0.2, fit_intercept=False).fit(X, y)
    assert model.certified_
    with pytest.raises(ValueError, match="not a certified one"):
        model.continue_search(X, y, tol=1e-3)
    model.set_params(certify=None).fit(X, y)
    assert not hasattr(model, "certified_")
    assert not hasattr(model, "band_")


def stopping_at(C: float) -> Any:
    return lambda title, record: title == f"C={C:g}"


@pytest.mark.parametrize("loss", LOSSES)
def test_an_unfinished_C_leaves_the_folds_where_they_were(loss: str) -> None:
    """fold_coef_ belongs to the last C of Cs_; it had been that of the unfinished one."""
    X, y = make_data((80, 5))
    whole = chooser(loss, Cs=[0.01, 0.1]).fit(X, y)
    stopped = chooser(loss, Cs=[0.01, 0.1, 100.0], callback=stopping_at(100.0)).fit(X, y)
    if stopped.Cs_.size == 2:
        np.testing.assert_array_equal(stopped.fold_coef_, whole.fold_coef_)
    else:  # it was solved by the time it was asked to stop
        assert stopped.Cs_[-1] == 100.0


def test_going_on_with_a_grid_looks_at_the_grid() -> None:
    """It had doubled C, and might have stopped before the grid's end."""
    X, y = make_data((400, 40))
    grid = [0.001, 0.01, 3.0, 7.0]
    model = LogisticRegressionCV(grid, time_limit=1e-6).fit(X, y)
    assert model.Cs_.tolist() == [0.001]
    model.set_params(time_limit=None).continue_search(X, y, tol=1e-2)
    assert model.Cs_.tolist() == grid


def test_going_on_without_time_keeps_what_was_seen() -> None:
    X, y = make_data((4000, 40))
    model = LogisticRegressionCV([0.1, 1.0], search_tol=0.1).fit(X, y)
    scores = model.path_["scores"]
    model.set_params(time_limit=1e-6).continue_search(X, y, tol=1e-12)
    np.testing.assert_array_equal(model.path_["scores"], scores)
    assert model.Cs_.tolist() == [0.1, 1.0]


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("intercept", [True, "penalised"])
def test_the_last_fit_starts_at_the_best_C(loss: str, intercept: Any) -> None:
    """It had started at the solutions of the last C, however far away."""
    X, y = make_data((3000, 20))
    settings = {
        "fit_intercept": intercept,
        "scoring": lambda model, A, b: -np.abs(model.coef_).sum(),
    }
    near = chooser(loss, Cs=[1e-4], **settings).fit(X, y)
    far = chooser(loss, Cs=[1e-4, 1.0, 1e4], **settings).fit(X, y)
    assert far.C_ == near.C_ == 1e-4
    assert far.history_[0]["primal"][0] == near.history_[0]["primal"][0]


@pytest.mark.parametrize("scoring", [["accuracy", "f1"], {"rate": "accuracy"}, 3])
def test_several_scores_at_once_are_refused(scoring: Any) -> None:
    X, y = make_data((60, 4))
    with pytest.raises(ValueError, match="the name of one score or a callable"):
        LinearSVCCV(Cs=[1.0], scoring=scoring).fit(X, y)


def test_scores_that_are_no_numbers_are_refused() -> None:
    """The smallest C had been chosen without a word."""
    X, y = make_data((60, 4))
    with pytest.raises(ValueError, match="gave no number at any C"):
        LinearSVCCV(Cs=[0.1, 1.0], scoring=lambda model, A, b: np.nan).fit(X, y)


def test_a_number_of_values_of_C() -> None:
    """As in scikit-learn; it had meant the one value."""
    X, y = make_data((60, 4))
    model = LogisticRegressionCV(Cs=5).fit(X, y)
    np.testing.assert_allclose(model.Cs_, [1e-4, 1e-2, 1.0, 1e2, 1e4])
    for wrong in (0.5, True, 0, -3):
        with pytest.raises(ValueError, match="Cs must be"):
            LogisticRegressionCV(Cs=wrong).fit(X, y)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tol": 0.0}, "tol must be a positive"),
        ({"max_iter": 0}, "max_iter must be a positive"),
        ({"time_limit": -1.0}, "time_limit must be a positive"),
        ({"intercept_scaling": 0.0}, "intercept_scaling must be a positive"),
        ({"class_weight": {1.0: 0.0}}, "has weight zero"),
    ],
)
def test_arguments_of_a_path(arguments: dict[str, Any], words: str) -> None:
    """They were ignored, or met as a division by zero."""
    X, y = make_data((60, 4))
    with pytest.raises(ValueError, match=words):
        path(X, y, [1.0], **arguments)
