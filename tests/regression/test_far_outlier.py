"""One badly misclassified example once hid the convergence of logistic coordinate descent."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from widemargin import LogisticRegression


def test_far_outlier() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 5))
    y = (X[:, 0] > 0).astype(int)
    X[0] = [80.0, 0, 0, 0, 0]
    y[0] = 0
    model = LogisticRegression(solver="dual_cd", C=1.0, tol=1e-6, fit_intercept=False).fit(X, y)
    assert model.status_ == ["converged"]
    assert np.max(model.n_iter_) < 300


def test_no_gradient_at_all() -> None:
    model = LogisticRegression(solver="newton").fit(csr_matrix((4, 2500)), [0, 1, 0, 1])
    assert not model.coef_.any()
