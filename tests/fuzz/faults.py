"""Faults: signals, a full disk, folders that cannot be written, little memory, bad callbacks.

After each, a file is as it was or complete, and what the command said about it is true.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.children import Outcome, Patience

from widemargin import LinearSVC, dump_svmlight, load_model, load_svmlight, verify_exactly

Random = np.random.Generator

LIMIT = 600.0
"""Seconds that a case may take: it starts the command, and waits for it."""
_LIMIT_OF_COMMAND = 30.0
"""CPU seconds that a command may take; it usually takes three."""
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1
"""Linux's numbers."""


@cache
def _folder() -> Path:
    """Return a folder with data, made once per process."""
    folder = Path(tempfile.mkdtemp(prefix="widemargin-faults-"))
    folder.chmod(0o777)
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 40))
    y = np.where(X[:, 0] + random.normal(size=1500) > 0.0, 1, -1)
    dump_svmlight(X, y, folder / "data.svm")
    _finish(_start(folder, ["train", "data.svm", "old.model", "-q"]))
    return folder


def _start(
    folder: Path, arguments: list[str], before: Callable[[], None] | None = None
) -> subprocess.Popen[str]:
    # Threads that other libraries start when they are imported: numexpr comes with pandas, and that
    # with scikit-learn, if they are installed; it ends the process if it gets none.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "NUMEXPR_NUM_THREADS": "1"}
    root = str(Path(__file__).parents[2])
    environment["PYTHONPATH"] = os.pathsep.join([*filter(None, sys.path), root])
    return subprocess.Popen(
        [sys.executable, "-m", "widemargin.cli", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,
    )


def _finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    patience = Patience(process.pid, _LIMIT_OF_COMMAND)
    while True:
        try:
            _, err = process.communicate(timeout=0.5)
        except subprocess.TimeoutExpired:
            if not patience.over():
                continue
            process.kill()
            process.communicate()
            raise
        return process.returncode, err


@cache
def _usual_seconds() -> float:
    began = time.monotonic()
    _finish(_start(_folder(), ["train", "data.svm", "new.model", "-q"]))
    return time.monotonic() - began


JOBS = (
    (["train", "data.svm", "out", "--tol", "1e-9", "--loss", "hinge"], load_model),
    (["tune", "data.svm", "out", "--Cs", "0.1,1", "--folds", "3"], load_model),
    (["convert", "data.svm", "out", "--to", "svm"], load_svmlight),
)


def _run(
    random: Random,
    after: Callable[[subprocess.Popen[str]], None] = lambda process: None,
    before: Callable[[], None] | None = None,
) -> tuple[int, str, bool, str]:
    """Run one job with a fault; return code, message, whether its file is new, and its damage."""
    arguments, load = JOBS[random.integers(len(JOBS))]
    out = _folder() / "out"
    for leftover in _folder().glob(".out*"):
        leftover.unlink()
    out.unlink(missing_ok=True)
    old = bool(random.integers(2))
    if old:
        out.write_bytes(b"as it was")
        out.chmod(0o666)
    process = _start(_folder(), arguments, before)
    after(process)
    code, err = _finish(process)
    content = out.read_bytes() if out.exists() else None
    if content == (b"as it was" if old else None):
        return code, err, False, ""
    try:
        load(out)
    except Exception as error:
        return code, err, True, f"the file is damaged: {error}"
    return code, err, True, ""


def _judged(result: tuple[int, str, bool, str], codes: set[int]) -> str:
    """Say what is wrong about an ending, or nothing."""
    code, err, new, damage = result
    if damage:
        return damage
    if code not in codes:
        return f"exit code {code}: {err}"
    if code in (0, 1) and not new:
        return f"exit code {code} promises an answer, and there is none: {err}"
    if code == 130 and new:
        return f"exit code 130, but the file was written: {err}"
    if "Traceback" in err and code != -signal.SIGINT:
        return err
    return ""


def _signalled(number: int, codes: set[int]) -> Callable[[Random], str]:
    def fault(random: Random) -> str:
        delay = random.uniform(0.0, 1.2 * _usual_seconds())

        def after(process: subprocess.Popen[str]) -> None:
            time.sleep(delay)
            process.send_signal(number)

        return _judged(_run(random, after), codes)

    return fault


def _full_disk(random: Random) -> str:
    size = int(random.integers(0, 200_000 if random.random() < 0.5 else 3000))

    def before() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    result = _run(random, before=before)
    if result[0] == 2 and "out: File too large" not in result[1]:
        return f"the message does not name the file: {result[1]}"
    return _judged(result, {0, 1, 2})


def _little_memory(random: Random) -> str:
    most = int(random.uniform(0.3e9, 1.2e9))

    def before() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    code, err, new, damage = _run(random, before=before)
    failure = _judged((code, err, new, damage), {0, 1, 2})
    if failure and not _enough_for_imports(before):
        # The ending is that of Python or of the library that was loaded, and there is no file.
        return damage or ("a file was written" if new and code not in (0, 1) else "")
    return failure


def _enough_for_imports(before: Callable[[], None]) -> bool:
    """Whether every job ends well on hardly any data."""
    folder = _folder() / "tiny"
    folder.mkdir(exist_ok=True)
    (folder / "data.svm").write_text("1 1:1\n-1 2:1\n" * 6)
    return all(_finish(_start(folder, arguments, before))[0] in (0, 1) for arguments, _ in JOBS)


def _read_only(random: Random) -> str:
    """A folder that may not be written; root goes without the right to ignore that."""
    folder = _folder() / "closed"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o555)

    def before() -> None:
        if os.geteuid() == 0:
            ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)

    code, err = _finish(_start(_folder(), ["train", "data.svm", "closed/a.model"], before))
    if code != 2 or "closed" not in err or err.count("\n") != 1:
        return f"exit code {code}: {err}"
    return "a file appeared" if list(folder.iterdir()) else ""


class _PlantedError(Exception):
    """Raised by a callback."""


def _callback(random: Random) -> str:
    """A callback that raises, or changes the estimator under the feet of the fit."""
    X = random.normal(size=(60, 5))
    y = np.where(X[:, 0] + random.normal(size=60) > 0.0, 1, 0)
    raises = bool(random.integers(2))
    last = int(random.integers(4))
    calls = 0

    def callback(_: str, record: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > last:
            if raises:
                raise _PlantedError
            model.C, model.tol, model.loss, model.solver = 1e9, "q", "ramp", "magic"
            for name in list(vars(model)):
                if name.endswith("_"):
                    delattr(model, name)

    model = LinearSVC("hinge", C=10.0, tol=1e-10, solver="dual_cd", callback=callback)
    before = model.get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except _PlantedError:
            return "" if raises else "raised, and was not asked to"
        except Exception as error:
            # A solver or loss that was renamed may be refused; it may not pass for something else.
            return "" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    if raises and calls > last:
        return "the callback's exception was swallowed"
    model.set_params(**before)
    problem = verify_exactly(model, X, y).problems[0]
    near = float(problem.exact_primal.upper) <= model.primal_[0] * (1.0 + 1e-9)
    return "" if near and problem.gap >= 0 else f"the answer belongs to another problem: {problem}"


FAULTS: dict[str, Callable[[Random], str]] = {
    "SIGKILL": _signalled(signal.SIGKILL, {0, 1, -signal.SIGKILL}),
    "SIGTERM": _signalled(signal.SIGTERM, {0, 1, -signal.SIGTERM}),
    "SIGINT": _signalled(signal.SIGINT, {0, 1, 130, -signal.SIGINT}),
    "full disk": _full_disk,
    "little memory": _little_memory,
    "read-only folder": _read_only,
    "callback": _callback,
}


def case(seed: int, number: int) -> Outcome:
    """Let one fault happen."""
    random = np.random.default_rng([seed, number])
    kind = list(FAULTS)[number % len(FAULTS)]
    try:
        failure = FAULTS[kind](random)
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
    return Outcome(kind, "failed" if failure else "survived", " ".join(failure.split()))
