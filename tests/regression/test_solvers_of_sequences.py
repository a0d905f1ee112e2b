"""Found by the campaign of certificates: solvers of one kind of sequences offered for the other."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin import SequenceCRF


def test_a_conditional_random_field_by_a_solver_of_the_hinge() -> None:
    """It ended with a TypeError of the compiled code."""
    X, y = [np.eye(2), np.eye(2)[::-1]], [[0, 1], [1, 0]]
    with pytest.raises(ValueError, match=r"'lbfgs'") as told:
        SequenceCRF(solver="block_frank_wolfe").fit(X, y)
    assert "'bmrm_qp'" not in str(told.value)
