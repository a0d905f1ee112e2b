"""Time to read LIBSVM text: widemargin, scikit-learn, and LIBLINEAR's own program.

Run as ``python -m benchmarks.reader``. The files are unpacked into a temporary directory. Every
reading happens in a fresh process, as when a person starts a training run; for the two libraries
the time is that of the call alone, without interpreter and imports. The readers take turns, and
medians are shown, because the machine may be shared.

LIBLINEAR's ``train`` cannot read without training, so it is timed twice. "reading" is a copy of the
file with a malformed last line: the program stops with an error when it meets that line, after it
has read all the others and before the solver starts. "with one solver step" is the file itself,
with a tolerance that stops the solver at once; the difference is what the solver costs.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.problems import MissingDataError, unpack

FILES = ("covtype", "covtype.libsvm.binary.scale")
WIDEMARGIN = "widemargin"
PROGRAM = "liblinear-train"

_TIMED_CALL = """
import sys, time
from {module} import {function} as load
start = time.perf_counter()
X, y = load(sys.argv[1]{options})
print(time.perf_counter() - start, *X.shape, X.nnz)
"""


def timed_call(module: str, function: str, options: str = "") -> Callable[[Path], float]:
    """Make a timer of a library's function, called in a process of its own."""
    code = _TIMED_CALL.format(module=module, function=function, options=options)

    def run(path: Path) -> float:
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True
        )
        return float(done.stdout.split()[0])

    return run


def liblinear_reading(path: Path) -> float:
    """Time the program on the copy whose last line stops it."""
    start = time.perf_counter()
    done = subprocess.run(
        [PROGRAM, spoilt(path), "/dev/null"], capture_output=True, text=True, timeout=300
    )
    seconds = time.perf_counter() - start
    if "Wrong input format" not in done.stderr:
        raise RuntimeError(f"{PROGRAM} was expected to stop at the last line: {done.stderr}")
    return seconds


def liblinear_training(path: Path) -> float:
    """Time the program with a tolerance that any point meets."""
    command = [PROGRAM, "-q", "-s", "2", "-e", "1e10", path, "/dev/null"]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def spoilt(path: Path) -> Path:
    """Name the copy with a malformed last line."""
    return path.with_suffix(path.suffix + ".spoilt")


def prepare(name: str, folder: Path) -> Path:
    """Unpack a file, and a copy that LIBLINEAR refuses at its end."""
    text = unpack(name)
    path = folder / name
    path.write_bytes(text)
    spoilt(path).write_bytes(text.rstrip(b"\n") + b"\n1 x:1\n")
    return path


def measure(
    readers: dict[str, Callable[[Path], float]], path: Path, repeats: int
) -> dict[str, float]:
    """Let the readers take turns and give the median of each."""
    seconds: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(repeats):
        for name, read in readers.items():
            seconds[name].append(read(path))
    return {name: statistics.median(times) for name, times in seconds.items()}


def main() -> int:
    """Measure and print one table a file."""
    parser = argparse.ArgumentParser(description="time to read LIBSVM text")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    console = Console()

    forced = f", n_threads={options.threads}"
    readers = {
        f"{WIDEMARGIN}, {options.threads} threads": timed_call(
            "widemargin.data.svmlight", "load_svmlight", forced
        ),
        f"{WIDEMARGIN}, 1 thread": timed_call(
            "widemargin.data.svmlight", "load_svmlight", ", n_threads=1"
        ),
        "scikit-learn load_svmlight_file": timed_call("sklearn.datasets", "load_svmlight_file"),
    }
    if shutil.which(PROGRAM):
        readers[f"{PROGRAM}, reading"] = liblinear_reading
        readers[f"{PROGRAM}, with one solver step"] = liblinear_training
    else:
        console.print(f"skipped: {PROGRAM} is not installed (Debian: liblinear-tools)")

    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            try:
                path = prepare(name, Path(folder))
            except MissingDataError as error:
                console.print(f"skipped: {error}")
                continue
            medians = measure(readers, path, options.repeats)
            ours = next(iter(medians.values()))
            megabytes = path.stat().st_size / 1e6
            table = Table(title=f"{name}, {megabytes:.0f} MB, medians of {options.repeats}")
            table.add_column("reader")
            for heading in ("seconds", "MB/s", "times ours"):
                table.add_column(heading, justify="right")
            for reader, seconds in medians.items():
                table.add_row(
                    reader, f"{seconds:.3f}", f"{megabytes / seconds:.0f}", f"{seconds / ours:.1f}"
                )
            console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
