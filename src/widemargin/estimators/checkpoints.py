"""Weights written down after every step, so that a fit that was killed can go on."""

from __future__ import annotations

import os
import zipfile
from typing import Any

import numpy as np

from widemargin.data.replacing import replacing


class Checkpoints:
    """A file with the weights and intercepts that the problems of a fit have reached.

    Parameters
    ----------
    path : path-like
    resume : bool
        Whether to start from what the file holds, if there is one.
    """

    def __init__(self, path: str | os.PathLike[str], resume: bool = False) -> None:
        self.path = os.fspath(path)
        self._points: dict[str, Any] = {}
        if resume and os.path.exists(self.path):
            try:
                with np.load(self.path, allow_pickle=False) as kept:
                    self._points = {name: kept[name] for name in kept.files}
            except (ValueError, OSError, zipfile.BadZipFile) as error:
                raise ValueError(f"{self.path} is not a checkpoint: {error}") from None

    def point(self, place: int, shape: tuple[int, ...]) -> tuple[Any, Any] | None:
        """Return weights of a shape, and intercepts, of a problem, or None if none were kept."""
        if f"w{place}" not in self._points:
            return None
        w = self._points[f"w{place}"]
        if w.shape != shape:
            raise ValueError(
                f"the checkpoint {self.path} has weights of shape {w.shape}, but the data have "
                f"{shape}"
            )
        return w.copy(), self._points[f"b{place}"].copy()

    def keep(self, place: int, w: Any, b: Any) -> None:
        """Write down the weights of a problem."""
        if not np.isfinite(w).all():
            return
        self._points[f"w{place}"], self._points[f"b{place}"] = np.array(w), np.array(b)
        with replacing(self.path) as file:
            np.savez(file, **self._points)

    def remove(self) -> None:
        """Delete the file: the fit has ended."""
        if os.path.exists(self.path):
            os.unlink(self.path)
