"""Sequences: OCR words and CoNLL-2000 chunking, against other methods and against CRFsuite.

``python -m benchmarks.structures PART ...`` writes ``results/structures.csv``: CPU seconds of `fit`
alone, the certified gap, and test scores. A row that was measured before is replaced. Parts:

- ``ocr``, ``conll``: `SequenceSVC` with its defaults;
- ``crf``, ``crfsuite``: the log loss on CoNLL-2000, here and in CRFsuite;
- ``search``: OCR, C chosen by five folds of the training words, from the pixels alone and from the
  pixels and the products of neighbouring pixels;
- ``ocr-frank-wolfe``, ``ocr-bmrm``, ``conll-frank-wolfe``, ``conll-bmrm``: another method of this
  package to the same gap, or until it has taken ``--times`` the time of the default; fits take
  turns and the least time of each method counts;
- ``threads``: wall times with one and with two threads, on both sets, for a machine that does
  nothing else;
- ``memory``: resident memory of training on CoNLL-2000 with a dictionary of features for each
  word, in a process each, beside sklearn-crfsuite: the peak, and what training adds; then the same
  from an iterator, which keeps no dictionaries.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import gc
import pickle
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
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

from .memory import peak_bytes, reset_peak
from .problems import data_folder

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
    "peak_megabytes",
    "added_megabytes",
]


class Letters:
    """Train fold 0, test folds 1 to 9."""

    name, C = "ocr", 0.1

    def __init__(self, folder: Path, pairs: bool = False) -> None:
        self.name = "ocr, pairs of pixels" if pairs else "ocr"
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
    """Train and test one model; write the row."""
    return write(fitted(data, model))


def fitted(data: Any, model: Any) -> dict[str, Any]:
    """Train and test one model."""
    X, y, lengths = data.train
    cpu, wall = time.process_time(), time.perf_counter()
    model.fit(X, y, lengths=lengths)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    found = model.predict(data.test[0], lengths=data.test[2])
    right = np.concatenate(found) == np.concatenate(data.truth)
    return {
        "data": data.name,
        "model": type(model).__name__,
        "solver": model.solver,
        "C": getattr(model, "C_", getattr(model, "C", "")),
        "threads": model.n_jobs or 1,
        "cpu_seconds": round(cpu, 3),
        "seconds": round(wall, 3),
        "gap": f"{model.certificate_.relative_gap:.2e}",
        "accuracy": round(float(right.mean()), 4),
        "f1": round(span_f1(data.truth, found), 4) if data.name.startswith("conll") else "",
    }


def write(row: dict[str, Any]) -> dict[str, Any]:
    """Put a row into the results, in place of the one for the same thing, and print it."""
    rows = []
    if RESULTS.exists():
        with RESULTS.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    places = [place for place, old in enumerate(rows) if _key(old) == _key(row)]
    for place in reversed(places):
        del rows[place]
    rows.insert(places[0] if places else len(rows), row)
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, FIELDS)
        out.writeheader()
        out.writerows(rows)
    print(row, flush=True)
    return row


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("data", "model", "solver", "threads"))


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


def compare(data: Any, solver: str, times: float, rounds: int) -> None:
    """Compare the default with another method to the same gap, or `times` as long.

    They take turns, the default first and last, and the least CPU time of each counts: the first
    fit of a process is slower than the others.
    """
    own = [fitted(data, SequenceSVC(data.C))]
    limit = times * own[0]["seconds"]
    others = []
    for _ in range(rounds):
        model = SequenceSVC(data.C, solver=solver, time_limit=limit, max_iter=10**6)
        others.append(fitted(data, model))
        own.append(fitted(data, SequenceSVC(data.C)))
    mine, other = (min(rows, key=lambda row: row["cpu_seconds"]) for rows in (own, others))
    write(mine)
    write(other)
    ratio = other["cpu_seconds"] / mine["cpu_seconds"]
    reached = float(other["gap"]) <= SequenceSVC().tol
    print(f"{solver}: {'' if reached else 'more than '}{ratio:.1f}x the time of the default")


def dictionaries(folder: Path) -> tuple[list[Any], list[Any]]:
    """Return CoNLL-2000 as sklearn-crfsuite takes it."""
    data = load_conll(folder / "conll2000.train.txt.xz")
    # Keys and values are shared between the dictionaries, which is less than a script of its own
    # would take that cuts them out of the text word by word.
    pairs = [tuple(name.split(":", 1)) for name in data.feature_names]
    names = np.empty(len(pairs), dtype=object)
    names[:] = [(sys.intern(pair[0]), pair[-1]) for pair in pairs]
    sentences = [[dict(token) for token in sentence] for sentence in _names(data, names)]
    return sentences, _labels(data)


def _sklearn_crfsuite() -> Any:
    import sklearn_crfsuite

    # The peak is reached while the data are handed over; iterations do not add to it.
    return sklearn_crfsuite.CRF(algorithm="lbfgs", c2=1.0, max_iterations=3)


MODELS: dict[str, Callable[[], Any]] = {
    "sklearn-crfsuite": _sklearn_crfsuite,
    "SequenceSVC": lambda: SequenceSVC(0.1),
    "SequenceCRF": lambda: SequenceCRF(0.5),
}
ITERATOR = ", iterator"


def train_for_memory(name: str, folder: Path) -> None:
    """Train in this process; print its peak of resident memory, and what training added."""
    X: Any
    X, y = dictionaries(folder)
    model = MODELS[name.removesuffix(ITERATOR)]()
    if name.endswith(ITERATOR):
        # The sentences are kept in a file here, as a reader of the text would find them there.
        X = _from_file(X, folder=Path(tempfile.mkdtemp()))
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    reset_peak()
    before = peak_bytes()
    model.fit(X, y)
    print(peak_bytes() / 2**20, (peak_bytes() - before) / 2**20)


def _from_file(sentences: list[Any], folder: Path) -> Iterator[Any]:
    """Write sentences to a file, and return an iterator that reads them."""
    path = folder / "sentences"
    with path.open("wb") as file:
        for sentence in sentences:
            pickle.dump(sentence, file)
    count = len(sentences)
    sentences.clear()

    def read() -> Iterator[Any]:
        with path.open("rb") as file:
            for _ in range(count):
                yield pickle.load(file)

    return read()


def memory(folder: Path) -> None:
    """Compare resident memory, with dictionaries."""
    for model in (*MODELS, *(name + ITERATOR for name in MODELS)):
        command = [sys.executable, "-m", "benchmarks.structures", "--inside", model]
        done = subprocess.run([*command, "--data", str(folder)], capture_output=True, check=True)
        peak, added = map(float, done.stdout.split()[-2:])
        row: dict[str, Any] = dict.fromkeys(FIELDS, "")
        row |= {"data": "conll2000", "model": f"{model}, memory", "threads": 1}
        write(row | {"peak_megabytes": round(peak), "added_megabytes": round(added)})


def threads(folder: Path, times: int = 3) -> None:
    """Print wall times with one and with two threads: the fastest of a few fits that take turns."""
    for data in (Letters(folder), Chunking(folder)):
        X, y, lengths = data.train
        best = dict.fromkeys((1, 2), float("inf"))
        for _ in range(times):
            for count in best:
                start = time.perf_counter()
                SequenceSVC(data.C, n_jobs=count).fit(X, y, lengths=lengths)
                best[count] = min(best[count], time.perf_counter() - start)
        one, two = best[1], best[2]
        print(f"{data.name}: {one:.2f} s with one thread, {two:.2f} s with two: {one / two:.2f}x")


def search(folder: Path) -> None:
    """Choose C by folds of the training words."""
    measured(Letters(folder), SequenceSVCCV(Cs=[0.03, 0.1, 0.3], cv=5))
    measured(Letters(folder, pairs=True), SequenceSVCCV(Cs=[0.01, 0.03, 0.1], cv=5))


PARTS: dict[str, Callable[[Path, float], object]] = {
    "ocr": lambda folder, _: measured(Letters(folder), SequenceSVC(Letters.C)),
    "conll": lambda folder, _: measured(Chunking(folder), SequenceSVC(Chunking.C)),
    "search": lambda folder, _: search(folder),
    "ocr-frank-wolfe": lambda f, times: compare(Letters(f), "block_frank_wolfe", times, 3),
    "ocr-bmrm": lambda f, times: compare(Letters(f), "bmrm_qp", times, 3),
    "conll-frank-wolfe": lambda f, times: compare(Chunking(f), "block_frank_wolfe", times, 1),
    "conll-bmrm": lambda f, times: compare(Chunking(f), "bmrm_qp", times, 1),
    "threads": lambda folder, _: threads(folder),
    "crf": lambda folder, _: measured(Chunking(folder), SequenceCRF(0.5, boundaries=False)),
    "crfsuite": lambda folder, _: crfsuite(Chunking(folder), 1.0),
    "memory": lambda folder, _: memory(folder),
}


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["ocr", "conll", "crf"])
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--times", type=float, default=11.0, help="limit for a slow method")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        train_for_memory(arguments.inside, arguments.data)
        return
    for part in arguments.parts:
        PARTS[part](arguments.data, arguments.times)


if __name__ == "__main__":
    main()
