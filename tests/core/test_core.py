"""The C++ tests of the core: built by CMake for both instruction sets, run, and compared."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from widemargin import available_instruction_sets

HERE = Path(__file__).parent


def run(*command: str | Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cmake") is None:
        pytest.skip("CMake is not installed")
    if not any(map(shutil.which, ("c++", "g++", "clang++", os.environ.get("CXX", "c++")))):
        pytest.skip("no C++ compiler is installed")
    if not (HERE.parents[1] / "core").is_dir():
        pytest.skip("the core's sources are not here")
    folder = tmp_path_factory.mktemp("core_tests")
    run("cmake", "-S", HERE, "-B", folder)
    run("cmake", "--build", folder, "--parallel", "2")
    return folder


def values_of(output: str) -> dict[str, float]:
    lines = (line.split() for line in output.splitlines() if line.startswith("value "))
    return {name: float(number) for _, name, number in lines}


def test_both_builds(programs: Path) -> None:
    outputs = {
        kernels: run(programs / f"core_test_{kernels}") for kernels in available_instruction_sets()
    }
    for output in outputs.values():
        assert " tests, 0 failed checks" in output
    plain = values_of(outputs["baseline"])
    assert len(plain) >= 7
    for output in outputs.values():
        assert values_of(output) == pytest.approx(plain, rel=1e-12)
