"""Rules: a file of methods/ without a method has an underscore; no file passes 400 lines."""

from __future__ import annotations

import ast

import pytest

from sources import ROOT, package_files, parsed

MOST_LINES = 400


def methods_in(text: str) -> set[str]:
    """Return the classes of a file that can be advanced, themselves or through a class they extend.

    A class that extends one imported from a file with an underscore counts as well.
    """
    shared = {
        alias.asname or alias.name
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.ImportFrom) and "._" in (node.module or "")
        for alias in node.names
    }
    found: set[str] = set()
    for node in parsed(text).body:
        if isinstance(node, ast.ClassDef):
            bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
            own = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            named = any(
                isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == "name"
                for item in node.body
            )
            part = (named or "start" in own) and bases & shared
            if "advance" in own or bases & found or part:
                found.add(node.name)
    return found


def misnamed(path: str, text: str) -> bool:
    """Whether a file of methods/ has no method and no underscore."""
    name = path.rpartition("/")[2]
    return not name.startswith("_") and name != "base.py" and not methods_in(text)


def test_files_without_a_method_begin_with_an_underscore() -> None:
    found = [
        path
        for path, text in package_files().items()
        if path.startswith("methods/") and misnamed(path, text)
    ]
    assert not found, f"no method in {', '.join(found)}"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("methods/newton/helper.py", "class System:\n    def solve(self): pass", True),
        ("methods/newton/_helper.py", "class System:\n    def solve(self): pass", False),
        ("methods/newton/constants.py", "LARGEST = 3", True),
        ("methods/newton/own.py", "class Own:\n    def advance(self, state): pass", False),
        (
            "methods/published/one.py",
            "from widemargin.methods.published._two import Two\nclass One(Two):\n    name = 'one'",
            False,
        ),
        (
            "methods/published/one.py",
            "from widemargin.methods.published._two import Two\nclass State(Two):\n    size = 1",
            True,
        ),
    ],
)
def test_the_rule_sees_a_violation(path: str, text: str, expected: bool) -> None:
    assert misnamed(path, text) is expected


def too_long(text: str) -> bool:
    """Whether a file is two ideas."""
    return text.count("\n") > MOST_LINES


def test_no_file_is_two_ideas() -> None:
    places = ("src/**/*.py", "core/**/*.hpp", "bindings/*.*pp", "tests/**/*.py")
    files = [path for place in places for path in ROOT.glob(place)]
    assert len(files) > 250
    found = [
        path.relative_to(ROOT).as_posix()
        for path in files
        if too_long(path.read_text(encoding="utf-8"))
    ]
    assert not found, f"more than {MOST_LINES} lines: {', '.join(found)}"
    assert too_long("\n" * (MOST_LINES + 1))
    assert not too_long("\n" * MOST_LINES)
