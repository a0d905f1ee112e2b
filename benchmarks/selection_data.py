"""Sets, losses and folds of the searches over C that are compared."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from benchmarks.problems import libsvm_file, unpack

SETS = (
    "a9a",
    "w8a",
    "ijcnn1",
    "mushrooms",
    "madelon",
    "20newsgroups",
    "news20.scale",
    "covtype.libsvm.binary.scale",
)
LOSSES = {"logistic": 0, "squared_hinge": 2}


def load(name: str) -> tuple[Any, np.ndarray]:
    """Load a set with its own labels; 20 newsgroups as tf-idf."""
    from io import BytesIO

    from sklearn.datasets import load_svmlight_file

    if name == "20newsgroups":
        from sklearn.feature_extraction.text import TfidfVectorizer

        lines = unpack("text/20newsgroups-train.tab").decode("utf-8", "replace").splitlines()
        rows = [line.split("\t") for line in lines[3:] if "\t" in line]
        group = 0 if "sci.space" in {row[0] for row in rows} else 1
        X = TfidfVectorizer().fit_transform(row[1 - group] for row in rows)
        return X, np.unique([row[group] for row in rows], return_inverse=True)[1].astype(float)
    if name == "mushrooms":
        return libsvm_file(name)
    return load_svmlight_file(BytesIO(unpack(name)))


def folds_of(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the five folds that LIBLINEAR draws after ``srand(1)``."""
    libc = ctypes.CDLL(None)
    libc.srand(1)
    order = list(range(count))
    for i in range(count):
        j = i + libc.rand() % (count - i)
        order[i], order[j] = order[j], order[i]
    parts = [np.sort(order[k * count // 5 : (k + 1) * count // 5]) for k in range(5)]
    return [(np.setdiff1d(np.arange(count), test), test) for test in parts]
