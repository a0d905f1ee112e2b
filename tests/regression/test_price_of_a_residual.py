"""Reported: problems far from zero, whose claims the exact judge could not follow."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import LinearSVC, LogisticRegression, verify_exactly

FAR = [
    (
        [33554448.0, 33554430.0, 33554452.0, 33554398.0],
        [1.117989637019079e-05, 1207.4756257284976, 1.2873763323033346e-06, 221153.44323052533],
        0.09332510420088164,
    ),
    (
        [268435616.0, 268435488.0, 268435424.0, 268435360.0, 268435584.0, 268435488.0],
        [602107.2, 1463.087, 0.006425517, 16.93303, 3.522941, 5.636926],
        0.01346018,
    ),
]

MULTINOMIAL = """
5.27687322e+09 1.43687309e+09 3.35536456e+13 1.67776236e+10 -137624016
8.38900174e+12 1.34218911e+14 6.63232471e+10 5.23894391e+11 -924873024
1004096 1000256 33554432 1016384 1000256
8388608 135217728 -934464 1524288 -999744
18374.666 14534.666 33559192 -7413.77637 14534.666
8379089 134232000 79814.6641 519528.438 9775.11035
4096.04492 256 33554432 16384 256.014648
8388608 134217728 65536 524288 255.985352
4096 256.000977 33554432 16384 256.00293
8388608 134217728 65536 524288 255.996094
4100.39355 251.606445 33554448 16388.3945 251.606445
8388621 134217704 65531.6055 524274.812 247.212891
4096.00098 256.000977 33554432 16384 255.999023
8388608 134217728 65536 524288 256.001953
4096 1000256 34554432 1016384 1000256
9388608 133217728 -934464 -475712 1000256
"""


@pytest.mark.parametrize(("x", "weight", "C"), FAR)
def test_price_of_a_residual_around_the_mean(x: list[float], weight: list[float], C: float) -> None:
    """The price held around the library's own shift alone, not around the mean of the examples."""
    X, y = np.array(x, dtype=np.float32)[:, None], np.arange(len(x)) % 4
    model = LinearSVC("hinge", C=C, multi_class="crammer_singer", max_iter=5, tol=1e-12)
    model.set_params(solver="block_dual_cd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, weight)
    report = verify_exactly(model, X, y, weight)
    assert [problem.verdict for problem in report.problems] == ["true"], str(report)


def test_price_of_a_residual_of_weights_in_float32() -> None:
    """Multinomial: rounding the weights raised P, by which the residual had been priced before."""
    X = sp.csr_array(np.array(MULTINOMIAL.split(), dtype=np.float32).reshape(8, 10))
    y = [1, 2, 0, 2, 1, 0, 0, 2]
    weight = [0.0, 0.8904157936787086, 160271.1859678993, 0.0, 13228.106813590033]
    weight += [12.266482788889368, 0.0, 0.013904284498094305]
    model = LogisticRegression(C=0.677133451382688, max_iter=5, solver="newton")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, weight)
    report = verify_exactly(model, X, y, weight)
    assert [problem.verdict for problem in report.problems] == ["true"], str(report)
