"""StructuredSVC with the models shipped, and with one whose oracle is not exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from widemargin import LinearSVC, SequenceSVC, StructuredSVC
from widemargin.estimators.structured_models import (
    ChainModel,
    MulticlassModel,
    MultilabelModel,
    OrdinalModel,
    TaxonomyModel,
)

X, Y = load_iris(return_X_y=True)
X, Y = X[::5], Y[::5]


def test_multiclass_is_crammer_singer() -> None:
    general = StructuredSVC(MulticlassModel(3), C=0.3, tol=1e-6, max_iter=2000).fit(X, Y)
    linear = LinearSVC(
        "hinge", multi_class="crammer_singer", C=0.3, fit_intercept=False, tol=1e-7
    ).fit(X, Y)
    assert general.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1.1e-6)
    assert np.array_equal(general.predict(X), linear.predict(X))


def test_chain_is_a_sequence_model() -> None:
    random = np.random.default_rng(0)
    y = [tuple(np.cumsum(random.random(5) < 0.4) % 3) for _ in range(20)]
    rows = [np.eye(3)[list(labels)] + random.normal(size=(5, 3)) for labels in y]
    general = StructuredSVC(ChainModel(3), C=0.2, tol=1e-3).fit(rows, y)
    chain = SequenceSVC(0.2, boundaries=False, tol=1e-5).fit(rows, y)
    assert general.certificate_.primal == pytest.approx(chain.certificate_.primal, rel=1e-3)
    same = np.array(chain.predict(rows)) == np.array(general.predict(rows))
    assert same.mean() >= 0.97


@pytest.mark.parametrize(
    ("model", "outputs"),
    [
        (OrdinalModel(3), Y),
        (TaxonomyModel([-1, 0, 0, 2, 2], [1, 3, 4]), Y),
        (MultilabelModel(2), [(int(y > 0), int(y > 1)) for y in Y]),
        (MultilabelModel(2, pairs=True), [(int(y > 0), int(y > 1)) for y in Y]),
    ],
)
def test_oracles_find_the_worst_output(model: Any, outputs: Any) -> None:
    svc = StructuredSVC(model, C=0.1, tol=1e-2).fit(X, outputs)
    assert svc.certificate_.relative_gap <= 1e-2
    assert svc.score(X, outputs) > -0.5
    every = sorted(set(map(tuple, outputs))) if isinstance(outputs, list) else range(3)
    every = [(a, b) for a in (0, 1) for b in (0, 1)] if isinstance(outputs, list) else every
    for x, y in zip(X[::7], outputs[::7], strict=True):
        found = model.oracle(x, y, svc.coef_)
        values = {z: model.loss(y, z) + svc.coef_ @ model.features(x, z) for z in every}
        assert values[found] == pytest.approx(max(values.values()))


@pytest.mark.parametrize("solver", ["bmrm_qp", "pragam"])
@pytest.mark.parametrize(
    ("model", "outputs"),
    [
        (MulticlassModel(3), Y),
        (OrdinalModel(3), Y),
        (TaxonomyModel([-1, 0, 0, 2, 2], [1, 3, 4]), Y),
        (MultilabelModel(2), [(int(y > 0), int(y > 1)) for y in Y]),
        (MultilabelModel(2, pairs=True), [(int(y > 0), int(y > 1)) for y in Y]),
    ],
)
def test_solvers_agree(solver: str, model: Any, outputs: Any) -> None:
    weight = np.linspace(0.0, 2.0, len(Y))  # one example does not count
    best = StructuredSVC(model, C=0.01, tol=1e-4).fit(X, outputs, weight)
    svc = StructuredSVC(model, C=0.01, tol=1e-3, solver=solver, max_iter=5000)
    svc.fit(X, outputs, weight)
    assert svc.status_ == ["converged"]
    assert svc.solver_ == solver
    assert svc.certificate_.dual <= best.certificate_.primal * (1 + 1e-12)
    assert best.certificate_.dual <= svc.certificate_.primal * (1 + 1e-12)
    assert svc.certificate_.primal <= best.certificate_.primal * (1 + 1.1e-3)


def test_bundles_of_chains() -> None:
    random = np.random.default_rng(0)
    y = [tuple(np.cumsum(random.random(5) < 0.4) % 3) for _ in range(10)]
    rows = [np.eye(3)[list(labels)] + random.normal(size=(5, 3)) for labels in y]
    general = StructuredSVC(ChainModel(3), C=0.1, solver="bmrm_qp").fit(rows, y)
    chain = SequenceSVC(0.1, boundaries=False, tol=1e-5).fit(rows, y)
    assert general.certificate_.primal == pytest.approx(chain.certificate_.primal, rel=1e-3)
    with pytest.raises(ValueError, match="needs a model with outputs"):
        StructuredSVC(ChainModel(3), solver="pragam").fit(rows, y)


def test_outputs_must_hold_the_right_one() -> None:
    class Short(MulticlassModel):
        def outputs(self, x: Any) -> range:
            return range(2)

    with pytest.raises(ValueError, match="lack its own output"):
        StructuredSVC(Short(3), solver="pragam").fit(X, Y)
    with pytest.raises(ValueError, match="16 labels"):
        StructuredSVC(MultilabelModel(17), solver="pragam").fit([[1.0]], [(0,) * 17])


def test_taxonomy_costs() -> None:
    model = TaxonomyModel([-1, 0, 0, 2, 2], [1, 3, 4])
    assert model.cost.tolist() == [[0.0, 1.0, 1.0], [2.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    with pytest.raises(ValueError, match="circle"):
        TaxonomyModel([1, 0], [0])


class Careless(MulticlassModel):
    """Never looks at the last class."""

    exact = False

    def oracle(self, x: Any, y: Any, w: Any) -> int:
        scores = w.reshape(self.classes, -1)[:2] @ x
        return int(np.argmax(scores if y is None else scores + self.cost[y][:2]))


def test_an_oracle_that_is_not_exact_says_so() -> None:
    svc = StructuredSVC(Careless(3), C=0.1, tol=0.1, max_iter=50).fit(X, Y)
    assert "not proved" in str(svc.certificate_)
    best = StructuredSVC(MulticlassModel(3), C=0.1, tol=1e-2).fit(X, Y).certificate_
    assert svc.certificate_.dual <= best.primal


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="the model has no 'features'"):
        StructuredSVC(object()).fit(X, Y)
    with pytest.raises(ValueError, match="29 outputs"):
        StructuredSVC(MulticlassModel(3)).fit(X, Y[:-1])
