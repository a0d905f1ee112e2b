"""The different labels of data: found once, and without sorting where there are two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from widemargin.cli.inputs import Data
from widemargin.data.labels import different_labels

LABELS: list[Any] = [
    np.array([3, 1, 3, 1, 1]),
    np.array([-1.0, 1.0, 1.0]),
    np.array([2.0, 2.0]),
    np.array([2, 0, 1, 0]),
    np.array(["b", "a", "b"]),
    np.array([True, False, True]),
    np.array([1.0, np.nan, 2.0]),
]


@pytest.mark.parametrize("y", LABELS)
def test_labels_are_those_of_a_sort(y: Any) -> None:
    found = different_labels(y)
    np.testing.assert_array_equal(found, np.unique(y))
    assert found.dtype == y.dtype


def test_two_classes_are_not_sorted_and_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **more: Any) -> Any:
        raise AssertionError("sorted")

    y = np.arange(1000) % 2
    monkeypatch.setattr(np, "unique", refuse)
    data = Data(np.eye(1000), y, None, 0.0)
    assert data.labels.tolist() == [0, 1]
    assert data.labels is data.labels
