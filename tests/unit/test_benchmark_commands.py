"""Every script of the benchmarks answers ``--help``."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
from benchmarks.session import ONE_THREAD

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
    for path in (ROOT / "benchmarks").rglob("*.py")
    if '__name__ == "__main__"' in path.read_text(encoding="utf-8") or path.stem == "__main__"
)
INNER = {"benchmarks.worker", "benchmarks.atlas.children"}
"""Started by other scripts, which talk to them over a pipe."""


def test_scripts_are_found() -> None:
    assert len(SCRIPTS) > 20
    assert "benchmarks.published.warm_start.certificate" in SCRIPTS


@pytest.mark.filterwarnings("ignore:.*found in sys.modules.*:RuntimeWarning")
@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in INNER])
def test_a_script_answers_help(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable, value in ONE_THREAD.items():  # else some of them start over in a new process
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    try:
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(name, run_name="__main__", alter_sys=False)
    except ModuleNotFoundError as error:
        pytest.skip(f"needs {error.name}")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage:")
