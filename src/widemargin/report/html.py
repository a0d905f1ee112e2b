"""HTML by construction: every string is escaped unless it was made here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any
from zlib import crc32

VOID = dict.fromkeys(("input", "meta", "br"), "") | dict.fromkeys(
    ("circle", "rect", "line", "path", "polyline"), "/"
)
"""Elements without content, and how they end: those of HTML, those of SVG."""


class Markup(str):
    """Text that is HTML already: only `tag` and `raw` make it."""

    __slots__ = ()


def raw(text: str) -> Markup:
    """Mark text of our own, which holds nothing that a user gave, as HTML."""
    return Markup(text)


def text(content: Any) -> Markup:
    """Return a string, a number or markup as HTML; None is nothing, a list its items."""
    if isinstance(content, Markup):
        return content
    if content is None:
        return Markup("")
    if isinstance(content, list | tuple):
        return Markup("".join(text(item) for item in content))
    return Markup(escape(_printable(str(content)), quote=True))


def _printable(string: str) -> str:
    """Replace what HTML cannot hold: control characters and halves of surrogate pairs."""
    return "".join(
        "\ufffd" if (ord(c) < 32 and c not in "\n\t") or 0xD800 <= ord(c) <= 0xDFFF else c
        for c in string
    )


def tag(element: str, /, *content: Any, **attributes: Any) -> Markup:
    """Return an element; attribute names end with _ where Python has the word, _ inside is -."""
    written = ""
    for key, value in attributes.items():
        if value is not None and value is not False:
            written += f" {key.rstrip('_').replace('_', '-')}"
            written += "" if value is True else f'="{text(value)}"'
    if element in VOID:
        return Markup(f"<{element}{written}{VOID[element]}>")
    return Markup(f"<{element}{written}>{text(list(content))}</{element}>")


def paragraph(*content: Any, class_: str | None = None) -> Markup:
    """Return a paragraph."""
    return tag("p", *content, class_=class_)


def table(
    head: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    words: int = 1,
    sortable: bool = False,
    class_: str = "",
) -> Markup:
    """Return a table in a box that scrolls; the first `words` columns are left-aligned."""
    kinds = ["w" if place < words else "n" for place in range(len(head))]
    header = tag(
        "tr", [tag("th", cell, class_=k, scope="col") for cell, k in zip(head, kinds, strict=True)]
    )
    body = [
        tag("tr", [tag("td", cell, class_=k) for cell, k in zip(row, kinds, strict=True)])
        for row in rows
    ]
    names = " ".join(filter(None, (class_, "sort" if sortable else "")))
    inner = [tag("thead", header)] if any(head) else []
    return tag(
        "div", tag("table", [*inner, tag("tbody", body)], class_=names or None), class_="scroll"
    )


def facts(pairs: Iterable[tuple[Any, Any]]) -> Markup:
    """Return names and values, one pair per line."""
    items = [[tag("dt", name), tag("dd", value)] for name, value in pairs]
    return tag("dl", [part for item in items for part in item])


def views(panes: Sequence[tuple[str, Any]]) -> Markup:
    """Return panes with a switch between them that works without a script."""
    if len(panes) == 1:
        return text(panes[0][1])
    shown = [tag("div", pane, class_="pane") for _, pane in panes]
    # The name of the group: the same content has the same one in every run.
    name = f"v{crc32(''.join(shown).encode()):08x}"
    switches = [
        [
            tag("input", type="radio", name=name, id=f"{name}-{place}", checked=place == 0),
            tag("label", title, for_=f"{name}-{place}"),
        ]
        for place, (title, _) in enumerate(panes)
    ]
    return tag("div", [part for switch in switches for part in switch], shown, class_="views")
