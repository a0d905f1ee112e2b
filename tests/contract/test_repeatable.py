"""Two fits agree bit for bit, whatever the threads and the kernels allow."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import widemargin
from oracle import LOSSES, PAIRS, estimator, make_data


def five_classes(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, _ = make_data((300, 12), seed=seed)
    noise = np.random.default_rng(seed).normal(size=(300, 5))
    return X, np.argmax(X[:, :5] + noise, axis=1)


def assert_identical(one: Any, other: Any) -> None:
    for name in ("coef_", "intercept_", "dual_coef_", "primal_", "dual_", "n_iter_", "support_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.status_ == other.status_


@pytest.mark.parametrize("intercept", [True, "penalised", False], ids=str)
@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_threads_do_not_matter(solver: str, loss: str, intercept: Any) -> None:
    X, y = five_classes()
    fits = [
        estimator(loss, C=0.1, solver=solver, fit_intercept=intercept, n_jobs=n, tol=1e-5).fit(X, y)
        for n in (1, 2, 4, None)
    ]
    for other in fits[1:]:
        assert_identical(fits[0], other)


@pytest.mark.parametrize("random_state", [0, 7])
@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_two_fits_agree(solver: str, loss: str, random_state: int) -> None:
    X, y = five_classes(1)
    arguments: Any = {"C": 0.1, "solver": solver, "random_state": random_state, "tol": 1e-5}
    one, other = (estimator(loss, **arguments).fit(X, y) for _ in range(2))
    assert_identical(one, other)
    # Fitting again in the same object, without warm_start, forgets the first fit.
    assert_identical(one, other.fit(X, y))


@pytest.mark.parametrize("loss", LOSSES)
def test_random_state_is_used_by_coordinate_descent(loss: str) -> None:
    X, y = make_data()
    one, other = (
        estimator(loss, solver="dual_cd", random_state=seed, tol=1e-3).fit(X, y) for seed in (0, 1)
    )
    assert not np.array_equal(one.dual_coef_, other.dual_coef_)


def test_random_state_instance_is_consumed() -> None:
    X, y = make_data()
    fits = [
        estimator("hinge", solver="dual_cd", tol=1e-3, random_state=np.random.RandomState(5)).fit(
            X, y
        )
        for _ in range(2)
    ]
    assert_identical(*fits)


def test_the_global_generator_is_left_alone() -> None:
    X, y = make_data()
    np.random.seed(3)
    expected = np.random.random()
    np.random.seed(3)
    estimator("hinge", solver="dual_cd").fit(X, y)
    assert np.random.random() == expected


@pytest.mark.parametrize("loss", LOSSES)
def test_fits_in_user_threads(loss: str) -> None:
    """Fits of several threads at once do not disturb each other, nor the handler of SIGINT."""
    X, y = make_data()
    reference = estimator(loss).fit(X, y)
    results: list[Any] = [None] * 8

    def work(place: int) -> None:
        results[place] = estimator(loss).fit(X, y)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        assert_identical(reference, result)


SCRIPT = """
import sys, numpy as np, widemargin
sys.path.insert(0, {folder!r})
from oracle import LOSSES, estimator, make_data, layout
assert widemargin.instruction_set_in_use() == {variant!r}
out = {{}}
for loss in LOSSES:
    for shape in ("tall", "wide"):
        for name in ("dense-float64", "csr-float32-int32"):
            X, y = make_data(shape, density=0.4)
            model = estimator(loss, tol=1e-9, max_iter=20000).fit(layout(X, name), y)
            answer = np.concatenate([model.coef_[0], model.primal_, model.dual_])
            out[f"{{loss}}-{{shape}}-{{name}}"] = answer
np.savez(sys.argv[1], **out)
"""


def test_kernels_agree(tmp_path: Any) -> None:
    """Every variant that this CPU runs gives the same answers to the tolerance asked for."""
    assert set(widemargin.available_instruction_sets()) <= {"avx2", "baseline"}
    assert "baseline" in widemargin.available_instruction_sets()
    answers = {}
    for variant in widemargin.available_instruction_sets():
        script = SCRIPT.format(folder=os.path.dirname(os.path.dirname(__file__)), variant=variant)
        path = tmp_path / f"{variant}.npz"
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script, str(path)],
            env={**os.environ, "WIDEMARGIN_INSTRUCTION_SET": variant},
            check=True,
            timeout=120,
        )
        answers[variant] = dict(np.load(path))
    for variant in answers:
        for key, value in answers[variant].items():
            expected = answers["baseline"][key]
            np.testing.assert_allclose(value[-2:], expected[-2:], rtol=3e-9, err_msg=key)
            np.testing.assert_allclose(value[:-2], expected[:-2], atol=5e-4, err_msg=key)


def test_unknown_kernels_are_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from widemargin import LinearSVC"],
        env={**os.environ, "WIDEMARGIN_INSTRUCTION_SET": "avx1024"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0
    assert (
        "ImportError: WIDEMARGIN_INSTRUCTION_SET='avx1024' cannot be used here; available: "
        in done.stderr
    )
