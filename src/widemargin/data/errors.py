"""Errors about files of data."""

from __future__ import annotations


class DataFormatError(ValueError):
    """A file of data cannot be read in full.

    Parameters
    ----------
    message : str
        What is wrong.
    path : str
        The file's name.
    line, column : int or None
        Where it is wrong, counted from one (columns in bytes); None if it is not one place.

    Examples
    --------
    >>> str(DataFormatError("expected ':' after feature index", "data.svm", 17, 23))
    "data.svm:17:23: expected ':' after feature index"
    """

    def __init__(
        self, message: str, path: str, line: int | None = None, column: int | None = None
    ) -> None:
        # All arguments are kept, so that the error can be pickled.
        super().__init__(message, path, line, column)
        self.message = message
        self.path = path
        self.line = line
        self.column = column

    def __str__(self) -> str:
        places = [str(place) for place in (self.line, self.column) if place is not None]
        return ":".join([self.path, *places]) + f": {self.message}"
