"""Joint kernel problems whose matrix is badly conditioned: every step was tiny, for ever."""

from __future__ import annotations

import pytest
from sklearn.datasets import load_iris

from widemargin import KernelSVC
from widemargin.problems.multiclass import RULES


@pytest.mark.parametrize("rule", RULES)
def test_iris_with_a_quadratic_kernel(rule: str) -> None:
    """The gap was 0.042 after 20,000 sweeps of pairwise steps."""
    X, y = load_iris(return_X_y=True)
    quadratic = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}
    model = KernelSVC(multi_class=rule, solver="block_dual_cd", max_iter=200, **quadratic)
    model.fit(X, y)
    assert model.status_ == ["converged"]
    tight = KernelSVC(multi_class=rule, tol=1e-6, **quadratic).fit(X, y)
    assert model.certificate_.primal <= tight.certificate_.primal * (1.0 + 1e-3)
    assert model.certificate_.dual <= tight.certificate_.primal
