"""One class, most rows empty: the rows next to ρ could not move, which was taken for the end."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import LinearOneClassSVM


@pytest.mark.filterwarnings("ignore:the origin lies among the examples")
def test_rows_that_cannot_move_are_not_the_end():
    X = sp.random(40_000, 4, 0.007, "csr", random_state=1)
    X.data = np.abs(np.random.default_rng(1).normal(1.0, 1.0, X.nnz))
    model = LinearOneClassSVM(0.0616, tol=1e-3, solver="dual_cd").fit(X)
    assert model.status_ == ["converged"]
    assert not model.coef_.any()
