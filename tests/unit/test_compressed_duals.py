"""Dual variables without a residual: balanced, never raised, and in time for many classes."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.instruction_sets import core
from widemargin.problems.compressed_duals import CompressedDuals, residual_of, without_residual


def random_duals(
    random: np.random.Generator, n: int, k: int, entries: int
) -> tuple[CompressedDuals, np.ndarray]:
    """Some rivals for each example, none of them its own class."""
    label = random.integers(k, size=n).astype(np.int32)
    rival = (label[:, None] + random.integers(1, k, size=(n, entries))) % k
    rows = np.repeat(np.arange(n), entries)
    values = random.random(n * entries)
    return CompressedDuals.of(sp.coo_array((values, (rows, rival.ravel())), (n, k))), label


@pytest.mark.parametrize(
    ("n", "k", "entries"), [(5, 2, 1), (30, 3, 2), (40, 30, 1), (200, 100, 1), (3000, 50, 7)]
)
@pytest.mark.parametrize("seed", range(5))
def test_lowers_until_balanced(n: int, k: int, entries: int, seed: int) -> None:
    beta, label = random_duals(np.random.default_rng(seed), n, k, entries)
    before = beta.values.copy()
    left = without_residual(beta, label, k)
    assert (beta.values <= before * (1.0 + 1e-15)).all()
    assert (beta.values >= 0.0).all()
    assert np.abs(left).sum() <= 1e-14 * before.sum()
    np.testing.assert_allclose(residual_of(beta, label, k), left, atol=1e-15 * before.sum())


def test_long_way_round() -> None:
    """A chain 0 → 1 → … → 9 and nothing else: what 0 has too much passes through all others."""
    k = 10
    label = np.arange(k - 1, dtype=np.int32)
    beta = CompressedDuals.of(sp.coo_array((np.ones(k - 1), (label, label + 1)), (k - 1, k)))
    assert np.abs(without_residual(beta, label, k)).sum() == 0.0
    assert not beta.values.any()


def test_balanced_stays_as_it_is() -> None:
    label = np.array([0, 1, 2], dtype=np.int32)
    beta = CompressedDuals.of(sp.csr_array([[0, 0.3, 0], [0, 0, 0.3], [0.3, 0, 0]]))
    assert not without_residual(beta, label, 3).any()
    np.testing.assert_array_equal(beta.values, 0.3)


def test_many_classes_in_time() -> None:
    beta, label = random_duals(np.random.default_rng(0), 20_000, 1000, 10)
    before, size = beta.values.sum(), np.abs(residual_of(beta, label, 1000)).sum()
    began = time.process_time()
    left = without_residual(beta, label, 1000)
    assert time.process_time() - began < 0.5
    assert np.abs(left).sum() <= 1e-13 * before
    # At least half of the residual's size has to go; paths of up to three arcs cost three halves.
    assert before - beta.values.sum() <= 1.5 * size


@pytest.mark.parametrize(
    ("pointers", "classes"),
    [([0, 2, 1, 3], [0, 1, 2]), ([0, 1, 2, 9], [0, 1, 2]), ([0, 1, 2, 3], [0, 1, 3])],
)
def test_broken_rows_are_refused(pointers: list[int], classes: list[int]) -> None:
    label = np.zeros(3, dtype=np.int32)
    with pytest.raises(ValueError, match="not valid compressed rows"):
        core.lower_residual(
            np.array(pointers), np.array(classes, dtype=np.int32), np.ones(3), label, np.zeros(3)
        )
