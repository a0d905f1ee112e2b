"""Searches for a larger curvature went on for ever where the scores were no numbers."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.data.gram import Gram
from widemargin.data.rows import Rows
from widemargin.methods.base import Settings
from widemargin.methods.published.dual_of_dual import KernelDualOfDual
from widemargin.methods.published.pragam import Pragam
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.kernel import KernelProblem
from widemargin.problems.losses import HINGE, SQUARED_HINGE

SIGNS = np.array([1.0, -1.0, 1.0])


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_dual_of_dual(wrong: float) -> None:
    K = np.eye(3)
    K[0, 1] = K[1, 0] = wrong
    problem = KernelProblem(Gram.precomputed(K), SIGNS, np.ones(3), SQUARED_HINGE, False)
    method = KernelDualOfDual()
    with np.errstate(all="ignore"):
        state = method.start(problem, None, Settings(1e-3, 0))
        method.advance(state)
    assert state.passes < 1e5


@pytest.mark.parametrize("wrong", [np.nan, 1e200])
def test_pragam(wrong: float) -> None:
    X = np.array([[1.0, wrong], [wrong, 1.0], [0.5, 0.5]])
    problem = BinaryProblem(Rows.of(X), SIGNS, np.ones(3), HINGE, False)
    method = Pragam()
    with np.errstate(all="ignore"):
        state = method.start(problem, None, Settings(1e-3, 0))
        method.advance(state)
    assert state.passes < 1e5


def test_products_with_a_whole_matrix_can_be_stopped() -> None:
    asked: list[int] = []
    Gram.precomputed(np.eye(3)).watched(lambda: asked.append(1)).multiply(np.ones(3))
    assert asked
