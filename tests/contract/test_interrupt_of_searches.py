"""Ctrl-C stops a search as its user expects, and what was finished is kept."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from cpu_time import cpu_seconds, needs_proc

BEGIN = """
import sys, time, warnings
import numpy as np
from sklearn.model_selection import GridSearchCV, cross_val_score
from widemargin import LinearSVC, LinearSVCCV, LogisticRegressionCV
warnings.simplefilter("ignore")
random = np.random.default_rng(0)
X = random.standard_normal(size=(20_000, 100))
y = np.argmax(X[:, :2] + random.normal(size=(20_000, 2)), axis=1)
endless = LinearSVC("hinge", C=100.0, solver="dual_cd", tol=1e-15, max_iter=10**9)
print("ready", flush=True)
try:
    {work}
except KeyboardInterrupt:
    print(time.process_time(), flush=True)
    {after}
    print("done", flush=True)
"""

# As in a notebook: work goes on in a thread, and its callback hears of Ctrl-C in the main one.
THREAD = """
    import threading
    stop = threading.Event()
    endless.set_params(callback=lambda name, record: stop.is_set())
    done = threading.Event()
    worker = threading.Thread(target=lambda: (endless.fit(X, y), done.set())); worker.start()
    try:
        done.wait()
    except KeyboardInterrupt:
        stop.set(); done.wait(); raise
"""

SEARCHES = {
    "thread": (
        THREAD.strip(),
        "assert endless.status_ == ['interrupted'] and endless.score(X, y) > 0.5",
    ),
    "grid": ("GridSearchCV(endless, {'C': [1.0, 10.0, 100.0]}, cv=5).fit(X, y)", "pass"),
    "scores": ("cross_val_score(endless, X, y, cv=5)", "pass"),
    "LinearSVCCV": (
        "m = LinearSVCCV('hinge', solver='dual_cd', search_tol=1e-12, max_iter=10**9); m.fit(X, y)",
        "assert len(m.Cs_) >= 1 and m.stopped_ == 'it was interrupted' and m.score(X, y) > 0.5",
    ),
    "LogisticRegressionCV": (
        "m = LogisticRegressionCV(np.logspace(-3, 3, 20_000), search_tol=1e-9); m.fit(X, y)",
        "assert len(m.Cs_) >= 1 and m.predict_proba(X[:3]).shape == (3, 2)\n"
        "    assert m.coefs_paths_[1].shape[1] == len(m.Cs_) < 20_000",
    ),
}


@needs_proc
@pytest.mark.parametrize("name", SEARCHES)
def test_search_stops(name: str) -> None:
    """A grid search had gone on with half-trained folds."""
    work, after = SEARCHES[name]
    child = subprocess.Popen(
        [sys.executable, "-c", BEGIN.replace("{work}", work).replace("{after}", after)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n", child.communicate()
        time.sleep(0.8)
        sent = cpu_seconds(child.pid)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        assert child.returncode == 0, err
        came_back, done = out.splitlines()
        assert done == "done"
        assert float(came_back) - sent < 1.0
    finally:
        child.kill()
        child.wait()
