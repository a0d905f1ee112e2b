"""Sequences: OCR words and CoNLL-2000 chunking, against other methods and against CRFsuite.

``python -m benchmarks.structures --data ../shared/data [ocr] [conll] [solvers] [crf] [threads]``
writes ``results/structures.csv``: CPU seconds of `fit` alone, the certified gap, and test scores.
"""

from __future__ import annotations

import argparse
import csv
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from widemargin import (
    SequenceCRF,
    SequenceSVC,
    SequenceSVCCV,
    load_conll,
    load_letters,
    span_f1,
)

RESULTS = Path(__file__).parent / "results" / "structures.csv"
FIELDS = [
    "data",
    "model",
    "solver",
    "C",
    "threads",
    "cpu_seconds",
    "seconds",
    "gap",
    "accuracy",
    "f1",
]


class Letters:
    """Train fold 0, test folds 1 to 9."""

    name, C = "ocr", 0.1

    def __init__(self, folder: Path, pairs: bool = False) -> None:
        X, y, fold = load_letters(folder / "letter.data.xz")
        if pairs:
            X = [_with_pairs(x) for x in X]
        inside = np.flatnonzero(fold == 0)
        outside = np.flatnonzero(fold != 0)
        self.train = ([X[i] for i in inside], [y[i] for i in inside], None)
        self.test = ([X[i] for i in outside], [y[i] for i in outside], None)
        self.truth = self.test[1]


class Chunking:
    """CoNLL-2000 with CRF++'s window."""

    name, C = "conll2000", 0.1

    def __init__(self, folder: Path) -> None:
        train = load_conll(folder / "conll2000.train.txt.xz")
        test = load_conll(folder / "conll2000.test.txt.xz", feature_names=train.feature_names)
        self.train = (train.X, train.y, train.lengths)
        self.test = (test.X, test.y, test.lengths)
        self.truth = np.split(test.y, np.cumsum(test.lengths)[:-1])
        self.files = (train, test)


def _with_pairs(x: np.ndarray) -> np.ndarray:
    """Append the products of neighbouring pixels (right, below, and both diagonals)."""
    image = x.reshape(-1, 16, 8)
    pairs = [
        image[:, :, 1:] * image[:, :, :-1],
        image[:, 1:] * image[:, :-1],
        image[:, 1:, 1:] * image[:, :-1, :-1],
        image[:, 1:, :-1] * image[:, :-1, 1:],
        image[:, :, 2:] * image[:, :, :-2],
        image[:, 2:] * image[:, :-2],
    ]
    return np.hstack([x, *(p.reshape(len(x), -1) for p in pairs)])


def measured(data: Any, model: Any) -> dict[str, Any]:
    """Train and test one model."""
    X, y, lengths = data.train
    cpu, wall = time.process_time(), time.perf_counter()
    model.fit(X, y, lengths=lengths)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    found = model.predict(data.test[0], lengths=data.test[2])
    right = np.concatenate(found) == np.concatenate(data.truth)
    row = {
        "data": data.name,
        "model": type(model).__name__,
        "solver": model.solver,
        "C": getattr(model, "C_", getattr(model, "C", "")),
        "threads": model.n_jobs or 1,
        "cpu_seconds": round(cpu, 2),
        "seconds": round(wall, 2),
        "gap": f"{model.certificate_.relative_gap:.2e}",
        "accuracy": round(float(right.mean()), 4),
        "f1": round(span_f1(data.truth, found), 4) if data.name.startswith("conll") else "",
    }
    return write(row)


def write(row: dict[str, Any]) -> dict[str, Any]:
    """Append a row to the results and print it."""
    fresh = not RESULTS.exists()
    with RESULTS.open("a", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, FIELDS)
        if fresh:
            out.writeheader()
        out.writerow(row)
    print(row, flush=True)
    return row


def crfsuite(data: Chunking, c2: float) -> None:
    """Train CRFsuite's L-BFGS with its defaults; its objective is 2 P at C = 1 / (2 c2)."""
    import pycrfsuite

    train, test = data.files
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=True)
    trainer.set_params({"c1": 0.0, "c2": c2})
    names = np.array(train.feature_names, dtype=object)
    for sentence, own in zip(_names(train, names), _labels(train), strict=True):
        trainer.append(sentence, own)
    lines: list[str] = []
    trainer.message = lines.append
    cpu, wall = time.process_time(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "model"))
        trainer.train(path)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        found = [tagger.tag(sentence) for sentence in _names(test, names)]
    losses = re.findall(r"Loss: ([0-9.]+)", "".join(lines))
    right = np.concatenate(found) == np.concatenate(data.truth)
    write(
        {
            "data": data.name,
            "model": f"CRFsuite, objective {losses[-1]}",
            "solver": "lbfgs",
            "C": 0.5 / c2,
            "threads": 1,
            "cpu_seconds": round(cpu, 2),
            "seconds": round(wall, 2),
            "gap": "",
            "accuracy": round(float(right.mean()), 4),
            "f1": round(span_f1(data.truth, found), 4),
        }
    )


def _names(data: Any, names: Any) -> list[list[list[str]]]:
    rows = np.split(names[data.X.indices], data.X.indptr[1:-1])
    tokens = [list(row) for row in rows]
    ends = np.cumsum(data.lengths)
    return [tokens[end - length : end] for end, length in zip(ends, data.lengths, strict=True)]


def _labels(data: Any) -> list[list[str]]:
    return [list(labels) for labels in np.split(data.y, np.cumsum(data.lengths)[:-1])]


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["ocr", "conll", "crf"])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--limit", type=float, default=400.0, help="seconds for a slow solver")
    arguments = parser.parse_args()
    parts = set(arguments.parts)
    sets: list[Any] = []
    if "ocr" in parts:
        sets.append(Letters(arguments.data))
        measured(sets[0], SequenceSVC(sets[0].C))
        if "search" in parts:
            measured(sets[0], SequenceSVCCV(Cs=[0.03, 0.1, 0.3], cv=5))
            measured(Letters(arguments.data, pairs=True), SequenceSVCCV(Cs=[0.01, 0.03, 0.1], cv=5))
    if "conll" in parts or "crf" in parts:
        sets.append(Chunking(arguments.data))
    if "conll" in parts:
        measured(sets[-1], SequenceSVC(sets[-1].C))
    if "threads" in parts:
        for data in sets:
            measured(data, SequenceSVC(data.C, n_jobs=2))
    if "solvers" in parts:
        for data in sets:
            for solver in ("block_frank_wolfe", "bmrm_qp"):
                measured(
                    data,
                    SequenceSVC(data.C, solver=solver, time_limit=arguments.limit, max_iter=10**6),
                )
    if "crf" in parts:
        measured(sets[-1], SequenceCRF(0.5, boundaries=False))
    if "crfsuite" in parts:
        crfsuite(sets[-1], 1.0)


if __name__ == "__main__":
    main()
