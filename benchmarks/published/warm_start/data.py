"""The paper's data sets that are at hand, and what the paper says of them."""

from __future__ import annotations

import csv
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problems import MissingDataError, data_folder, unpack

RESULTS = Path(__file__).parent / "results"

# Names in the paper's tables that are not the file's own; a scaled set is "NAME.scale" or as is.
FILES = {
    ("binary", "covtype_scale"): "covtype.libsvm.binary.scale",
    ("binary", "german"): "german.numer",
    ("multiclass", "covtype"): "covtype",
}
# Same names, other data: the paper's are two-class, the files at hand have more classes.
ABSENT = {("binary", "news20"), ("binary", "covtype")}


def file_of(kind: str, name: str) -> str | None:
    """Give the file of a set of the paper, or None if it is not at hand."""
    if (kind, name) in ABSENT:
        return None
    for file in (FILES.get((kind, name)), name, name.replace("_scale", ".scale")):
        if file is not None and (data_folder() / f"{file}.xz").exists():
            return file
    return None


def published() -> list[dict[str, str]]:
    """Read the paper's tables IV and V, for the sets that are at hand, with their files."""
    path = data_folder().parent / "reference" / "warm_start_tables.csv"
    if not path.exists():
        raise MissingDataError(f"{path.name} is not beside the data folder")
    rows = []
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            found = file_of(row["kind"], row["dataset"])
            if found is not None:
                rows.append({**row, "file": found})
    return rows


def load(file: str) -> tuple[Any, np.ndarray]:
    """Load a set with its own labels."""
    from sklearn.datasets import load_svmlight_file

    return load_svmlight_file(BytesIO(unpack(file)))


def write(name: str, columns: list[str], rows: list[list[Any]]) -> Path:
    """Write a table as CSV."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    return path


def earlier(name: str, keys: int) -> dict[tuple[str, ...], list[Any]]:
    """Return the rows of a table that was written before, by their first columns."""
    path = RESULTS / f"{name}.csv"
    if not path.exists():
        return {}
    with open(path, newline="") as file:
        return {tuple(row[:keys]): row for row in list(csv.reader(file))[1:]}
