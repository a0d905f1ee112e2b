"""Warnings that point at the line that called the package."""

from __future__ import annotations

import sys
import warnings


def warn_outside(message: str, category: type[Warning]) -> None:
    """Warn at the line that called the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        "widemargin."
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
