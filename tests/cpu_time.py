"""CPU time of other processes: unlike the clock, it does not depend on what else is running."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="reads CPU times from Linux's /proc"
)


def cpu_seconds(process: int) -> float:
    """Return the CPU time that a process has taken so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
