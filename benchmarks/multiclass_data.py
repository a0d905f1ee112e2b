"""The multiclass data sets: CSR float64 with int32 indices, labels from 0 to k − 1."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from scipy.sparse import csr_matrix

from .problems import unpack

FILES = {
    "dna": "dna.scale",
    "satimage": "satimage.scale",
    "letter": "letter.scale",
    "usps": "usps",
    "mnist": "mnist.scale",
    "news20": "news20.scale",
}
NAMES = (*FILES, "20newsgroups")


def load(name: str, test: bool = False, width: int | None = None) -> tuple[csr_matrix, np.ndarray]:
    """Read a set, or its test part with the width of the training part."""
    from sklearn.datasets import load_svmlight_file

    if name == "20newsgroups":
        return newsgroups()
    if name == "aloi-like":
        return aloi_like()
    file = FILES[name] + (".t" if test else "")
    X, y = load_svmlight_file(BytesIO(unpack(file)), n_features=width)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, np.unique(y, return_inverse=True)[1]


def newsgroups() -> tuple[csr_matrix, np.ndarray]:
    """Build tf-idf of the 20 newsgroups' training texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    lines = unpack("text/20newsgroups-train.tab").decode("utf-8", "replace").splitlines()
    rows = [line.split("\t") for line in lines[3:] if "\t" in line]
    group = 0 if "sci.space" in {row[0] for row in rows} else 1
    X = TfidfVectorizer().fit_transform(row[1 - group] for row in rows)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, np.unique([row[group] for row in rows], return_inverse=True)[1]


def aloi_like(
    n: int = 81_000, d: int = 128, k: int = 1000, density: float = 0.24, seed: int = 0
) -> tuple[csr_matrix, np.ndarray]:
    """Generate images' colour histograms as ALOI has them: 81 views each of k objects.

    An object has a profile of gamma variables (shape 0.3) over the d colours; a view multiplies it
    by exponential variables, adds a little gamma noise (shape 0.1, scale 0.5), keeps the largest
    24 % of the entries, and is scaled to a maximum of 1 in each colour.
    """
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(k), n // k)
    profile = random.gamma(0.3, 1.0, size=(k, d))
    X = profile[y] * random.gamma(1.0, 1.0, size=(n, d)) + random.gamma(0.1, 0.5, size=(n, d))
    X[np.quantile(X, 1.0 - density, axis=1, keepdims=True) > X] = 0.0
    X /= X.max(axis=0)
    order = random.permutation(n)
    return csr_matrix(X[order]), y[order]
