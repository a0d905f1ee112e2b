"""Cases that hang and crash, to see whether the campaigns notice."""

from __future__ import annotations

import os
import signal
import time

from tests.fuzz.children import Outcome


def case(seed: int, number: int) -> Outcome:
    """Hang, crash, or be well."""
    if number == 1:
        time.sleep(60.0)
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return Outcome("planted", "well")
