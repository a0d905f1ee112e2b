"""A kernel descent that was finished and is asked to go on."""

import numpy as np

from widemargin.instruction_sets import core


def test_descent_goes_on_after_nothing_violates_optimality() -> None:
    """Read beyond the end of the list of missing rows, and crashed."""
    y, one = np.array([1.0, -1.0]), np.ones(2)
    descent = core.ExactKernelDescent(y, one, np.zeros(2), one, True, (8, 64, 0.1), 1e6)
    source, bounds = core.KernelSource(np.eye(2)), np.array([0, 2])
    for _ in range(3):
        gap, primal, _, stuck = descent.advance(source, bounds, -1.0, 1e6)
    assert stuck
    assert gap <= 1e-15
    assert abs(primal - 1.0) <= 1e-15
