"""Print a table of all pages of the documentation with the first sentence of each.

``python docs/_extensions/page_table.py`` prints Markdown; a test checks that every page has a title
and starts with a sentence.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent


def pages() -> Iterator[tuple[str, str, str]]:
    """Yield path, title and first sentence of every page that is written by hand."""
    for path in sorted(DOCS.rglob("*.md")):
        if "_build" not in path.parts and "{include}" not in path.read_text(encoding="utf-8"):
            yield _of_markdown(path)
    yield _of_restructured(DOCS / "api" / "index.rst")
    for path in sorted((ROOT / "examples").rglob("plot_*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        yield _of_text(path, docstring)


def _of_markdown(path: Path) -> tuple[str, str, str]:
    text = path.read_text(encoding="utf-8")
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    body = re.sub(r"^```.*?^```$|^<!--.*?-->$|^\$\$.*?^\$\$$", "", text, flags=re.M | re.S)
    return _row(path, title[1] if title else "", body)


def _of_restructured(path: Path) -> tuple[str, str, str]:
    return _of_text(path, path.read_text(encoding="utf-8"))


def _of_text(path: Path, text: str) -> tuple[str, str, str]:
    lines = text.strip().splitlines()
    own = [line for line in lines if not re.fullmatch(r"[=\-~]+", line)]
    return _row(path, own[0] if own else "", "\n".join(own[1:]))


def _row(path: Path, title: str, body: str) -> tuple[str, str, str]:
    parts = re.split(r"\n\s*\n", body)
    prose = (" ".join(part.split()) for part in parts)
    first = next((p for p in prose if p and p[0] not in "#|!.:-"), "")
    first = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", first).replace("**", "")
    sentence = re.match(r".*?[.!?](?=\s|$)", first)
    return str(path.relative_to(ROOT)), title, sentence[0] if sentence else first


if __name__ == "__main__":
    print("| page | title | first sentence |\n|---|---|---|")
    for row in pages():
        print("|", " | ".join(cell.replace("|", "\\|") for cell in row), "|")
