"""Note which compiled functions are called, and report it: ``compiled_calls.py FOLDER``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

_COMPILED = ("nb_func", "nb_method")


def _functions(core: Any) -> Iterator[tuple[Any, str, str, Callable[..., Any]]]:
    """Yield the owner, the name there, the whole name and the function itself."""
    owners = [core, *(value for value in vars(core).values() if isinstance(value, type))]
    for owner in owners:
        prefix = "" if owner is core else f"{owner.__name__}."
        for name, value in list(vars(owner).items()):
            if type(value).__name__ in _COMPILED and not name.startswith("__"):
                yield owner, name, prefix + name, value


def record(core: Any) -> None:
    """Note every function of the module when it is first called in this process."""
    folder, seen = Path(os.environ["WIDEMARGIN_CALLS"]), set[str]()

    def noted(whole: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            if whole not in seen:
                seen.add(whole)
                with (folder / str(os.getpid())).open("a") as file:
                    file.write(f"{whole}\n")
            return function(*arguments, **named)

        return call

    names = []
    for owner, name, whole, function in _functions(core):
        setattr(owner, name, noted(whole, function))
        names.append(whole)
    (folder / "all").write_text("\n".join(sorted(names)))


def main(folder: str) -> int:
    """Print which functions were never called; return how many."""
    files = [path for path in Path(folder).iterdir() if path.name != "all"]
    called = {name for path in files for name in path.read_text().split()}
    names = (Path(folder) / "all").read_text().split()
    missed = [name for name in names if name not in called]
    print(f"{len(names) - len(missed)} of {len(names)} compiled functions were called")
    for name in missed:
        print(f"never called: {name}")
    return len(missed)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1]) else 0)
