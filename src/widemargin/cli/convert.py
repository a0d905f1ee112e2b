"""``widemargin convert``: data and models from one format to another."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from widemargin.cli.inputs import (
    DATA_FORMATS,
    add_data_arguments,
    check_writable,
    data_format,
    model_format,
    read_data,
    read_model,
    write_model,
)
from widemargin.cli.output import Output, add_output_arguments

if TYPE_CHECKING:
    from widemargin.cli.inputs import Data

MODEL_FORMATS = ("own", "liblinear")


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "convert",
        help="change the format of a data or model file",
        description="Convert data between LIBSVM's format, CSV and Parquet, or a model between "
        "the package's own format and LIBLINEAR's. The kind of the input is found out by itself; "
        "tables are written with a header and the label last.",
    )
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument(
        "--to",
        choices=(*DATA_FORMATS, *MODEL_FORMATS),
        help="format to write (default: by the output's suffix for data; the other one for models)",
    )
    add_data_arguments(parser)
    add_output_arguments(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the input, write the output."""
    output = Output(options)
    check_writable(options.output)
    kind = model_format(options.input)
    if kind is not None:
        target = options.to or ("liblinear" if kind == "own" else "own")
        if target not in MODEL_FORMATS:
            raise ValueError(f"{options.input} is a model; --to must be own or liblinear")
        write_model(read_model(options.input), options.output, target)
        what = f"model: {kind} to {target}"
    else:
        kind = data_format(options.input, options.data_format)
        target = options.to or data_format(options.output)
        if target not in DATA_FORMATS:
            raise ValueError(f"{options.input} is not a model; --to must be svm, csv or parquet")
        data = read_data(options.input, options)
        _write_data(data, options.output, target)
        what = f"{data.X.shape[0]:,} x {data.X.shape[1]:,} data: {kind} to {target}"
    output.text(f"{options.output}: {what}")
    output.result(
        {
            "command": "convert",
            "input": options.input,
            "output": options.output,
            "from": kind,
            "to": target,
        }
    )
    return 0


def _write_data(data: Data, path: str, kind: str) -> None:
    from widemargin.cli.table_writers import write_csv, write_parquet
    from widemargin.data.replacing import replacing

    if kind == "svm":
        from widemargin.data.svmlight import dump_svmlight

        if data.y is None or data.y.dtype.kind in "UO":
            raise ValueError("LIBSVM's format has numbers for labels; these are text")
        dump_svmlight(data.X, data.y, path)
        return
    with replacing(path) as file:
        if kind == "parquet":
            write_parquet(data.X, data.y, file, data.feature_names)
        else:
            write_csv(data.X, data.y, file, data.feature_names, path=path)
