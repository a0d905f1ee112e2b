"""Rule: no function has a cyclomatic complexity above 12.

Besides ruff's C901, which `pyproject.toml` turns on, each function is counted here by itself, with
every condition of a boolean expression, every conditional expression and every comprehension.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sources import ROOT, package_files, parsed

MOST = 12
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
PENDING = {
    "methods/coordinate/dual_cd.py": ("advance",),
    "methods/interior/robust.py": ("advance",),
    "methods/newton/newton.py": ("advance",),
}


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a body without those of the functions and classes defined in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, FUNCTIONS | ast.ClassDef):
            yield child
            yield from own_nodes(child)


def decisions(node: ast.AST) -> int:
    """Return the number of branches that a node adds."""
    match node:
        case ast.If() | ast.IfExp():
            return 1
        case ast.For() | ast.While() | ast.AsyncFor():
            return 1 + bool(node.orelse)
        case ast.Try():
            return len(node.handlers) + bool(node.orelse)
        case ast.BoolOp():
            return len(node.values) - 1
        case ast.comprehension():
            return 1 + len(node.ifs)
        case ast.Match():
            return len(node.cases)
        case _:
            return 0


def complexities(text: str) -> dict[str, int]:
    """Return the complexity of every function of a source text, by name and line."""
    return {
        f"{node.name}, line {node.lineno}": 1 + sum(map(decisions, own_nodes(node)))
        for node in ast.walk(parsed(text))
        if isinstance(node, FUNCTIONS)
    }


def above(path: str, text: str) -> list[str]:
    """Return a sentence for each function that is too complex."""
    return [
        f"{path}: {name}: {count}" for name, count in complexities(text).items() if count > MOST
    ]


def test_no_function_is_too_complex() -> None:
    found = [
        sentence
        for path, text in package_files().items()
        for sentence in above(path, text)
        if sentence.split(": ")[1].split(",")[0] not in PENDING.get(path, ())
    ]
    assert not found, "\n".join(found)


def test_ruff_counts_too() -> None:
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '"C901"' in settings
    assert f"max-complexity = {MOST}" in settings


def test_the_rule_sees_a_violation() -> None:
    lines = ["def f(x):\n", *(f"    if x > {k}:\n        return {k}\n" for k in range(MOST))]
    assert above("made_up.py", "".join(lines)) == [f"made_up.py: f, line 1: {MOST + 1}"]
    assert above("made_up.py", "".join(lines[:-1])) == []
    conditions = " and ".join(f"x > {k}" for k in range(MOST + 1))
    assert above("made_up.py", f"class A:\n    def f(x):\n        return {conditions}")


def test_what_is_counted() -> None:
    text = """
def f(x):
    for a in x:
        try:
            a()
        except ValueError:
            pass
        else:
            return [b for b in a if b]
    return 1 if x or not x else 2

    def inner():
        while x:
            pass
"""
    assert complexities(text) == {"f, line 2": 8, "inner, line 12": 2}
