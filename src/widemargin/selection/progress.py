"""Progress bars over folds times values of a parameter, on standard error."""

from __future__ import annotations

import numpy as np

from widemargin.progress import Bar
from widemargin.selection.search import Search


class FoldsBar(Bar):
    """Shows how many fold fits are done, and a text."""

    def __init__(self, what: str, folds: int, values: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed

        self._folds, self._values = folds, values
        self._progress = Progress(
            TextColumn(f"folds x {what}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            Elapsed(),
            console=Console(stderr=True),
        )
        self._task = self._progress.add_task("", total=None if values is None else folds * values)

    def place(self, done: int) -> str:
        """Say how many of the values are done."""
        return f"{done}" if self._values is None else f"{done} of {self._values}"

    def show(self, done: int, text: str) -> None:
        """Draw that so many values are done."""
        self._progress.update(self._task, completed=self._folds * done, description=text)


class SearchBar(FoldsBar):
    """Shows the latest C and the best score so far."""

    def __init__(self, folds: int, values: int | None) -> None:
        super().__init__("C", folds, values)

    def told(self, search: Search) -> None:
        """Draw the state of a search."""
        best, place = search.best, self.place(len(search.Cs))
        if np.isnan(search.scores[-1]).any():  # still to come
            self.show(len(search.Cs), f"C {place}: {search.Cs[-1]:g}")
            return
        self.show(
            len(search.Cs),
            f"C {place}: {search.Cs[-1]:g}, score {np.mean(search.scores[-1]):.4f}; "
            f"best {np.mean(search.scores[best]):.4f} at {search.Cs[best]:g}",
        )
