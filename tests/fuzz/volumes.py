"""Many damaged files of one kind: ``python -m tests.fuzz.volumes svm --accepted 100000 --seed S``.

Ends after so many files, or so many that were accepted; prints how many there were of both.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from math import inf
from pathlib import Path

import numpy as np
from tests.fuzz.files import FILES_PER_CASE, KINDS, attack


def main() -> int:
    """Attack one kind of file; the exit code is 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.volumes")
    parser.add_argument("kind", choices=list(KINDS))
    parser.add_argument("--files", type=float, default=inf)
    parser.add_argument("--accepted", type=float, default=inf)
    parser.add_argument("--seconds", type=float, default=inf)
    parser.add_argument("--seed", type=int, default=14)
    options = parser.parse_args()
    files = accepted = number = failures = 0
    end = time.monotonic() + options.seconds
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        path = Path(folder) / f"a.{options.kind}"
        while files < options.files and accepted < options.accepted and time.monotonic() < end:
            random = np.random.default_rng([options.seed, number])
            found, failure = attack(random, options.kind, path, FILES_PER_CASE)
            files, accepted, number = files + FILES_PER_CASE, accepted + found, number + 1
            if failure:
                failures += 1
                print(f"FAILED  batch {number - 1}: {failure}", flush=True)
    print(f"{options.kind}: {files} files, {accepted} accepted, {failures} failures; ", end="")
    print(f"seed {options.seed}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
