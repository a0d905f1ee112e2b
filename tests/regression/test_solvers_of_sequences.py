"""Found by the campaign of certificates: solvers of one kind of sequences offered for the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from widemargin import SequenceCRF, SequenceSVC


def test_a_conditional_random_field_by_a_solver_of_the_hinge() -> None:
    """It ended with a TypeError of the compiled code."""
    X, y = [np.eye(2), np.eye(2)[::-1]], [[0, 1], [1, 0]]
    with pytest.raises(ValueError, match=r"'lbfgs'") as told:
        SequenceCRF(solver="block_frank_wolfe").fit(X, y)
    assert "'bmrm_qp'" not in str(told.value)


def test_a_time_limit_inside_the_quadratic_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundle had a tangent without a share: zip() argument 2 is shorter than argument 1."""
    from widemargin.methods.published import _bundle

    def late(gram: object, offsets: object, start: object, checkpoint: Any) -> Any:
        clock.append(1e9)
        checkpoint()

    clock = [0.0]
    monkeypatch.setattr("widemargin.run.time.perf_counter", lambda: clock[-1])
    monkeypatch.setattr(_bundle, "solve_simplex_qp", late)
    X, y = [np.eye(2), np.eye(2)[::-1]], [[0, 1], [1, 0]]
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = SequenceSVC(solver="bmrm_qp", time_limit=1.0).fit(X, y)
    assert model.status_ == ["time_limit"]
