"""A sparse matrix whose indices led outside of it made predict crash, or answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import KernelSVC, LinearSVC, RobustSVC, model_of

Y = np.arange(20) % 2
MODELS = [model.fit(np.eye(20) + 1.0, Y) for model in (LinearSVC(), RobustSVC(), KernelSVC())]
USES: dict[str, Callable[[Any], Any]] = {
    **{f"{type(m).__name__}.predict": m.predict for m in MODELS},
    **{f"{type(m).__name__}.decision_function": m.decision_function for m in MODELS},
    **{f"{type(m).__name__}.score": lambda S, m=m: m.score(S, Y) for m in MODELS},
    **{f"{type(m).__name__}.fit": lambda S, m=m: m.fit(S, Y) for m in MODELS},
    "LinearModel.predict": model_of(MODELS[0]).predict,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_matrix])
def test_they_are_refused(use: str, kind: Any) -> None:
    for part, value in (("indices", 10**6), ("indices", -5), ("indptr", 10**9), ("indptr", -1)):
        S = kind(np.eye(20))
        getattr(S, part)[3] = value
        told = "." if use.endswith("fit") else "X is not a consistent sparse matrix"
        with pytest.raises(ValueError, match=told):
            USES[use](S)
    assert np.isfinite(USES["LinearSVC.decision_function"](sp.csr_matrix(np.eye(20)))).all()
