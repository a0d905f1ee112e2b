"""One page: header, verdict, figures at a glance, sections; style and script inside."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import sha256
from importlib.resources import files
from typing import Any

from widemargin.report.html import Markup, raw, tag

_LOGO = raw(
    '<svg viewBox="0 0 24 24" aria-hidden="true"><g fill="none" stroke-width="2.2" '
    'stroke-linecap="round"><path d="M3 17 17 3" stroke="var(--k2)"/><path d="M7 21 21 7" '
    'stroke="var(--k1)"/><path d="M5 19 19 5" stroke="var(--soft)" stroke-dasharray="2 3"/>'
    "</g></svg>"
)


@dataclass(frozen=True)
class Section:
    """A part of the page with an address and a title."""

    key: str
    title: str
    content: list[Any]
    wide: bool = False

    def html(self) -> Markup:
        """Return the section."""
        return tag(
            "section",
            tag("h2", self.title),
            self.content,
            id=self.key,
            class_="wide" if self.wide else None,
        )


@dataclass(frozen=True)
class Verdict:
    """What was proven, in a few words and in one sentence."""

    good: bool
    words: str
    sentence: str

    def html(self) -> Markup:
        """Return the box."""
        sign = "✓" if self.good else "!"
        body = tag("div", tag("b", self.words), tag("p", self.sentence))
        return tag(
            "div", tag("span", sign), body, class_="verdict" + ("" if self.good else " short")
        )


@dataclass(frozen=True)
class Tile:
    """A figure at a glance."""

    name: str
    value: str
    note: str = ""

    def html(self) -> Markup:
        """Return the tile."""
        note = tag("em", self.note) if self.note else None
        return tag("div", tag("small", self.name), tag("strong", self.value), note, class_="tile")


def page(
    title: str, lede: str, verdict: Verdict | None, tiles: list[Tile], sections: list[Section]
) -> str:
    """Return a whole document that needs nothing beside itself."""
    from widemargin import __version__

    style, script = _resource("style.css") + _panes(), _resource("script.js")
    # Nothing but our own script runs and nothing is loaded, whatever the data contain.
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    made = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        raw(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content=f"widemargin {__version__}"),
        tag("title", title),
        raw(f"<style>{style}</style>"),
    )
    brand = tag("span", _LOGO, "widemargin", class_="brand")
    switch = tag("button", "Theme", id="theme", type="button", hidden=True)
    header = tag(
        "header",
        tag("div", brand, switch, class_="top"),
        tag("h1", title),
        tag("p", lede, class_="lede"),
        verdict.html() if verdict else None,
        tag("div", [tile.html() for tile in tiles], class_="tiles") if tiles else None,
        tag("nav", [tag("a", s.title, href=f"#{s.key}") for s in sections], aria_label="Sections"),
    )
    footer = tag(
        "footer", f"Made by widemargin {__version__} on {made}. This file needs no network."
    )
    body = tag(
        "body",
        header,
        tag("main", [s.html() for s in sections]),
        footer,
        raw(f"<script>{script}</script>"),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _resource(name: str) -> str:
    return files("widemargin.report").joinpath(name).read_text(encoding="utf-8")


def _panes(most: int = 40) -> str:
    """Return the rules that show the pane whose switch is on."""
    return "".join(
        f".views>input:nth-of-type({n}):checked~.pane:nth-of-type({n}){{display:block}}"
        for n in range(1, most + 1)
    )
