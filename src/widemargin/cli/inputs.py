"""Data and model files of any kind the commands read, told apart by name and first bytes."""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from widemargin.model_io import LinearModel

DATA_FORMATS = ("svm", "csv", "parquet")
_PACKED = (".gz", ".bz2", ".xz")
_OWN_START = b"\x89WIDEMG\n"
_LIBLINEAR_START = b"solver_type"


@dataclass(frozen=True, eq=False)
class Data:
    """Examples, their labels if there are any, and how long reading took."""

    X: Any
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    seconds: float


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a data file is to be read."""
    group = parser.add_argument_group("reading data")
    group.add_argument(
        "--data-format",
        choices=("auto", *DATA_FORMATS),
        default="auto",
        help="by default .csv and .tsv (also .gz, .bz2, .xz) are CSV, .parquet and .pq Parquet, "
        "all else is LIBSVM's format",
    )
    group.add_argument(
        "--label",
        metavar="NAME_OR_NUMBER",
        help="label column of CSV and Parquet: its name, or its number from 1, or from the end if "
        "negative (default: the last column)",
    )
    group.add_argument(
        "--header",
        choices=("auto", "yes", "no"),
        default="auto",
        help="whether a CSV file's first line holds names (auto: if no cell of it is a number)",
    )
    group.add_argument(
        "--index-base",
        choices=("auto", "0", "1"),
        default="auto",
        help="number of the first feature in a LIBSVM file (auto: 0 if an index 0 occurs)",
    )


def data_format(path: str, asked: str = "auto") -> str:
    """Return "svm", "csv" or "parquet"."""
    if asked != "auto":
        return asked
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    while suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    return {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}.get(last, "svm")


def read_data(path: str, options: argparse.Namespace, model: LinearModel | None = None) -> Data:
    """Read a data file; with a model, pick the columns that the model needs.

    A LIBSVM file may show fewer features than the model has, or more: see `fit_width`.
    """
    from widemargin.data.tables import Columns, read_csv, read_parquet

    began = time.perf_counter()
    kind = data_format(path, options.data_format)
    if kind == "svm":
        from widemargin.data.svmlight import load_svmlight

        for name, default in (("label", None), ("header", "auto")):
            if getattr(options, name) != default:
                raise ValueError(f"--{name} is for CSV and Parquet; {path} is read as LIBSVM data")
        base: Any = {"0": True, "1": False}.get(options.index_base, "auto")
        jobs = getattr(options, "jobs", None)
        threads = jobs if jobs is not None and jobs > 0 else None
        X, y = load_svmlight(path, zero_based=base, n_threads=threads)
        return Data(X, y, None, time.perf_counter() - began)
    columns = Columns(
        options.label,
        None if model is None else model.feature_names,
        None if model is None else model.n_features,
    )
    if kind == "csv":
        table = read_csv(path, columns, header=options.header)
    else:
        table = read_parquet(path, columns)
    return Data(table.X, table.y, table.feature_names, time.perf_counter() - began)


def model_format(path: str) -> str | None:
    """Return "own" or "liblinear" by the file's first bytes, None if it is neither."""
    with open(path, "rb") as file:
        start = file.read(64).lstrip(b" \r\n\t")
    if start and start[:8] == _OWN_START[: len(start[:8])]:
        return "own"
    return "liblinear" if start.startswith(_LIBLINEAR_START) else None


def read_model(path: str, order: tuple[str, str] | None = None) -> LinearModel:
    """Read a model in either format.

    With the order of arguments, its usage and the other file's path, a mix-up is told as such.
    """
    from widemargin.model_io import ModelFormatError, load_liblinear, load_model

    kind = model_format(path)
    if kind is None:
        reason = "this is neither a widemargin model nor one of LIBLINEAR"
        if order is not None and os.path.isfile(order[1]) and model_format(order[1]) is not None:
            reason += f", but {order[1]} is; the order is: {order[0]}"
        raise ModelFormatError(path, reason)
    return load_model(path) if kind == "own" else load_liblinear(path)


def write_model(model: LinearModel, path: str, kind: str) -> None:
    """Write a model in the format asked for."""
    from widemargin.model_io import save_liblinear, save_model

    (save_model if kind == "own" else save_liblinear)(model, path)


def default_model_path(data: str) -> str:
    """Return the name that LIBLINEAR's ``train`` would choose: the data's, in this directory."""
    return os.path.basename(data) + ".model"


def check_writable(path: str) -> None:
    """Refuse, before any work, a path that could not be written to after it."""
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no directory {folder} to write {path} to")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"the directory {folder} cannot be written to")


def fit_width(X: Any, width: int) -> Any:
    """Return X with as many columns as a model has weights.

    A sparse file shows no feature that is zero throughout, so missing columns are zeros; columns
    the model has never seen are dropped, as LIBLINEAR does.
    """
    import scipy.sparse as sp

    if X.shape[1] == width or not sp.issparse(X):
        return X
    if X.shape[1] > width:
        return X[:, :width]
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width), copy=False)


def positive_number(text: str) -> float:
    """Parse an argument that must be a positive finite number."""
    value = float(text)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive finite number")
    return value


def positive_integer(text: str) -> int:
    """Parse an argument that must be a positive integer."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive integer")
    return value


def job_count(text: str) -> int:
    """Parse a number of threads; -1 means all cores."""
    value = int(text)
    if value == 0 or value < -1:
        raise argparse.ArgumentTypeError(f"{text} is neither a number of threads nor -1")
    return value


positive_number.__name__ = "number"
positive_integer.__name__ = job_count.__name__ = "integer"


def parse_class_weight(pairs: list[str] | None, classes: NDArray[Any]) -> Any:
    """Turn ``LABEL=WEIGHT`` arguments, or ``balanced``, into what the estimators take."""
    if not pairs:
        return None
    if pairs == ["balanced"]:
        return "balanced"
    weights: dict[Any, float] = {}
    for pair in pairs:
        text, equals, number = pair.rpartition("=")
        try:
            weight = positive_number(number)
        except (ValueError, argparse.ArgumentTypeError):
            equals = ""
        if not equals:
            raise ValueError(
                f"--class-weight takes LABEL=WEIGHT with a positive weight, or balanced; got {pair}"
            )
        label = _label_called(text, classes)
        if label in weights:
            raise ValueError(f"--class-weight names the class {text} twice")
        weights[label] = weight
    return weights


def _label_called(text: str, classes: NDArray[Any]) -> Any:
    for label in classes.tolist():
        if isinstance(label, str):
            if label == text:
                return label
            continue
        try:
            if float(text) == float(label):
                return label
        except ValueError:
            break
    raise ValueError(f"--class-weight names the class {text}, which is not in the data")
