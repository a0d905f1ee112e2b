"""The package's own source, for the tests of the rules that it keeps."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "widemargin"


@cache
def package_files() -> dict[str, str]:
    """Return the text of every Python file of the package, by its path inside the package."""
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def parsed(text: str) -> ast.Module:
    """Return the syntax tree of a source text."""
    return ast.parse(text)


@cache
def _module_names() -> set[str]:
    files = (path.removesuffix(".py").removesuffix("/__init__") for path in package_files())
    return {f"widemargin.{name}".replace("/", ".") for name in files}


def imported(text: str) -> list[tuple[int, str, str]]:
    """Return (line, module, name) of every import from the package, wherever it stands.

    ``import m`` has an empty name. A string that is the name of a module counts as an import of
    it, because that is how modules are imported when they are first used.
    """
    found: list[tuple[int, str, str]] = []
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports name the whole path"
            found += [(node.lineno, node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Constant) and node.value in _module_names():
            found.append((node.lineno, str(node.value), ""))
    return [entry for entry in found if entry[1].split(".")[0] == "widemargin"]
