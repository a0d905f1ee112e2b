"""WALRUS as published: block dual descent whose exact step sorts the classes."""

from __future__ import annotations

from widemargin.methods.published._plain_sweeps import PlainSweeps
from widemargin.problems.multiclass import MulticlassProblem


class Walrus(PlainSweeps):
    """WALRUS, algorithms 1 and 2: the exact step, by sorting."""

    name = "walrus"

    def refuses(self, problem: MulticlassProblem) -> str | None:
        """Support every multiclass problem."""
        return None
