"""Charts as inline SVG: lines, bars, histograms. Colours and sizes come from the style sheet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widemargin.report.html import Markup, tag
from widemargin.report.scales import Scale, number

WIDTH, HEIGHT = 480, 280
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 14, 46


@dataclass
class Series:
    """A line with points: a name, a colour of the palette, and what the points say."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int = 1
    dashed: bool = False
    notes: Sequence[str] = ()
    dots: bool = True


@dataclass
class Mark:
    """A vertical or horizontal line with a word beside it."""

    value: float
    label: str = ""
    across: bool = False
    level: int = 0
    """How many lines below the top the word stands, so that two words do not meet."""


@dataclass
class Chart:
    """Axes, and what is drawn between them, in order."""

    x: Scale
    y: Scale
    x_title: str
    y_title: str
    label: str
    parts: list[Markup] = field(default_factory=list)
    legend: list[Markup] = field(default_factory=list)
    height: int = HEIGHT

    def across(self, value: float) -> float:
        """Return the horizontal position of a value."""
        return round(LEFT + self.x.place(value) * (WIDTH - LEFT - RIGHT), 1)

    def up(self, value: float) -> float:
        """Return the vertical position of a value."""
        return round(self.height - BOTTOM - self.y.place(value) * (self.height - TOP - BOTTOM), 1)

    def line(self, series: Series) -> None:
        """Draw a line; values that are not finite interrupt it."""
        points = _thinned(
            [(x, y, i) for i, (x, y) in enumerate(zip(series.x, series.y, strict=True))]
        )
        colour = f"k{series.colour}"
        drawn = f"l {colour}" + (" dash" if series.dashed else "")
        for run in self._runs(points):
            if len(run) > 1:
                self.parts.append(tag("polyline", points=" ".join(run), class_=drawn))
        shape = f"d {colour}" if series.dots else f"d {colour} faint"
        notes = series.notes or _plain_notes(series)
        for x, y, place in points:
            if np.isfinite(x) and np.isfinite(y):
                self.parts.append(self._dot(self.across(x), self.up(y), shape, notes[place]))
        if series.name:
            key = tag("i", class_=colour + (" dash" if series.dashed else ""))
            self.legend.append(tag("span", key, series.name))

    def _runs(self, points: list[Any]) -> list[list[str]]:
        """Return the pieces of a line between values that are not finite."""
        runs: list[list[str]] = [[]]
        for x, y, _ in points:
            if np.isfinite(x) and np.isfinite(y):
                runs[-1].append(f"{self.across(x)},{self.up(y)}")
            else:
                runs.append([])
        return runs

    def band(
        self, x: Sequence[float], low: Sequence[float], high: Sequence[float], colour: int
    ) -> None:
        """Fill what lies between two curves."""
        above = [f"{self.across(a)},{self.up(b)}" for a, b in zip(x, high, strict=True)]
        below = [f"{self.across(a)},{self.up(b)}" for a, b in zip(x, low, strict=True)]
        path = "M" + "L".join([*above, *reversed(below)]) + "Z"
        self.parts.append(tag("path", d=path, class_=f"band k{colour}"))

    def mark(self, mark: Mark) -> None:
        """Draw a line through the whole chart."""
        top, base = TOP, self.height - BOTTOM
        if mark.across:
            at = self.up(mark.value)
            self.parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=at, y2=at, class_="m"))
            # On the left: what falls to the line meets it on the right.
            spot: dict[str, Any] = {"x": LEFT + 4, "y": at - 4}
        else:
            at = self.across(mark.value)
            self.parts.append(tag("line", x1=at, x2=at, y1=top, y2=base, class_="m"))
            late = at > 0.62 * WIDTH
            spot = {
                "x": at - 4 if late else at + 4,
                "y": top + 10 + 14 * mark.level,
                "text_anchor": "end" if late else None,
            }
        if mark.label:
            self.parts.append(tag("text", mark.label, class_="mt", **spot))

    def bars(
        self, edges: Sequence[float], heights: Sequence[float], colour: int, notes: Sequence[str]
    ) -> None:
        """Draw a histogram."""
        base = self.up(max(self.y.low, 0.0) if not self.y.log else self.y.low)
        for left, right, height, note in zip(edges[:-1], edges[1:], heights, notes, strict=True):
            if height > 0:
                x, top = self.across(left), self.up(height)
                wide = max(self.across(right) - x - 0.6, 0.6)
                bar = tag(
                    "rect",
                    x=x,
                    y=top,
                    width=round(wide, 1),
                    height=round(base - top, 1),
                    class_=f"bar k{colour}",
                    data_t=note,
                )
                self.parts.append(bar)

    def _dot(self, x: float, y: float, shape: str, note: str) -> Markup:
        return tag("circle", cx=x, cy=y, r=3, class_=shape, data_t=note)

    def svg(self) -> Markup:
        """Return the figure: legend, axes and parts."""
        base = self.height - BOTTOM
        axes: list[Markup] = []
        for tick, label in zip(self.x.ticks(), self.x.labels(), strict=True):
            at = self.across(tick)
            axes.append(tag("line", x1=at, x2=at, y1=TOP, y2=base, class_="g"))
            axes.append(tag("text", label, x=at, y=base + 17, text_anchor="middle"))
        for tick, label in zip(self.y.ticks(), self.y.labels(), strict=True):
            at = self.up(tick)
            axes.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=at, y2=at, class_="g"))
            axes.append(tag("text", label, x=LEFT - 6, y=at + 4, text_anchor="end"))
        middle = (LEFT + WIDTH - RIGHT) / 2
        axes.append(
            tag(
                "text", self.x_title, x=middle, y=self.height - 6, text_anchor="middle", class_="at"
            )
        )
        turned = f"translate(13 {(TOP + base) / 2}) rotate(-90)"
        axes.append(tag("text", self.y_title, transform=turned, text_anchor="middle", class_="at"))
        drawing = tag(
            "svg",
            axes,
            self.parts,
            viewBox=f"0 0 {WIDTH} {self.height}",
            role="img",
            aria_label=self.label,
        )
        keys = tag("div", self.legend, class_="legend") if len(self.legend) > 1 else None
        return tag("figure", keys, drawing)


def _plain_notes(series: Series) -> list[str]:
    name = f"{series.name}: " if series.name else ""
    return [f"{name}{number(y, 6)} at {number(x)}" for x, y in zip(series.x, series.y, strict=True)]


def _thinned(points: list[Any], most: int = 160) -> list[Any]:
    """Return at most so many points, the ends among them."""
    if len(points) <= most:
        return points
    chosen = np.unique(np.linspace(0, len(points) - 1, most).round().astype(int))
    return [points[place] for place in chosen]


def bar_list(rows: Iterable[tuple[str, float, str]], *, signed: bool = False) -> Markup:
    """Return named bars, one per line: name, value, and what stands behind the bar."""
    kept = list(rows)
    largest = max((abs(value) for _, value, _ in kept if np.isfinite(value)), default=0.0) or 1.0
    lines = []
    for name, value, note in kept:
        share = 100.0 * abs(value) / largest
        if signed:
            side = "left" if value >= 0 else "right"
            style = f"{side}:50%;width:{share / 2:.1f}%"
            kind = "pos" if value >= 0 else "neg"
        else:
            style, kind = f"left:0;width:{share:.1f}%", "pos"
        track = tag(
            "span", tag("b", class_=kind, style=style), class_="track" + (" two" if signed else "")
        )
        lines.append(
            tag(
                "div",
                tag("span", name, class_="bn", title=name),
                track,
                tag("span", note, class_="bv"),
                class_="bl",
            )
        )
    return tag("div", lines, class_="bars")
