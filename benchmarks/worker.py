"""A process that holds one rival and one data set, and fits on request.

Run by `benchmarks.session` as ``python -m benchmarks.worker <file of peers/>``. Requests and
answers are one JSON object a line. The interpreter may differ from the harness's own, for rivals
that do not install beside the others, so this file keeps to Python 3.10.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .peers.base import NotServedError, Peer
from .problems import read_arrays

# A fit of a few milliseconds is repeated up to this long, and the fastest run counts.
REPEAT_SECONDS = 0.1
REPEATS = 3


class Worker:
    """The state of one worker: its peers, the data set, and what each peer prepared from it."""

    def __init__(self, module: str) -> None:
        self.source = importlib.import_module(f".peers.{module}", __package__)
        self.peers: dict[str, Peer] = {peer.name: peer for peer in self.source.peers()}
        self.prepared: dict[Any, Any] = {}

    def describe(self) -> list[dict[str, Any]]:
        """List the peers for the harness."""
        return [
            {"name": peer.name, "losses": peer.losses, "levels": peer.levels}
            for peer in self.peers.values()
        ]

    def load(self, path: str) -> dict[str, Any]:
        """Read a data set and forget what was prepared from the one before."""
        self.X, self.y = read_arrays(Path(path))
        self.prepared.clear()
        return {}

    def prepare(self, name: str) -> dict[str, Any]:
        """Let a peer convert the data; peers that share the function share its result."""
        peer = self.peers[name]
        if peer.prepare not in self.prepared:
            self.prepared[peer.prepare] = peer.prepare(self.X, self.y)
        return {}

    def fit(self, name: str, loss: str, C: float, level: float, once: bool) -> dict[str, Any]:
        """Fit and time; `once` turns off the repeats of very short fits."""
        peer = self.peers[name]
        prepared = self.prepared[peer.prepare]
        seconds: list[float] = []
        while not seconds or (
            not once and len(seconds) < REPEATS and sum(seconds) < REPEAT_SECONDS
        ):
            start = time.process_time()
            w = peer.fit(prepared, loss, C, level)
            seconds.append(time.process_time() - start)
        weights = np.ascontiguousarray(w, dtype=np.float64)
        return {"seconds": min(seconds), "w": base64.b64encode(weights.tobytes()).decode()}

    def certify(self, loss: str, C: float, tol: float, time_limit: float) -> dict[str, Any]:
        """Compute an optimum with its lower bound; only widemargin's file can."""
        primal, dual = self.source.certify(self.X, self.y, loss, C, tol, time_limit)
        return {"primal": primal, "dual": dual}


def main() -> None:
    """Answer requests until the harness closes the pipe."""
    # Rivals print from C; only answers may reach the pipe.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.filterwarnings("ignore")

    def answer(content: dict[str, Any]) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    try:
        worker = Worker(sys.argv[1])
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"})
        return
    answer({"peers": worker.describe()})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer(getattr(worker, request.pop("call"))(**request))
        except NotServedError as error:
            answer({"error": str(error)})
        except Exception as error:
            traceback.print_exc()
            answer({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
