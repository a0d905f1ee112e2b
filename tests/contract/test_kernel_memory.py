"""KernelSVC keeps no more of the kernel matrix than `memory` allows."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import numpy as np
from widemargin import KernelSVC

random = np.random.default_rng(0)
X = random.normal(size=(6000, 5)).astype(np.float32)
y = random.integers(0, 2, 6000)
fit = lambda n, memory: KernelSVC(C=0.1, tol=0.02, memory=memory).fit(X[:n], y[:n])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
fit(300, 1.0)
before = peak()
model = fit(6000, float(sys.argv[1]))
print(model.status_[0], peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is in kilobytes on Linux alone")
def test_rows_stay_within_the_memory() -> None:
    """All labels are noise: every example is a support vector, and every row is wanted."""
    grown = {}
    for memory in (10.0, 200.0):
        command = [sys.executable, "-c", PROGRAM, str(memory)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        status, megabytes = done.stdout.split()
        assert status == "converged"
        grown[memory] = float(megabytes)
    # What is besides: the examples in two precisions, some vectors, one block of rows.
    assert grown[10.0] <= 10.0 + 12.0
    assert grown[200.0] >= 3.0 * grown[10.0]
