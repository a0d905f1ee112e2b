"""LinearSVRCV: the search of a grid, with warm starts, any scorer and groups."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneOut

from widemargin import LinearSVR, LinearSVRCV

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(90, 5))
Y = X @ RANDOM.normal(size=5) + 0.5 * RANDOM.normal(size=90) + 3.0
CS = [0.001, 0.1, 10.0]


@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_scores_are_those_of_a_grid_search(loss, scoring):
    search = LinearSVRCV(Cs=CS, loss=loss, epsilon=0.1, cv=3, scoring=scoring, search_tol=1e-8)
    search.fit(X, Y)
    grid = GridSearchCV(
        LinearSVR(loss=loss, epsilon=0.1, tol=1e-8), {"C": CS}, cv=3, scoring=scoring
    ).fit(X, Y)
    theirs = np.array([grid.cv_results_[f"split{fold}_test_score"] for fold in range(3)]).T
    np.testing.assert_allclose(search.scores_, theirs, rtol=1e-3, atol=1e-3)
    assert grid.best_params_["C"] == search.C_
    same = LinearSVR(loss=loss, epsilon=0.1, C=search.C_).fit(X, Y)
    np.testing.assert_allclose(search.primal_, same.primal_, rtol=2e-4)


def test_threads_change_nothing():
    one, two = (LinearSVRCV(Cs=CS, cv=3, n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_groups_and_weights():
    groups, weight = np.repeat(np.arange(9), 10), RANDOM.integers(1, 3, size=90)
    search = LinearSVRCV(Cs=CS, cv=GroupKFold(3)).fit(X, Y, weight, groups=groups)
    assert search.scores_.shape == (3, 3)
    with pytest.raises(ValueError, match="groups"):
        LinearSVRCV(Cs=CS, cv=GroupKFold(3)).fit(X, Y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"Cs": [-1.0]}, "Cs must be positive"),
        ({"epsilon": -1.0}, "epsilon must be a finite number, not negative"),
        ({"loss": "hinge"}, "loss must be 'epsilon_insensitive' or"),
        ({"search_tol": 0.0}, "search_tol must be a positive"),
        ({"solver": "newton", "Cs": CS}, "solver 'newton' needs a loss with second derivatives"),
        (
            {"cv": LeaveOneOut()},
            "scoring=None is R², which one row alone has not",
        ),
    ],
)
def test_bad_arguments_are_said(settings, message):
    with pytest.raises(ValueError, match=message):
        LinearSVRCV(**settings).fit(X, Y)
