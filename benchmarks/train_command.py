"""``widemargin train`` against LIBLINEAR's ``train``: both whole programs, reading included.

``python -m benchmarks.train_command [--liblinear "-s 1"] [--jobs 2]``. Both write LIBLINEAR's model
format; the objectives (summed over the classes) are computed here from the data and those files.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.problems import unpack

FILES = ("covtype.libsvm.binary.scale", "mnist.scale")


def objective(model: Path, X: object, y: np.ndarray) -> float:
    """Sum the primal values of a LIBLINEAR model's classes: squared hinge, C = 1, no bias."""
    head, _, body = model.read_text().partition("\nw\n")
    entries = dict(line.split(" ", 1) for line in head.splitlines() if " " in line)
    labels = np.array(entries["label"].split(), dtype=float)
    weights = np.array([line.split() for line in body.splitlines()], dtype=float)
    total = 0.0
    for column in range(weights.shape[1]):
        signs = np.where(y == labels[column], 1.0, -1.0)
        slack = np.maximum(0.0, 1.0 - signs * (X[:, : weights.shape[0]] @ weights[:, column]))
        total += 0.5 * float(weights[:, column] @ weights[:, column]) + float(slack @ slack)
    return total


def main() -> None:
    """Let the programs take turns and print one table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.train_command", description=__doc__)
    parser.add_argument("--data", default=",".join(FILES))
    parser.add_argument("--liblinear", default="-s 1", help="its options")
    parser.add_argument("--tol", default="1e-4", help="of widemargin")
    parser.add_argument("--jobs", default="2", help="threads of widemargin")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    from widemargin.data.svmlight import load_svmlight

    table = Table("data", "program", "seconds", "ratio", "objective")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.data.split(","):
            data = Path(folder) / name
            data.write_bytes(unpack(name))
            command = [Path(sys.executable).parent / "widemargin", "train", data, "ours.model"]
            command += ["--intercept", "none", "--format", "liblinear", "--quiet"]
            command += ["--tol", options.tol, "-j", options.jobs]
            programs = {
                "widemargin train": command,
                f"liblinear-train {options.liblinear}": [
                    "liblinear-train",
                    "-q",
                    *options.liblinear.split(),
                    data,
                    "theirs.model",
                ],
            }
            seconds: dict[str, list[float]] = {program: [] for program in programs}
            for _ in range(options.repeats):
                for program, words in programs.items():
                    began = time.perf_counter()
                    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
                    seconds[program].append(time.perf_counter() - began)
            X, y = load_svmlight(data)
            medians = {program: statistics.median(times) for program, times in seconds.items()}
            ours = medians["widemargin train"]
            for program, model in zip(programs, ("ours.model", "theirs.model"), strict=True):
                table.add_row(
                    name,
                    program,
                    f"{medians[program]:.2f}",
                    f"{medians[program] / ours:.2f}",
                    f"{objective(Path(folder) / model, X, y):.8g}",
                )
    Console().print(table)


if __name__ == "__main__":
    main()
