"""Some thirty uses from scikit-learn's examples and user guide, with the import changed.

Each is written in our own words as a function of the three classes, runs with scikit-learn's and
with ours, and must give the same shapes and an accuracy within half a point.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sklearn.linear_model
import sklearn.svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_classification,
    make_multilabel_classification,
)
from sklearn.decomposition import PCA
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - before its class
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    train_test_split,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.fixes import parse_version

from widemargin import LinearSVC, LogisticRegression, LogisticRegressionCV

OURS = SimpleNamespace(
    LinearSVC=LinearSVC,
    LogisticRegression=LogisticRegression,
    LogisticRegressionCV=LogisticRegressionCV,
)
THEIRS = SimpleNamespace(
    LinearSVC=sklearn.svm.LinearSVC,
    LogisticRegression=sklearn.linear_model.LogisticRegression,
    LogisticRegressionCV=sklearn.linear_model.LogisticRegressionCV,
)
Found = tuple[float, Any]
IRIS, CANCER, WINE, DIGITS = (
    load(return_X_y=True) for load in (load_iris, load_breast_cancer, load_wine, load_digits)
)


def scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


def held_out(model: Any, X: Any, y: Any) -> Found:
    train = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    model.fit(train[0], train[2])
    return model.score(train[1], train[3]), np.shape(model.predict(train[1]))


def pipeline_with_scaler(m: Any) -> Found:
    return held_out(scaled(m.LinearSVC(random_state=0, tol=1e-5)), *WINE)


def probabilities_of_iris(m: Any) -> Found:
    model = m.LogisticRegression(random_state=0, max_iter=1000).fit(*IRIS)
    return model.score(*IRIS), model.predict_proba(IRIS[0][:2]).shape


def unscaled_digits(m: Any) -> Found:
    X, y = DIGITS[0][::3], DIGITS[1][::3]
    return held_out(m.LogisticRegression(solver="newton-cholesky", tol=1e-6), X, y)


def grid_over_c(m: Any) -> Found:
    search = GridSearchCV(scaled(m.LinearSVC(dual="auto")), {"linearsvc__C": [0.01, 0.1, 1.0]})
    search.fit(*CANCER)
    return search.best_score_, search.cv_results_["mean_test_score"].shape


def randomised_search(m: Any) -> Found:
    grid = {"logisticregression__C": np.logspace(-2, 2, 9)}
    model = scaled(m.LogisticRegression(solver="lbfgs"))
    search = RandomizedSearchCV(model, grid, n_iter=4, random_state=0).fit(*WINE)
    return search.best_score_, search.best_estimator_[-1].coef_.shape


def halving_search(m: Any) -> Found:
    grid = {"logisticregression__C": [0.1, 1.0, 10.0]}
    search = HalvingGridSearchCV(scaled(m.LogisticRegression()), grid, random_state=0)
    return search.fit(*CANCER).best_estimator_.score(*CANCER), search.n_iterations_


def sigmoid_calibration(m: Any) -> Found:
    model = CalibratedClassifierCV(scaled(m.LinearSVC(C=0.1)), cv=3).fit(*CANCER)
    return model.score(*CANCER), model.predict_proba(CANCER[0]).shape


def isotonic_calibration(m: Any) -> Found:
    model = CalibratedClassifierCV(scaled(m.LinearSVC()), method="isotonic", cv=3)
    return held_out(model, *CANCER)


def recursive_elimination(m: Any) -> Found:
    X = StandardScaler().fit_transform(CANCER[0])
    model = RFE(m.LogisticRegression(), n_features_to_select=8, step=4).fit(X, CANCER[1])
    return model.score(X, CANCER[1]), model.ranking_.shape


def select_from_weights(m: Any) -> Found:
    chosen = SelectFromModel(m.LinearSVC(C=0.1, penalty="l2"), max_features=6)
    return held_out(make_pipeline(StandardScaler(), chosen, GaussianNB()), *CANCER)


def components_then_logistic(m: Any) -> Found:
    model = make_pipeline(StandardScaler(), PCA(20), m.LogisticRegression(tol=1e-6, max_iter=1000))
    return held_out(model, *DIGITS)


def polynomial_features(m: Any) -> Found:
    model = make_pipeline(PolynomialFeatures(2), StandardScaler(), m.LogisticRegression(C=0.1))
    return held_out(model, *WINE)


def kernel_approximation(m: Any) -> Found:
    model = make_pipeline(Nystroem(gamma=0.001, n_components=100, random_state=0), m.LinearSVC())
    return held_out(model, *DIGITS)


def stacking_and_voting(m: Any) -> Found:
    parts = [("svm", scaled(m.LinearSVC())), ("bayes", GaussianNB())]
    stack = StackingClassifier(parts, final_estimator=m.LogisticRegression())
    vote = VotingClassifier([("logistic", scaled(m.LogisticRegression())), parts[1]], voting="soft")
    found = held_out(stack, *WINE)
    return (found[0] + held_out(vote, *WINE)[0]) / 2.0, found[1]


def one_against_one(m: Any) -> Found:
    X, y = StandardScaler().fit_transform(WINE[0]), WINE[1]
    model = OneVsOneClassifier(m.LinearSVC(random_state=0)).fit(X, y)
    return model.score(X, y), model.decision_function(X).shape


def one_against_the_rest(m: Any) -> Found:
    model = OneVsRestClassifier(m.LogisticRegression(solver="liblinear")).fit(*IRIS)
    return model.score(*IRIS), len(model.estimators_)


def several_labels(m: Any) -> Found:
    X, Y = make_multilabel_classification(200, 10, n_classes=3, random_state=0)
    model = MultiOutputClassifier(m.LogisticRegression()).fit(X, Y)
    return accuracy_score(Y.ravel(), model.predict(X).ravel()), np.shape(model.predict_proba(X))


def cross_validated(m: Any) -> Found:
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    model = scaled(m.LogisticRegression())
    scores = cross_val_score(model, *CANCER, cv=cv)
    found = cross_validate(model, *CANCER, cv=cv, scoring=["roc_auc", "accuracy"])
    labels = cross_val_predict(model, *CANCER, cv=cv)
    assert abs(found["test_accuracy"].mean() - scores.mean()) < 1e-12
    return accuracy_score(CANCER[1], labels), scores.shape


def curve_over_sizes(m: Any) -> Found:
    sizes, _, tests = learning_curve(scaled(m.LinearSVC()), *CANCER, train_sizes=[0.3, 1.0], cv=3)
    return float(tests[-1].mean()), (sizes.shape, tests.shape)


def search_within(m: Any) -> Found:
    X, y = CANCER[0], CANCER[1]
    model = scaled(m.LogisticRegressionCV(Cs=5, cv=3, max_iter=1000)).fit(X, y)
    search = model[-1]
    shapes = (search.Cs_.shape, search.C_.shape, search.scores_[1].shape)
    return model.score(X, y), (shapes, search.coefs_paths_[1].shape)


def weights_of_rare_classes(m: Any) -> Found:
    X, y = make_classification(600, 8, weights=[0.9], random_state=1)
    model = m.LinearSVC(class_weight="balanced").fit(X, y)
    heavy = m.LogisticRegression(class_weight={1: 5}).fit(X, y, sample_weight=np.ones(y.size))
    return (model.score(X, y) + heavy.score(X, y)) / 2.0, model.coef_.shape


def planes_between_blobs(m: Any) -> Found:
    X, y = make_blobs(1500, centers=2, random_state=0, cluster_std=0.8)
    model = m.LinearSVC(C=100, loss="hinge", random_state=42, max_iter=20_000).fit(X, y)
    return model.score(X, y), (model.coef_.shape, model.intercept_.shape)


def columns_of_a_frame(m: Any) -> Found:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(IRIS[0], columns=list("abcd"))
    select = make_column_transformer((StandardScaler(), ["a", "b"]), remainder="passthrough")
    model = make_pipeline(select, m.LogisticRegression()).fit(frame, IRIS[1])
    return model.score(frame, IRIS[1]), model[-1].n_features_in_


def importance_and_dependence(m: Any) -> Found:
    model = scaled(m.LogisticRegression()).fit(*CANCER)
    found = permutation_importance(model, *CANCER, n_repeats=2, random_state=0)
    over = partial_dependence(model, CANCER[0], [0], grid_resolution=5)
    other = partial_dependence(scaled(m.LinearSVC()).fit(*CANCER), CANCER[0], [1])
    shapes = (found.importances.shape, over["average"].shape, other["average"].shape)
    return model.score(*CANCER), shapes


def threshold_of_a_decision(m: Any) -> Found:
    model = TunedThresholdClassifierCV(scaled(m.LinearSVC()), scoring="balanced_accuracy", cv=3)
    return held_out(model, *CANCER)


def names_as_labels(m: Any) -> Found:
    pd = pytest.importorskip("pandas")
    frame, kinds = load_iris(return_X_y=True, as_frame=True)
    names = pd.Series(pd.Categorical(kinds.map({0: "setosa", 1: "versicolor", 2: "virginica"})))
    scaler = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaler, m.LogisticRegression()).fit(frame, names)
    shapes = (list(model.classes_), list(model[-1].feature_names_in_), model.predict(frame).shape)
    return model.score(frame, names), shapes


def routed_weights(m: Any) -> Found:
    weight = np.linspace(0.1, 1.0, CANCER[1].size)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        model = make_pipeline(scaler, m.LogisticRegression().set_fit_request(sample_weight=True))
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"logisticregression__C": [0.1, 1.0]}, scoring=scorer, cv=3)
        search.fit(*CANCER, sample_weight=weight)
    return search.best_score_, search.best_params_


def words_in_documents(m: Any) -> Found:
    documents = ["the cat sat", "dogs are pets", "stocks fell today", "the market rallied"] * 10
    labels = ["pets", "pets", "money", "money"] * 10
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), m.LinearSVC())
    search = GridSearchCV(model, {"linearsvc__C": [0.1, 1.0]}, cv=2).fit(documents, labels)
    best = search.best_estimator_
    return search.best_score_, (
        best[-1].coef_.shape,
        list(best.predict(["dogs sat", "the market"])),
    )


def chain_of_labels(m: Any) -> Found:
    X, Y = make_multilabel_classification(200, 20, n_classes=4, random_state=0)
    model = ClassifierChain(m.LogisticRegression(max_iter=1000), order=[3, 1, 0, 2]).fit(X, Y)
    return float((model.predict(X) == Y).mean()), model.predict_proba(X).shape


SNIPPETS: list[Callable[[Any], Found]] = [
    pipeline_with_scaler, probabilities_of_iris, unscaled_digits, grid_over_c, randomised_search,
    halving_search, sigmoid_calibration, isotonic_calibration, recursive_elimination,
    select_from_weights, components_then_logistic, polynomial_features, kernel_approximation,
    stacking_and_voting, one_against_one, one_against_the_rest, several_labels, cross_validated,
    curve_over_sizes, search_within, weights_of_rare_classes, planes_between_blobs,
    columns_of_a_frame, importance_and_dependence, threshold_of_a_decision, names_as_labels,
    routed_weights, words_in_documents, chain_of_labels,
]  # fmt: skip


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda f: f.__name__)
def test_same_shapes_and_accuracy(snippet: Callable[[Any], Found]) -> None:
    if parse_version(sklearn.__version__) < parse_version("1.8"):
        pytest.skip("compares with the multinomial loss of scikit-learn 1.8 and newer")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = snippet(OURS), snippet(THEIRS)
    assert ours[1] == theirs[1]
    assert ours[0] == pytest.approx(theirs[0], abs=0.005)
