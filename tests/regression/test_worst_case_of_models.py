"""worst_case takes what trains and what was loaded; KernelSVC says what SVC's users look for."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from widemargin import KernelSVC, LinearSVC, model_of, worst_case

X, y = load_breast_cancer(return_X_y=True)
scaled = StandardScaler().fit_transform(X)


def test_models_and_pipelines() -> None:
    """Both had been refused."""
    expected = worst_case(LinearSVC("hinge").fit(scaled, y), scaled, y, 0.1)
    pipeline = make_pipeline(StandardScaler(), "passthrough", LinearSVC("hinge")).fit(X, y)
    loaded = model_of(pipeline[-1])
    for found in (worst_case(pipeline, X, y, 0.1), worst_case(loaded, scaled, y, 0.1)):
        assert found.loss == pytest.approx(expected.loss, rel=1e-9)
        assert found.error == pytest.approx(expected.error, rel=1e-9)


def test_support_vectors_of_a_kernel_per_class() -> None:
    model = KernelSVC(tol=1e-6).fit(scaled, y)
    np.testing.assert_array_equal(model.n_support_, SVC(tol=1e-6).fit(scaled, y).n_support_)


def test_a_sigmoid_is_refused_with_its_reason() -> None:
    with pytest.raises(ValueError, match="kernel='sigmoid' is not positive definite"):
        KernelSVC("sigmoid").fit(scaled, y)
