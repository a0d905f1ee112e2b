"""Feature templates in CRF++'s syntax."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_MACRO = re.compile(r"%x\[(-?\d+),(\d+)\]")

CHUNKING_TEMPLATE = """\
# words and tags in a window of five, as in CRF++'s example for CoNLL-2000
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]
U10:%x[-2,1]
U11:%x[-1,1]
U12:%x[0,1]
U13:%x[1,1]
U14:%x[2,1]
U15:%x[-2,1]/%x[-1,1]
U16:%x[-1,1]/%x[0,1]
U17:%x[0,1]/%x[1,1]
U18:%x[1,1]/%x[2,1]
U20:%x[-2,1]/%x[-1,1]/%x[0,1]
U21:%x[-1,1]/%x[0,1]/%x[1,1]
U22:%x[0,1]/%x[1,1]/%x[2,1]
B
"""


@dataclass(frozen=True)
class _Line:
    """One template: texts, and between them the places (row, column) whose words go there."""

    texts: tuple[str, ...]
    places: tuple[tuple[int, int], ...]

    def expand(self, sentence: Sequence[Sequence[str]], t: int) -> str:
        out = [self.texts[0]]
        for (row, column), text in zip(self.places, self.texts[1:], strict=True):
            at = t + row
            if at < 0:
                out.append(f"_B{at}")
            elif at >= len(sentence):
                out.append(f"_B+{at - len(sentence) + 1}")
            else:
                out.append(sentence[at][column])
            out.append(text)
        return "".join(out)


class Template:
    """The features of a row, from the columns of the rows around it.

    Parameters
    ----------
    text : str
        One template a line: ``U05:%x[-1,0]/%x[0,0]`` joins the first columns of the row before and
        of the row itself. ``B`` stands for the transitions between labels, which chains always
        have; words inside of it are not supported.
    """

    def __init__(self, text: str) -> None:
        self.lines: list[_Line] = []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#")[0].strip()
            if not line or line == "B":
                continue
            if line[0] == "B":
                raise ValueError(
                    f"template line {number}: transitions that depend on words ({line!r}) are not "
                    "supported"
                )
            if line[0] != "U" or "%x" in _MACRO.sub("", line):
                raise ValueError(
                    f"template line {number}: expected U<name>:%x[row,column]..., got {line!r}"
                )
            pieces = _MACRO.split(line)
            places = tuple(
                (int(row), int(column))
                for row, column in zip(pieces[1::3], pieces[2::3], strict=True)
            )
            self.lines.append(_Line(tuple(pieces[::3]), places))
        if not self.lines:
            raise ValueError("the template has no line that begins with U")
        self.columns = 1 + max(
            (column for line in self.lines for _, column in line.places), default=0
        )

    def expand(self, sentence: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return the names of the features of each row."""
        return [[line.expand(sentence, t) for line in self.lines] for t in range(len(sentence))]
