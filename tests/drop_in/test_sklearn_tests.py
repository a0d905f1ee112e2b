"""scikit-learn's own tests pass with our classes, but for the failures that have a reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sklearn


@pytest.mark.slow
@pytest.mark.skipif(
    not sklearn.__version__.startswith("1.9."), reason="the reasons are for scikit-learn 1.9"
)
def test_every_failure_has_a_reason() -> None:
    script = Path(__file__).with_name("run_sklearn_tests.py")
    found = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=900
    )
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-2000:]
