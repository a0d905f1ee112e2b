"""Warnings that point to the line that called the package, however deep they come from."""

from __future__ import annotations

import sys
import warnings

from sklearn.exceptions import ConvergenceWarning


def warn_of_shortfall(message: str) -> None:
    """Warn that a tolerance was not reached."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        "widemargin."
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, ConvergenceWarning, stacklevel=level)
