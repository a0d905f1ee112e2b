"""A Parquet file with damaged bytes gave pyarrow's own exceptions, or values that are not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from widemargin import DataFormatError
from widemargin.data.parquet_tables import read_parquet, write_parquet


def test_every_damage_is_refused_or_harmless(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    random = np.random.default_rng(0)
    path = tmp_path / "a.parquet"
    write_parquet(random.normal(size=(30, 3)), np.array(["a", "b"] * 15), path)
    whole = path.read_bytes()
    refused = harmless = 0
    for _ in range(300):
        damaged = bytearray(whole)
        for place in random.integers(len(whole), size=random.integers(1, 4)):
            damaged[place] = random.integers(256)
        path.write_bytes(damaged)
        try:
            table = read_parquet(path)
        except DataFormatError as error:
            refused += str(error).startswith(f"{path}: ")
        else:
            harmless += np.isfinite(table.X).all()
    assert refused > 50
    assert refused + harmless == 300
