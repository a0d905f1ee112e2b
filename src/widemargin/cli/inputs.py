"""Read the data and model files of the commands, whatever their format."""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from widemargin.cli.written import expect

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from widemargin.model_io import LinearModel, ScoreModel, SequenceModel

_OWN_START = b"\x89WIDEMG\n"
_LIBLINEAR_START = b"solver_type"


_ABOUT_DATA = re.compile(r"\b(X|y|rows?|samples?|class(es)?|labels?|features?)\b")
"""Errors about arguments name the argument instead."""


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Put the file's name before errors about the data that were read from it."""
    try:
        yield
    except ValueError as error:
        if path in str(error) or not _ABOUT_DATA.search(str(error)):
            raise
        raise ValueError(f"{path}: {error}") from error


@dataclass(frozen=True, eq=False)
class Data:
    """Examples, their labels if there are any, and the seconds spent reading them."""

    X: Any
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    seconds: float

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The different labels in sorted order, for all who ask."""
        import numpy as np

        from widemargin.data.labels import different_labels

        assert self.y is not None
        return different_labels(np.asarray(self.y))


def data_format(path: str, asked: str = "auto") -> str:
    """Return "svm", "csv" or "parquet"."""
    if asked != "auto":
        return asked
    from widemargin.data.compression import compression_named

    while compression_named(path) is not None:
        path = os.path.splitext(path)[0]
    suffix = os.path.splitext(path)[1].lower()
    return {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}.get(
        suffix, "svm"
    )


_SVM_ENDINGS = ("", ".svm", ".svmlight", ".libsvm", ".txt", ".dat", ".t", ".scale")


def format_to_write(path: str) -> str:
    """Return the format of data that a file's name asks for, or raise an error."""
    from widemargin.data.compression import compression_named

    plain = path
    while compression_named(plain) is not None:
        plain = os.path.splitext(plain)[0]
    ending = os.path.splitext(plain)[1].lower()
    kind = data_format(path)
    if kind == "svm" and ending not in _SVM_ENDINGS:
        raise ValueError(
            f"{path}: the ending {ending} names no format; choose one by --to svm, csv or parquet"
        )
    return kind


def read_data(
    path: str, options: argparse.Namespace, model: LinearModel | ScoreModel | None = None
) -> Data:
    """Read a data file; with a model, select the columns that the model needs.

    A LIBSVM file may have fewer or more features than the model: see `fit_width`.
    """
    began = time.perf_counter()
    kind = data_format(path, options.data_format)
    if stays_on_disk(path, kind, options):
        return _on_disk(path, kind, options)
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
    from widemargin.data.csv_tables import read_csv
    from widemargin.data.parquet_tables import read_parquet
    from widemargin.data.tables import TableColumns

    columns = TableColumns(options.label)
    if model is not None:
        columns = TableColumns(options.label, model.feature_names, model.n_features)
    if kind == "csv":
        table = read_csv(path, columns, header=options.header)
    else:
        table = read_parquet(path, columns)
    return Data(table.X, table.y, table.feature_names, time.perf_counter() - began)


def stays_on_disk(path: str, kind: str, options: argparse.Namespace) -> bool:
    """Whether data are read block by block: asked for, or larger than half of the memory."""
    if not hasattr(options, "memory_limit"):
        return False
    if options.memory_limit is not None:
        if kind == "csv":
            raise ValueError(f"--memory-limit is for LIBSVM and Parquet data; {path} is CSV")
        return True
    from widemargin.data.disk_data import bytes_of

    return kind != "csv" and os.path.isfile(path) and os.path.getsize(path) > bytes_of(None)


def _on_disk(path: str, kind: str, options: argparse.Namespace) -> Data:
    """Open data larger than memory; the first time they are parsed into a cache."""
    from widemargin.cli.progress import reading
    from widemargin.data.disk_data import DiskData

    began = time.perf_counter()
    if kind == "svm" and options.label is not None:
        raise ValueError(f"--label is for CSV and Parquet; {path} is read as LIBSVM data")
    with reading(path, options) as told:
        data = DiskData(
            path,
            options.label,
            memory_limit=options.memory_limit,
            zero_based=options.index_base == "0",
            told=told,
        )
    return Data(data, data.y, data.feature_names, time.perf_counter() - began)


def model_format(path: str) -> str | None:
    """Return "own" or "liblinear" by the file's first bytes, or None if it is neither."""
    with open(path, "rb") as file:
        start = file.read(64).lstrip(b" \r\n\t")
    if start and start[:8] == _OWN_START[: len(start[:8])]:
        return "own"
    return "liblinear" if start.startswith(_LIBLINEAR_START) else None


def read_model(path: str) -> LinearModel:
    """Read a linear model in either format."""
    from widemargin.model_io import LinearModel

    model = read_any_model(path)
    if not isinstance(model, LinearModel):
        raise ValueError(f"{path} is no classifier of rows: predict and certify take it")
    return model


def read_any_model(
    path: str, order: tuple[str, str] | None = None
) -> LinearModel | SequenceModel | ScoreModel:
    """Read a model in either format.

    `order` is the usage of the command and the path of its data file, so that the message can say
    when the two files were swapped.
    """
    from widemargin.model_io import (
        LinearModel,
        ModelFormatError,
        ScoreModel,
        SequenceModel,
        load_liblinear,
        load_model,
    )

    kind = model_format(path)
    if kind is None:
        reason = "this is neither a widemargin nor a LIBLINEAR model"
        if order is not None and os.path.isfile(order[1]) and model_format(order[1]) is not None:
            reason += f", but {order[1]} is; the order is: {order[0]}"
        raise ModelFormatError(path, reason)
    model = load_model(path) if kind == "own" else load_liblinear(path)
    if not isinstance(model, LinearModel | SequenceModel | ScoreModel):
        raise ModelFormatError(path, "this is a kernel model, which only Python reads: load_model")
    return model


def write_model(model: LinearModel | ScoreModel, path: str, kind: str) -> None:
    """Write a model in the format asked for."""
    from widemargin.model_io import save_liblinear, save_model, save_onnx

    {"own": save_model, "liblinear": save_liblinear, "onnx": save_onnx}[kind](model, path)


def check_writable(path: str) -> None:
    """Raise an error, before any work, if a path cannot be written to; expect a file there."""
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no directory {folder} to write {path} to")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"the directory {folder} cannot be written to")
    expect(path)


def model_path(options: argparse.Namespace) -> str:
    """Return where a model goes, by default as with LIBLINEAR's train; check that it can."""
    path: str = options.model or os.path.basename(options.data) + ".model"
    if not getattr(options, "no_model", False):
        check_writable(path)
    return path


def fit_width(X: Any, width: int) -> Any:
    """Return X with as many columns as a model has weights.

    A sparse file may end before the last feature, so missing columns are zeros. Columns that the
    model was not trained on are dropped, as LIBLINEAR does.
    """
    import scipy.sparse as sp

    from widemargin.data.disk_data import DiskData

    if isinstance(X, DiskData):
        return X.widened(width)
    if X.shape[1] == width or not sp.issparse(X):
        return X
    if X.shape[1] > width:
        return X[:, :width]
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width), copy=False)
