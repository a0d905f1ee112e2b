"""WALRUS as published: block dual descent whose exact step sorts the classes."""

from __future__ import annotations

from widemargin.methods.base import SupportsAll
from widemargin.methods.published._plain_sweeps import PlainSweeps


class Walrus(SupportsAll, PlainSweeps):
    """WALRUS, algorithms 1 and 2: the exact step, by sorting."""

    name = "walrus"
