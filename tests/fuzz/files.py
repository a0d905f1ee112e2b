"""Damaged files: refused in one sentence or read in full, and then as others read them."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from tests.fuzz.children import Outcome

from widemargin import (
    DataFormatError,
    LinearModel,
    ModelFormatError,
    load_liblinear,
    load_model,
    load_svmlight,
    save_liblinear,
    save_model,
)
from widemargin.data.csv_tables import read_csv
from widemargin.data.parquet_tables import read_parquet, write_parquet

Random = np.random.Generator
FILES_PER_CASE = 200
FILES_PER_BASE = 20
"""Damaged files that are made from one sound file."""
LIMIT = 20.0
"""Seconds that a case may take."""

TOKENS = (
    *(b"nan", b"inf", b"-inf", b"1e400", b"-1e-400", b"0x10", b"1_0", b"+1", b"--1", b".", b"1."),
    *(b"0:1", b"-1:1", b"1:", b":1", b"1::2", b"2147483648:1", b"9223372036854775807:1", b"qid:1"),
    *(b"qid:-1", b"#", b"\r\n", b"\n\n", b"\t", b" ", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b",,"),
    *(b'"', b"'", b";", b"5e-324", b"1.7976931348623157e308", b"0.1e+", b"1e", b"00012:7"),
    *(b"label", b"w", b"bias", b"solver_type", b"nr_class 99999999", b"18446744073709551616:1"),
)


def case(seed: int, number: int) -> Outcome:
    """Damage files of one kind, read them, and judge what was read."""
    random = np.random.default_rng([seed, number])
    kind = list(KINDS)[number % len(KINDS)]
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        accepted, failure = attack(random, kind, Path(folder) / f"a.{kind}", FILES_PER_CASE)
    if failure:
        return Outcome(kind, "failed", failure)
    return Outcome(kind, "some accepted" if accepted else "all refused")


def attack(random: Random, kind: str, path: Path, count: int) -> tuple[int, str]:
    """Write and read so many damaged files; return how many were accepted, and what is wrong."""
    make, judge = KINDS[kind]
    accepted = 0
    for place in range(count):
        if place % FILES_PER_BASE == 0:
            sound = make(random, path)
        path.write_bytes(
            _damaged_model(random, sound) if kind == "model" else mutated(random, sound)
        )
        try:
            accepted += judge(path)
        except (DataFormatError, ModelFormatError) as error:
            if not str(error).startswith(str(path)):
                return accepted, f"the message names no file: {error}"
        except Exception as error:
            text = f"{type(error).__name__}: {error} for {path.read_bytes()[:300]!r}"
            return accepted, " ".join(text.split())
    return accepted, ""


def mutated(random: Random, content: bytes) -> bytes:
    """Return the bytes with a few of them changed, lost, doubled or replaced by tokens."""
    data = bytearray(content)
    for _ in range(int(random.integers(0, 4))):
        if not data:
            break
        at = int(random.integers(len(data)))
        to = min(len(data), at + int(random.integers(1, 20)))
        way = random.integers(6)
        if way == 0:
            data[at] = int(random.integers(256))
        elif way == 1:
            del data[at:to]
        elif way == 2:
            data[at:at] = data[at:to]
        elif way == 3:
            data[at:at] = TOKENS[random.integers(len(TOKENS))]
        elif way == 4:
            data[at:to] = TOKENS[random.integers(len(TOKENS))]
        else:
            del data[at:]
    return bytes(data)


def _number(random: Random) -> str:
    value = random.normal() * 10.0 ** random.integers(-300, 300) ** random.choice([0, 1])
    formats = ("{!r}", "{:g}", "{:.3f}", "{:e}", "{:+.17g}", "{:.0f}")
    return formats[random.integers(len(formats))].format(value)[:40]


def _svmlight_text(random: Random, path: Path) -> bytes:
    ids = random.random() < 0.2
    lines = []
    for _ in range(random.integers(1, 6)):
        places = np.unique(random.integers(1, 30, size=random.integers(0, 6)))
        cells = [str(random.choice(["1", "-1", "+1", "2.5", "0"]))]
        cells += [f"qid:{random.integers(9)}"] * ids
        cells += [f"{place}:{_number(random)}" for place in places]
        comment = " # a comment 3:4" if random.random() < 0.1 else ""
        lines.append(" ".join(cells) + comment)
    end = "\r\n" if random.random() < 0.1 else "\n"
    return end.join(lines).encode() + end.encode() * int(random.integers(2))


def _svmlight(path: Path) -> bool:
    X, y = load_svmlight(path)
    X.check_format(full_check=True)
    assert np.isfinite(X.data).all(), "a value that is not finite was accepted"
    if X.shape[1] > 10**6:
        return True  # scikit-learn takes long over it
    try:
        theirs, labels = load_svmlight_file(str(path))
    except Exception:
        return True  # they refuse more, and less clearly
    same = (
        theirs.shape[0] == X.shape[0]
        and np.array_equal(labels, y)
        and np.array_equal(theirs.indptr, X.indptr)
        and np.array_equal(theirs.data, X.data)
        and np.array_equal(theirs.indices, X.indices)
    )
    assert same, "scikit-learn reads other numbers"
    return True


def _csv_text(random: Random, path: Path) -> bytes:
    width = int(random.integers(1, 5))
    words = random.random() < 0.5
    rows = [[_number(random) for _ in range(width)] for _ in range(random.integers(1, 6))]
    for row in rows:
        row.append(str(random.choice(["a", "b"])) if words else str(random.integers(3)))
    if random.random() < 0.5:
        rows.insert(0, [f"x{j}" for j in range(width)] + ["y"])
    text = io.StringIO()
    csv.writer(text, delimiter=str(random.choice([",", ";", "\t"]))).writerows(rows)
    return text.getvalue().encode()


def _csv(path: Path) -> bool:
    table = read_csv(path)
    assert np.isfinite(table.X).all(), "a value that is not finite was accepted"
    # Again by Python's own parser, wherever the separator is plain.
    text = path.read_text(encoding="utf-8-sig")
    if '"' in text or text.count(",") == 0 or text.count(";") or text.count("\t"):
        return True
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if any(map(str.strip, row))]
    rows = rows[table.feature_names is not None :]
    cells = np.array([[float(cell) for cell in row[:-1]] for row in rows])
    assert np.array_equal(cells, table.X), "Python's own parser reads other numbers"
    return True


def _parquet_bytes(random: Random, path: Path) -> bytes:
    y = random.choice(["a", "b"], size=6) if random.random() < 0.5 else random.integers(3, size=6)
    write_parquet(random.normal(size=(6, 2)), y, path)
    return path.read_bytes()


def _parquet(path: Path) -> bool:
    table = read_parquet(path)
    assert np.isfinite(table.X).all(), "a value that is not finite was accepted"
    return True


def _some_model(random: Random) -> LinearModel:
    k = int(random.choice([1, 3]))
    words = random.random() < 0.3
    classes: Any = ["a", "b", "c"] if words else [-1, 4, 7]
    return LinearModel(
        random.normal(size=(k, 2)),
        random.normal(size=k),
        np.array(classes[: max(2, k)]),
        str(random.choice(["hinge", "squared_hinge", "logistic"])),
        C=1.0,
        primal=np.ones(k),
        dual=np.ones(k),
        status=("converged",) * k,
        solver="dual_cd",
        feature_names=("u", "v") if random.random() < 0.5 else None,
    )


def _used(load: Callable[[Any], LinearModel], save: Callable[..., None], path: Path) -> bool:
    """Read a model, use it, and write it again."""
    model = load(path)
    assert np.isfinite(model.coef).all(), "a weight that is not finite was accepted"
    model.predict(np.ones((2, model.n_features)))
    repr(model)
    model.certificates  # noqa: B018
    try:
        model.to_estimator().certificates_  # noqa: B018
        save(model, path)
    except ValueError:
        return True  # of a kind that no estimator has, or that the format cannot hold
    assert np.array_equal(load(path).coef, model.coef), "written and read again, it differs"
    return True


def _own_bytes(random: Random, path: Path) -> bytes:
    save_model(_some_model(random), path)
    return path.read_bytes()


def _damaged_model(random: Random, content: bytes) -> bytes:
    """Return a damaged file, or a sound checksum around a damaged inside."""
    if random.random() < 0.5:
        return mutated(random, content)
    inside = mutated(random, content[24:-32])
    content = content[:16] + struct.pack("<Q", 24 + len(inside) + 32) + inside
    return content + hashlib.sha256(content).digest()


def _liblinear_bytes(random: Random, path: Path) -> bytes:
    model = _some_model(random)
    while model.classes.dtype.kind == "U":
        model = _some_model(random)
    save_liblinear(model, path)
    return path.read_bytes()


KINDS: dict[str, tuple[Callable[[Random, Path], bytes], Callable[[Path], bool]]] = {
    "svm": (_svmlight_text, _svmlight),
    "csv": (_csv_text, _csv),
    "model": (_own_bytes, lambda path: _used(load_model, save_model, path)),
    "liblinear": (_liblinear_bytes, lambda path: _used(load_liblinear, save_liblinear, path)),
    "parquet": (_parquet_bytes, _parquet),
}
"""How a sound file is made, and how a damaged one is read and judged."""
