"""BLAS runs on one thread inside a run, and as before after it."""

from __future__ import annotations

from threading import Thread
from typing import Any

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from widemargin import LinearSVC
from widemargin.linalg.blas import one_blas_thread


def threads() -> list[int]:
    return [
        library.get_num_threads()
        for library in ThreadpoolController().lib_controllers
        if library.user_api == "blas"
    ]


@pytest.fixture
def two_threads() -> Any:
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if not threads() or set(threads()) != {2}:
            pytest.skip("this BLAS has one thread only")
        yield


def test_blocks_within_blocks(two_threads: None) -> None:
    with one_blas_thread():
        with one_blas_thread():
            assert set(threads()) == {1}
        assert set(threads()) == {1}
    assert set(threads()) == {2}


def test_an_error_restores_it(two_threads: None) -> None:
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert set(threads()) == {2}


def test_other_threads_leave_it_alone(two_threads: None) -> None:
    seen: list[list[int]] = []

    def work() -> None:
        with one_blas_thread():
            seen.append(threads())

    worker = Thread(target=work)
    worker.start()
    worker.join()
    assert set(seen[0]) == {2}


def test_a_fit_is_limited_and_restores_it(two_threads: None) -> None:
    random = np.random.default_rng(0)
    X, y = random.standard_normal((200, 5)), np.arange(200) % 3
    seen: list[list[int]] = []
    LinearSVC(n_jobs=2, callback=lambda title, record: seen.append(threads())).fit(X, y)
    assert seen
    assert all(set(now) == {1} for now in seen)
    assert set(threads()) == {2}
