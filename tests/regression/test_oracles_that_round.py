"""Found by the campaign of certificates: an oracle overlooks the worst output by rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from widemargin.estimators.structured_models import MulticlassModel
from widemargin.problems.certificate import Point
from widemargin.problems.structured import Outputs, StructuredProblem


def test_scores_that_are_equal_in_double_precision() -> None:
    """The oracle saw no loss, and the primal value was below the objective."""
    x, small = np.array([1e8, 1.0]), 2.0**-30
    w = np.array([1.0, 0.0, 1.0, small - 1.0])
    assert MulticlassModel(2).oracle(x, 0, w) == 0
    problem = StructuredProblem(MulticlassModel(2), [x], [0], np.ones(1))
    proof = problem.certify(Point(w, None, Outputs.none(1)))[1]
    objective = sum(Fraction(float(v)) ** 2 for v in w) / 2 + Fraction(small)
    assert proof.primal >= objective
