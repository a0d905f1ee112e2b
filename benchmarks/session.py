"""Workers as the harness sees them: started when needed, stopped when they exceed their time."""

from __future__ import annotations

import base64
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .peers import RIVALS, WIDEMARGIN

START_SECONDS = 120.0
# Covers the transfer of the answer.
SLACK_SECONDS = 0.5
# Limits are CPU seconds, as results are; a worker that waits, or hardly gets a core, has this
# multiple of them by the clock.
PATIENCE = 20.0
LOOK_SECONDS = 0.1
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}


class WorkerError(Exception):
    """The rival refused, failed or died."""


class OutOfTimeError(Exception):
    """The fit took longer than it may and its worker was stopped."""


def interpreter(module: str) -> str:
    """Give the Python of a rival: ``$WIDEMARGIN_BENCH_PYTHON_<FILE>`` when set, else this one."""
    return os.environ.get(f"WIDEMARGIN_BENCH_PYTHON_{module.upper()}", sys.executable)


def cpu_seconds(process: int) -> float:
    """Give the CPU seconds of a process, all of its threads together; infinity if it ended."""
    try:
        # Linux names the CPU clock of another process by this number: see clock_getcpuclockid(3).
        return time.clock_gettime((~process << 3) | 2)
    except OSError:
        return float("inf")


class Session:
    """One file of ``peers/`` in its own process."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.data: Path | None = None
        self.process: subprocess.Popen[str] | None = None
        self.loaded: Path | None = None
        self.ready: set[str] = set()
        self.peers: list[dict[str, Any]] = self._start()["peers"]

    def fit(
        self, name: str, loss: str, C: float, level: float, limit: float, once: bool = False
    ) -> tuple[float, np.ndarray]:
        """Fit one peer on `data` and return seconds and weights."""
        self._load()
        if name not in self.ready:
            self._ask(START_SECONDS, call="prepare", name=name)
            self.ready.add(name)
        # Short fits are run three times inside one request.
        allowed = limit + SLACK_SECONDS
        answer = self._ask(allowed, call="fit", name=name, loss=loss, C=C, level=level, once=once)
        return answer["seconds"], np.frombuffer(base64.b64decode(answer["w"]))

    def certify(self, loss: str, C: float, tol: float, time_limit: float) -> tuple[float, float]:
        """Let widemargin compute the certified primal and dual values of a problem."""
        self._load()
        answer = self._ask(
            time_limit + START_SECONDS,
            call="certify",
            loss=loss,
            C=C,
            tol=tol,
            time_limit=time_limit,
        )
        return answer["primal"], answer["dual"]

    def stop(self) -> None:
        """End the worker process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        self.process, self.loaded = None, None

    def _load(self) -> None:
        if self.process is None:
            self._start()
        if self.loaded != self.data:
            self._ask(START_SECONDS, call="load", path=str(self.data))
            self.loaded = self.data
            self.ready.clear()

    def _start(self) -> dict[str, Any]:
        # Lives as long as the worker, whose last words it holds.
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [interpreter(self.module), "-m", "benchmarks.worker", self.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            bufsize=1,
            cwd=Path(__file__).parents[1],
            env={**os.environ, **ONE_THREAD},
        )
        self.ready = set()
        return self._answer(START_SECONDS)

    def _ask(self, seconds: float, **request: Any) -> dict[str, Any]:
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._answer(seconds)

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self.process is not None
        assert self.process.stdout is not None
        # An answer is one line written at once, so a readable pipe means a whole line is coming.
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            last = time.monotonic() + PATIENCE * seconds
            spent = cpu_seconds(self.process.pid)
            while not selector.select(LOOK_SECONDS):
                used = cpu_seconds(self.process.pid) - spent
                if used > seconds or time.monotonic() > last:
                    self.stop()
                    raise OutOfTimeError
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            self.errors.seek(0)
            last = self.errors.read().strip().splitlines()[-1:] or [""]
            self.stop()
            raise WorkerError(f"worker ended with {code}: {last[0]}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer


@dataclass
class Sessions:
    """All workers of a run, and the reasons of those that could not start."""

    found: dict[str, Session] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, widemargin: bool = True) -> Sessions:
        """Start a worker for every rival, and one for widemargin when it is wanted."""
        sessions = cls()
        for module in RIVALS + ((WIDEMARGIN,) if widemargin else ()):
            try:
                sessions.found[module] = Session(module)
            except WorkerError as error:
                sessions.absent[module] = str(error)
            except OutOfTimeError:
                sessions.absent[module] = f"did not start within {START_SECONDS:g} s"
        return sessions

    def use(self, data: Path) -> None:
        """Let all workers fit this data set from now on."""
        for session in self.found.values():
            session.data = data

    def serving(self, loss: str, module: str | None = None) -> list[tuple[Session, dict[str, Any]]]:
        """List the rivals for a loss, or the peers of one file."""
        chosen = [s for name, s in self.found.items() if name == (module or name)]
        if module is None:
            chosen = [s for s in chosen if s.module != WIDEMARGIN]
        return [(s, peer) for s in chosen for peer in s.peers if loss in peer["losses"]]

    def close(self) -> None:
        """End all workers."""
        for session in self.found.values():
            session.stop()
