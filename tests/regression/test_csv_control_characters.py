"""CSV cells with control characters, which some parsers take for spaces: refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from widemargin import DataFormatError
from widemargin.data.csv_tables import read_csv


@pytest.mark.parametrize("character", ["\x1e", "\x0b", "\x0c", "\x1c", "\x7f", "\x01"])
def test_refused_with_line_and_column(tmp_path: Path, character: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"1,2,0\n3,{character}-3,1\n".encode())
    with pytest.raises(DataFormatError, match=":2:2: there is a control character"):
        read_csv(path)


def test_refused_in_labels_and_names(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"1,2,a\n3,4,b\x1f\n")
    with pytest.raises(DataFormatError, match=":2:3: there is a control"):
        read_csv(path)
    path.write_bytes(b"u,v\x1f,y\n1,2,0\n3,4,1\n")
    with pytest.raises(DataFormatError, match=":1:2: there is a control"):
        read_csv(path)


def test_columns_that_are_not_used_may_hold_any(tmp_path: Path) -> None:
    from widemargin.data.tables import TableColumns

    path = tmp_path / "a.csv"
    path.write_bytes(b"u,v,y\n1,2\x1f,0\n3,4,1\n")
    table = read_csv(path, TableColumns(label="y", features=("u",)))
    np.testing.assert_array_equal(table.X, [[1.0], [3.0]])
