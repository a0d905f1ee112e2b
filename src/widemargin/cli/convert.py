"""``widemargin convert``: convert data and models between formats."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from widemargin.cli.inputs import (
    check_writable,
    data_format,
    format_to_write,
    model_format,
    read_any_model,
    read_data,
    write_model,
)
from widemargin.cli.options import (
    DATA_FORMATS,
    MODELS_TO_WRITE,
    add_data_options,
    add_output_options,
    adder,
)
from widemargin.cli.output import Output

if TYPE_CHECKING:
    from widemargin.cli.inputs import Data


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "convert",
        help="convert a data or model file",
        description="Convert data between LIBSVM format, CSV and Parquet, or a model between the "
        "package's own format and LIBLINEAR's, or into ONNX. The kind of the input is detected. "
        "Tables are written with a header and the label last.",
    )
    parser.add_argument("input")
    parser.add_argument("output")
    to = (
        "format to write (default: by the output's suffix for data; for models onnx if it is "
        ".onnx, else the other one)"
    )
    adder(parser)("--to", None, to, choices=(*DATA_FORMATS, *MODELS_TO_WRITE))
    add_data_options(parser)
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the input, write the output."""
    from widemargin.model_io import SequenceModel

    output = Output(options)
    check_writable(options.output)
    kind = model_format(options.input)
    if kind is not None:
        target = options.to or _other(kind, options.output)
        if target not in MODELS_TO_WRITE:
            raise ValueError(f"{options.input} is a model; --to must be own, liblinear or onnx")
        model = read_any_model(options.input)
        if isinstance(model, SequenceModel):
            raise ValueError(f"{options.input} is a sequence model, which has no other format")
        if target == "onnx" and find_spec("onnx") is None:
            raise ValueError("ONNX needs the package onnx: pip install 'widemargin[onnx]'")
        write_model(model, options.output, target)
        what = f"model: {kind} to {target}"
    else:
        kind = data_format(options.input, options.data_format)
        target = options.to or format_to_write(options.output)
        if target not in DATA_FORMATS:
            raise ValueError(f"{options.input} is not a model; --to must be svm, csv or parquet")
        data = read_data(options.input, options)
        _write_data(data, options.output, target)
        what = f"{data.X.shape[0]:,} x {data.X.shape[1]:,} data: {kind} to {target}"
    output.text(f"{options.output}: {what}")
    output.result("input", "output", **{"from": kind, "to": target})
    return 0


def _other(kind: str, path: str) -> str:
    """Return the format that a model of this kind is converted to."""
    if path.lower().endswith(".onnx"):
        return "onnx"
    return "liblinear" if kind == "own" else "own"


def _write_data(data: Data, path: str, kind: str) -> None:
    from widemargin.data.csv_tables import write_csv
    from widemargin.data.parquet_tables import write_parquet
    from widemargin.data.svmlight import dump_svmlight

    if kind != "svm":
        (write_csv if kind == "csv" else write_parquet)(data.X, data.y, path, data.feature_names)
    elif data.y is None or data.y.dtype.kind in "UO":
        raise ValueError("LIBSVM's format needs numbers as labels; these are text")
    else:
        dump_svmlight(data.X, data.y, path)
