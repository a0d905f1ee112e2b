"""A rival's limit is CPU seconds: on a busy machine it is not given up for waiting."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from benchmarks import session
from benchmarks.session import OutOfTimeError, Session

BUSY = """
import sys, time
while time.process_time() < 0.3: pass
print('{"done": true}', flush=True)
while True: pass
"""
WAITING = """
import time
time.sleep(0.6)
print('{"done": true}', flush=True)
"""


def started(monkeypatch: pytest.MonkeyPatch, program: str) -> Session:
    def start(self: Session) -> dict[str, list[object]]:
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
        )
        return {"peers": []}

    monkeypatch.setattr(Session, "_start", start)
    return Session("none")


def test_waiting_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    found = started(monkeypatch, WAITING)
    assert found._answer(0.3) == {"done": True}
    found.stop()


def test_cpu_seconds_do(monkeypatch: pytest.MonkeyPatch) -> None:
    found = started(monkeypatch, BUSY)
    assert found._answer(5.0) == {"done": True}
    with pytest.raises(OutOfTimeError):
        found._answer(0.1)


def test_nobody_waits_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "PATIENCE", 2.0)
    found = started(monkeypatch, "import time; time.sleep(60.0)")
    begun = time.monotonic()
    with pytest.raises(OutOfTimeError):
        found._answer(0.2)
    assert time.monotonic() - begun < 30.0
