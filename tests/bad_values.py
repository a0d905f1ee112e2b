"""Small data with one bad value in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

X = np.random.default_rng(0).normal(size=(20, 3))
y = np.where(np.arange(20) % 2, 1, -1)


def put(value: float, dtype: str = "float64") -> np.ndarray:
    changed = X.astype(dtype)
    changed[4, 1] = value
    return changed


def put_sparse(value: float) -> Any:
    changed = sp.csr_array(X)
    changed.data[7] = value
    return changed
