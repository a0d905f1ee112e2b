"""The error raised for model files that cannot be read or written."""

from __future__ import annotations

import os


class ModelFormatError(ValueError):
    """A model file is invalid, or a format cannot represent the model.

    Attributes
    ----------
    path : str
    line : int or None
        Line of a text file, counted from 1.
    reason : str
        The message without path and line.

    Examples
    --------
    >>> import os, tempfile
    >>> from widemargin import ModelFormatError, load_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "notes.txt")
    ...     _ = open(path, "w").write("not a model")
    ...     try:
    ...         load_model(path)
    ...     except ModelFormatError as error:
    ...         print(error.reason)
    this is not a widemargin model
    """

    def __init__(
        self, path: str | os.PathLike[str], reason: str, *, line: int | None = None
    ) -> None:
        self.path, self.reason, self.line = os.fspath(path), reason, line
        place = self.path if line is None else f"{self.path}, line {line}"
        super().__init__(f"{place}: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.path, self.reason, self.line)


def _rebuild(path: str, reason: str, line: int | None) -> ModelFormatError:
    return ModelFormatError(path, reason, line=line)
