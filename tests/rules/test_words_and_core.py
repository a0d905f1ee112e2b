"""One word, one meaning; a core without Python and printing; a library that never prints."""

from __future__ import annotations

import ast
import re

import pytest

from sources import ROOT, package_files

UNCLEAR = (
    "available_kernels|few_rows|heaviest_rows|laned_folds|linear_blocks|plain_blocks|tied_system"
)
"""Names that did not say what they meant; what they were now has one that does."""

OUTSIDE_CORE = re.compile(
    r"#include\s*[<\"](?:Python\.h|nanobind|pybind11|iostream|print)"
    r"|\bstd::c(?:out|err)\b|\bf?printf\s*\("
)

MUTABLE_GLOBAL = re.compile(
    r"^(?:static |inline |thread_local )+(?!constexpr|const\b)"
    r"[\w:<>, ]+ \w+(?: = [^()]*|\{.*\})?;$",
    re.MULTILINE,
)


def unclear_names(text: str) -> list[str]:
    """Return the unclear names in a piece of code."""
    return re.findall(rf"\b(?:{UNCLEAR})\b", text)


def prints(text: str) -> list[int]:
    """Return the lines that call print."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
    ]


def core_files() -> dict[str, str]:
    """Return the text of every header of the core."""
    files = sorted(ROOT.glob("core/**/*.hpp"))
    assert len(files) > 50
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_names_say_what_they_mean() -> None:
    found = {path: unclear_names(text) for path, text in (package_files() | core_files()).items()}
    assert not {path: names for path, names in found.items() if names}


def test_a_kernel_is_a_function_of_two_examples() -> None:
    """What is built for one kind of CPU is an instruction set."""
    assert "kernel" not in package_files()["instruction_sets.py"]


def test_the_library_does_not_print() -> None:
    found = {path: prints(text) for path, text in package_files().items()}
    assert not {path: lines for path, lines in found.items() if lines}


def test_the_core_has_no_python_no_printing_no_globals() -> None:
    for path, text in core_files().items():
        assert not OUTSIDE_CORE.search(text), path
        assert not MUTABLE_GLOBAL.search(text), path


@pytest.mark.parametrize(
    "text",
    [
        "#include <Python.h>",
        "#include <nanobind/nanobind.h>",
        "#include <iostream>",
        "  std::cout << gap;",
        '  printf("%f", gap);',
        "inline double tolerance = 1e-4;",
        "static std::vector<double> scratch;",
        "thread_local int depth = 0;",
    ],
)
def test_the_rule_sees_what_the_core_may_not_have(text: str) -> None:
    assert OUTSIDE_CORE.search(text) or MUTABLE_GLOBAL.search(text)


@pytest.mark.parametrize(
    "text",
    [
        "inline constexpr double tiny = 1e-12;",
        "inline double value(double m) { return m; }",
        "#include <cstdint>",
        "  const double printed = 1.0;",
    ],
)
def test_the_rule_allows(text: str) -> None:
    assert not OUTSIDE_CORE.search(text)
    assert not MUTABLE_GLOBAL.search(text)


def test_the_rules_see_names_and_prints() -> None:
    assert unclear_names("from widemargin.methods.few_rows import FewRows") == ["few_rows"]
    assert prints("def f():\n    print('here')") == [2]
