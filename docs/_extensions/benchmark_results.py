"""Put the tables of benchmarks/results into the page about benchmarks, where there are any."""

import re
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
MARK = "<!-- results -->"
LONG = 20
"""Rows above which a table is folded."""
NONE = "No results are stored in this copy of the repository."


def fill_in(app: Any, name: str, source: list[str]) -> None:
    """Replace the mark by the results, their headings one level down and images found."""
    if MARK not in source[0]:
        return
    parts = []
    # The known data sets first, then the map of shapes, then the rest.
    first = ("speed", "atlas")
    files = sorted(
        RESULTS.glob("*.md"), key=lambda f: (not f.stem.startswith(first), f.stem[0] != "s", f.stem)
    )
    for file in files:
        app.env.note_dependency(str(file))
        text = re.sub(r"^(#+ )", r"#\1", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if not re.match(r"\s*## ", text):
            text = f"## {file.stem.replace('_', ' ').capitalize()}\n\n{text}"
        text = re.sub(r"!\[(.*?)\]\((?!\w+:)(.*?)\)", _image, text)
        # Links between results have no target here; their text is enough.
        text = re.sub(r"(?<!!)\[(.*?)\]\((?!\w+:)[^)]*\)", r"\1", text)
        parts.append(re.sub(r"(?:^\|.*\n)+", _table, text, flags=re.MULTILINE))
    source[0] = source[0].replace(MARK, "\n\n".join(parts) or NONE)


def _table(match: re.Match[str]) -> str:
    """Fold a long table, so that the page can be read from top to bottom."""
    rows = match[0].count("\n") - 2
    if rows <= LONG:
        return match[0]
    return f"<details><summary>All {rows} rows</summary>\n\n{match[0]}\n<!-- end -->\n</details>\n"


def _image(match: re.Match[str]) -> str:
    title, path = match.groups()
    if not (RESULTS / path).is_file():
        return title
    return f"![{title}](../../benchmarks/results/{path})"


def setup(app: Any) -> dict[str, Any]:
    """Listen to every page that is read."""
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
