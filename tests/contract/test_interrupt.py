"""Ctrl-C, in a process of its own: fit keeps the best point, raises, and can go on from there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cpu_time import cpu_seconds, needs_proc
from oracle import LOSSES, PAIRS
from widemargin.interrupt import Interrupt

pytestmark = needs_proc

CHILD = """
import json, signal, sys, time, warnings
import numpy as np
from oracle import estimator
from widemargin.interrupt import Interrupt
warnings.simplefilter("ignore")
enter = Interrupt.__enter__
def entering(self):
    # Says when the watch begins: a busy machine takes its time to get there.
    Interrupt.__enter__ = enter
    entered = enter(self)
    print("ready", flush=True)
    return entered
for line in sys.stdin:
    loss, solver, n, d, classes, n_jobs = json.loads(line)
    random = np.random.default_rng(0)
    X = random.standard_normal(size=(n, d), dtype=np.float32)
    y = np.argmax(X[:, :classes] + random.normal(size=(n, classes)), axis=1)
    model = estimator(loss, C=100.0, solver=solver, tol=1e-15, max_iter=10**9, warm_start=True,
                      n_jobs=n_jobs)
    Interrupt.__enter__ = entering
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        model.fit(X, y)
    except KeyboardInterrupt as stop:
        came_back = time.process_time()
        assert "because it was interrupted" in str(stop), str(stop)
    else:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what comes too late is for no other test
        print("null", flush=True)
        continue
    first = dict(status=model.status_, primal=model.primal_.tolist(), dual=model.dual_.tolist(),
                 gap=[c.relative_gap for c in model.certificates_])
    model.set_params(time_limit=0.3).fit(X, y)
    second = dict(first_gap=[h["relative_gap"][0] for h in model.history_],
                  gap=[c.relative_gap for c in model.certificates_], status=model.status_)
    print(json.dumps([came_back, first, second]), flush=True)
"""

# (rows, features) that keep each method busy for seconds at a tolerance of 1e-15.
BUSY = {
    "dual_cd": (20_000, 100),
    "auto": (80_000, 1200),
    "newton": (80_000, 1200),
    "quasi_newton": (110_000, 1200),
}


@pytest.fixture(scope="module")
def child() -> Iterator[subprocess.Popen[str]]:
    """A process that fits what it is told to: one for all tests, since imports take long."""
    tests = str(Path(__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([tests, *filter(None, sys.path)])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def interrupted(
    child: subprocess.Popen[str], arguments: tuple[Any, ...], delay: float
) -> tuple[float, Any, Any]:
    """Send SIGINT `delay` seconds into a fit; return the CPU time it took to come back."""
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(json.dumps(arguments) + "\n")
    child.stdin.flush()
    assert child.stdout.readline() == "ready\n", child.communicate()
    time.sleep(delay)
    sent = cpu_seconds(child.pid)
    child.send_signal(signal.SIGINT)
    answer = child.stdout.readline()
    assert answer, child.communicate()
    assert answer != "null\n", "Ctrl-C was lost, or the fit was done before it came"
    came_back, first, second = json.loads(answer)
    return came_back - sent, first, second


def check(child: subprocess.Popen[str], arguments: tuple[Any, ...], delay: float) -> None:
    seconds, first, second = interrupted(child, arguments, delay)
    # The promise is 0.5 s; a certificate of each class may come on top.
    assert seconds < 1.0
    assert "interrupted" in first["status"]
    # A class may be done by then, as far as double precision can prove it.
    assert set(first["status"]) <= {"interrupted", "converged", "stalled"}
    for P, D in zip(first["primal"], first["dual"], strict=True):
        assert 0.0 < P < float("inf")
        assert -float("inf") < D <= P * (1.0 + 1e-12)
    # It goes on from there, up to what bounds on rounding may differ by.
    for before, at_start, after in zip(
        first["gap"], second["first_gap"], second["gap"], strict=True
    ):
        assert at_start <= before * (1.0 + 1e-9) + 1e-9
        assert after <= before * (1.0 + 1e-9) + 1e-9


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_interrupt(child: subprocess.Popen[str], solver: str, loss: str) -> None:
    n, d = BUSY.get(solver, (20_000, 1200))
    check(child, (loss, solver, n, d, 2, None), delay=0.2)


@pytest.mark.parametrize(("solver", "loss"), [pair for pair in PAIRS if pair[1] != "logistic"])
def test_interrupt_at_the_start(child: subprocess.Popen[str], solver: str, loss: str) -> None:
    """Before the first step is over there is an answer too."""
    n, d = BUSY.get(solver, (20_000, 1200))
    check(child, (loss, solver, n, d, 2, None), delay=0.05)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("loss", LOSSES)
def test_interrupt_of_several_classes(child: subprocess.Popen[str], loss: str, n_jobs: int) -> None:
    check(child, (loss, "auto", 30_000, 600, 4, n_jobs), delay=0.2)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_ctrl_c_inside_reaches_the_work_around() -> None:
    """Else one that comes as the inner work ends would be lost."""
    outer, inner = Interrupt(), Interrupt()
    with outer:
        with inner:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        assert inner.requested
        assert outer.requested
