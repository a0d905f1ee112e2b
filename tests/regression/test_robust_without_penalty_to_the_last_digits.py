"""Without a penalty, dual variables were shrunk by 1e-9 or 1e-6 where rounding asked for far less.

Fits to 1e-9 then went on for dozens of steps, and with norm infinity ended at 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import RobustSVC


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_rounding_costs_what_it_can_be_worth(norm: float) -> None:
    random = np.random.default_rng(0)
    X = sp.random_array((6000, 60), density=0.2, format="csr", rng=random)
    X.data[:] = 1.0
    y = np.where(X @ random.normal(size=60) + random.normal(size=6000) > 0.0, 1, -1)
    model = RobustSVC(
        0.1, label_cost=1.0, norm=norm, fit_intercept=False, solver="interior_point", tol=1e-9
    )
    model.fit(X, y)
    certificate = model.certificate_
    assert certificate.relative_gap <= 1e-9
    # Exact sums give back what plain ones had taken away.
    assert certificate.rounding <= 1e-10 * certificate.primal
