"""Where rounding made a predictor raise the gap by far, the cube of the ratio overflowed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from widemargin import RobustSVC


@pytest.mark.parametrize("seed", [0, 4, 9])
def test_columns_of_all_scales(seed: int) -> None:
    """It was an OverflowError; now the fit ends, and what it says holds."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(3, 60)) * 10.0 ** random.uniform(-8.0, 7.0, 60)
    X[:, random.random(60) < 0.3] = 0.0
    model = RobustSVC(radius=0.01, norm=2.0, tol=1e-12, max_iter=150, solver="interior_point")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(class_weight="balanced").fit(X, [2, 1, 0])
    for certificate in np.atleast_1d(model.certificate_):
        assert 0.0 <= certificate.dual <= certificate.primal < np.inf
