"""Text in LIBSVM's format for the tests of its reader and writer."""

import bz2
import gzip
import lzma
from io import BytesIO

import numpy as np
import scipy.sparse as sp

from widemargin.data.svmlight import load_svmlight

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def loads(text, **options):
    """Read text, or bytes, as if it were a file."""
    return load_svmlight(BytesIO(text.encode() if isinstance(text, str) else text), **options)


def assert_same(first, second):
    """Compare two results bit for bit, in values and in types."""
    for a, b in zip(first, second, strict=True):
        if sp.issparse(a):
            assert a.shape == b.shape
            assert_same((a.data, a.indices, a.indptr), (b.data, b.indices, b.indptr))
        else:
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()


def random_text(rng, rows=20000, comments=True):
    """Several megabytes, hence several pieces, with all that the format allows."""
    lines = []
    for _ in range(1500):
        if comments and rng.random() < 0.05:
            lines.append(rng.choice(["", "   ", "# 1:2 3:4 qid:5", "\t# :::", "\r"]))
        indices = np.unique(rng.integers(1, 5000, rng.integers(0, 30)))
        values = rng.standard_normal(len(indices)) * 10.0 ** rng.integers(-9, 9, len(indices))
        formats = rng.choice(["%.3f", "%.6g", "%.17g", "%+.5f", "%d", "%.4e"], len(indices))
        features = [f"{i}:{form % v}" for i, form, v in zip(indices, formats, values, strict=True)]
        separator = rng.choice([" ", "  ", "\t", " \t "])
        end = rng.choice(["", " ", "\r", " # 1:7 the end", "#x"]) if comments else ""
        lines.append(separator.join([rng.choice(["1", "-1", "+1", "2.5"]), *features]) + end)
    return "\n".join(rng.choice(lines, rows).tolist()).encode()
