"""The data sets of the speed comparison, as CSR float64 with int32 indices and labels of ±1.

Files are looked for in ``$WIDEMARGIN_DATA``, else in ``../shared/data`` beside the project. Parsed
arrays are kept in ``$WIDEMARGIN_BENCH_CACHE``, else in ``~/.cache/widemargin-bench``.
"""

from __future__ import annotations

import lzma
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

TEXT_SEED = 20240501


class MissingDataError(Exception):
    """A data file is not on this machine."""


def data_folder() -> Path:
    """Give the folder of the packed LIBSVM files."""
    named = os.environ.get("WIDEMARGIN_DATA")
    return Path(named) if named else Path(__file__).parents[2] / "shared" / "data"


def cache_folder() -> Path:
    """Give the folder of everything that is kept between runs, outside the repository."""
    named = os.environ.get("WIDEMARGIN_BENCH_CACHE")
    folder = Path(named) if named else Path.home() / ".cache" / "widemargin-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def unpack(name: str) -> bytes:
    """Read one xz-packed file of the data folder."""
    path = data_folder() / f"{name}.xz"
    if not path.exists():
        raise MissingDataError(f"{path.name} is not in the data folder (set WIDEMARGIN_DATA)")
    with lzma.open(path) as packed:
        return packed.read()


def libsvm_file(name: str, positive: float | None = None) -> tuple[csr_matrix, np.ndarray]:
    """Read LIBSVM text; the larger label, or `positive` against the rest, becomes +1."""
    from io import BytesIO

    from sklearn.datasets import load_svmlight_file

    X, labels = load_svmlight_file(BytesIO(unpack(name)))
    chosen = labels.max() if positive is None else positive
    return X, np.where(labels == chosen, 1.0, -1.0)


def newsgroups(positive: str = "sci.space") -> tuple[csr_matrix, np.ndarray]:
    """Build tf-idf of the 20 newsgroups' training texts, one group against the rest."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    lines = unpack("text/20newsgroups-train.tab").decode("utf-8", "replace").splitlines()
    rows = [line.split("\t") for line in lines[3:] if "\t" in line]
    groups = {row[0] for row in rows}
    group, text = (0, 1) if positive in groups else (1, 0)
    X = TfidfVectorizer().fit_transform(row[text] for row in rows)
    return X, np.where(np.array([row[group] for row in rows]) == positive, 1.0, -1.0)


def generated_text(
    n: int = 60_000, d: int = 50_000, words: int = 75, seed: int = TEXT_SEED
) -> tuple[csr_matrix, np.ndarray]:
    """Generate documents of `words` distinct words each, with labels from 2,000 words and noise.

    Words are drawn by Zipf's law, values are tf-idf-like (log-normal counts times the logarithm
    of the inverse frequency) and rows have unit length. 5 % of the labels are flipped.
    """
    generator = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, d + 1) ** 0.9
    cumulative = np.cumsum(frequency / frequency.sum())
    indices = np.empty((n, words), dtype=np.int32)
    for i in range(n):
        # Twice the words drawn leaves enough distinct ones; the loop repeats when it does not.
        distinct = np.empty(0, dtype=np.int64)
        size = 2 * words
        while len(distinct) < words:
            drawn = np.searchsorted(cumulative, generator.random(size))
            distinct, size = np.unique(np.minimum(drawn, d - 1)), 2 * size
        indices[i] = np.sort(generator.choice(distinct, words, replace=False))
    seen_in = np.bincount(indices.ravel(), minlength=d)
    inverse_frequency = np.log((1 + n) / (1 + seen_in)) + 1
    values = np.exp(0.5 * generator.standard_normal((n, words))) * inverse_frequency[indices]
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    indptr = np.arange(0, n * words + 1, words, dtype=np.int32)
    X = csr_matrix((values.ravel(), indices.ravel(), indptr), shape=(n, d))
    truth = np.zeros(d)
    truth[generator.choice(d, 2_000, replace=False)] = generator.standard_normal(2_000)
    scores = X @ truth
    y = np.where(scores >= np.median(scores), 1.0, -1.0)
    y[generator.random(n) < 0.05] *= -1
    return X, y


SOURCES: dict[str, Callable[[], tuple[csr_matrix, np.ndarray]]] = {
    "a9a": partial(libsvm_file, "a9a"),
    "mushrooms": partial(libsvm_file, "mushrooms"),
    "ijcnn1": partial(libsvm_file, "ijcnn1"),
    "w8a": partial(libsvm_file, "w8a"),
    "madelon": partial(libsvm_file, "madelon"),
    "leu": partial(libsvm_file, "leu"),
    "news20.scale": partial(libsvm_file, "news20.scale", positive=1),
    "20newsgroups": newsgroups,
    "text": generated_text,
    "mnist.scale": partial(libsvm_file, "mnist.scale", positive=8),
    "covtype": partial(libsvm_file, "covtype.libsvm.binary.scale"),
    # Not part of the comparison: small enough to check that all rivals solve the same problem.
    "a1a": partial(libsvm_file, "a1a"),
}
SPEED = tuple(name for name in SOURCES if name != "a1a")


def arrays_file(name: str) -> Path:
    """Give the cached arrays of a data set, parsing it when this is its first use."""
    path = cache_folder() / "data" / f"{name}.npz"
    if not path.exists():
        X, y = SOURCES[name]()
        X.sum_duplicates()
        path.parent.mkdir(exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.npz")
        np.savez(
            temporary,
            data=X.data.astype(np.float64),
            indices=X.indices.astype(np.int32),
            indptr=X.indptr.astype(np.int32),
            shape=np.array(X.shape),
            y=y,
        )
        temporary.replace(path)
    return path


def load(name: str) -> tuple[csr_matrix, np.ndarray]:
    """Load a data set, from the cache when it was parsed before."""
    return read_arrays(arrays_file(name))


def read_arrays(path: Path) -> tuple[csr_matrix, np.ndarray]:
    """Read what `arrays_file` wrote."""
    with np.load(path) as stored:
        parts = (stored["data"], stored["indices"], stored["indptr"])
        return csr_matrix(parts, shape=tuple(stored["shape"])), stored["y"]
