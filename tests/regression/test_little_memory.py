"""Little address space: OpenBLAS asked for its work space without end where it got none."""

from __future__ import annotations

import subprocess
import sys

import pytest

resource = pytest.importorskip("resource")

PROGRAM = """
import resource
import numpy as np
from widemargin.linalg import blas
assert blas.reserve_workspace() is None  # no limit: nothing to do
import scipy.linalg.lapack
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**23, used + 2**23))
try:
    with blas.one_blas_thread():
        np.linalg.cholesky(np.eye(200))
except MemoryError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_linear_algebra_is_refused_instead_of_hanging() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "not enough memory for linear algebra\n")
