"""The LIBSVM-format writer: round trips, and data that cannot be written."""

import os
import stat
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from svmlight_text import PACK, assert_same, loads
from widemargin.auto.machine import MACHINE
from widemargin.data.svmlight import dump_svmlight, load_svmlight


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_round_trip(tmp_path, dtype, index, kind):
    rng = np.random.default_rng(3)
    X = sp.random(300, 70, 0.2, "csr", dtype=np.float64, random_state=4)
    X.data *= 10.0 ** rng.integers(-30, 30, X.nnz)
    X = sp.csr_matrix(X.astype(dtype))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    y = rng.standard_normal(300)
    ids = rng.integers(-(2**62), 2**62, 300)
    path = tmp_path / "data.svm"
    dump_svmlight(kind(X), y, path, query_id=ids)
    back, labels, back_ids = load_svmlight(path, dtype=dtype, n_features=70, query_id=True)
    assert_same((labels, back_ids, back.data), (y, ids, X.data))
    assert (back != X).nnz == 0


@pytest.mark.parametrize("suffix", ["", *PACK])
def test_round_trip_packed(tmp_path, suffix):
    path = tmp_path / f"data{suffix}"
    dump_svmlight([[1, 0], [0, 2.5]], [1, 2], path, comment="two\nlines")
    if suffix:
        assert not path.read_bytes().startswith(b"#")
    X, y = load_svmlight(path)
    assert X.toarray().tolist() == [[1, 0], [0, 2.5]]
    assert y.tolist() == [1, 2]


def test_written_text():
    file = BytesIO()
    X = [[0.1, 0, -3, 1e-7], [0, 0, 0, 0], [1e6, 123456789, 1e22, 1 / 3]]
    dump_svmlight(X, [1, -1, 100000], file, query_id=[7, 8, 9], comment="made here")
    assert file.getvalue().decode() == (
        "# made here\n"
        "1 qid:7 1:0.1 3:-3 4:1e-07\n"
        "-1 qid:8\n"
        "100000 qid:9 1:1000000 2:123456789 3:1e+22 4:0.3333333333333333\n"
    )


def test_written_indices_count_from_zero_if_asked():
    file = BytesIO()
    dump_svmlight(np.eye(2), [0, 1], file, zero_based=True)
    assert file.getvalue() == b"0 0:1\n1 1:1\n"


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint64, bool])
def test_writes_other_number_types(dtype):
    file = BytesIO()
    dump_svmlight(np.eye(2, dtype=dtype), np.array([0, 1], dtype), file)
    assert file.getvalue() == b"0 1:1\n1 2:1\n"


def test_writes_long_data_in_blocks(monkeypatch):
    machine = replace(MACHINE, call=100.0 * MACHINE.written_value)
    monkeypatch.setattr("widemargin.data.svmlight.MACHINE", machine)
    X = sp.random(500, 40, 0.3, "csr", random_state=0)
    for matrix in (X, X.toarray()):
        file = BytesIO()
        dump_svmlight(matrix, np.arange(500), file)
        back, y = loads(file.getvalue(), n_features=40)
        assert (back != X).nnz == 0
        assert np.array_equal(y, np.arange(500))


def test_writing_does_not_touch_an_unordered_matrix():
    X = sp.csr_matrix((np.array([1.0, 2, 3]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    file = BytesIO()
    dump_svmlight(X, [1], file)
    assert file.getvalue() == b"1 1:2 3:4\n"
    assert X.indices.tolist() == [2, 0, 2]
    assert X.data.tolist() == [1, 2, 3]


def test_scikit_learn_reads_what_is_written():
    X = sp.random(100, 30, 0.3, "csr", random_state=1)
    file = BytesIO()
    dump_svmlight(X, np.arange(100) / 7, file)
    back, y = load_svmlight_file(BytesIO(file.getvalue()), n_features=30)
    assert (back != X).nnz == 0
    assert np.array_equal(y, np.arange(100) / 7)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, 2], [1, 2]), {}, "X must have two dimensions, not 1"),
        (([["a"]], [1]), {}, "X must contain numbers of at most 64 bits, not <U1"),
        (([[1]], ["a"]), {}, "y must contain numbers of at most 64 bits, not <U1"),
        (([[1j]], [1]), {}, "X must contain numbers of at most 64 bits, not complex128"),
        (([[2**53 + 1]], [1]), {}, "X contains int64 numbers that float64 cannot represent"),
        (([[1]], [1, 2]), {}, "y must have shape (1,), one label per row, not (2,)"),
        (([[1]], [[1]]), {}, "y must have shape (1,), one label per row, not (1, 1)"),
        (([[1]], [np.nan]), {}, "y contains NaN or infinity"),
        (([[1], [np.inf]], [1, 1]), {}, "X contains NaN or infinity in rows 0 to 1"),
        (([[1]], [1]), {"query_id": [0.5]}, "query_id must contain integers of at most 64 bits"),
        (
            ([[1]], [1]),
            {"query_id": [1, 2]},
            "query_id must have shape (1,), one per row, not (2,)",
        ),
        (([[1]], [1]), {"comment": "a\0"}, "comment must not contain a null character"),
    ],
)
def test_bad_data_is_not_written(tmp_path, arguments, options, message):
    path = tmp_path / "data.svm"
    path.write_bytes(b"as before")
    with pytest.raises(ValueError) as info:  # noqa: PT011
        dump_svmlight(*arguments, path, **options)
    assert str(info.value) == message
    assert os.listdir(tmp_path) == ["data.svm"]
    assert path.read_bytes() == b"as before"


def test_written_file_takes_its_place_at_once(tmp_path):
    path = tmp_path / "data.svm"
    link = tmp_path / "link.svm"
    path.write_bytes(b"as before")
    path.chmod(0o640)
    link.symlink_to(path)
    with open(path, "rb") as earlier:
        dump_svmlight([[1]], [1], link)
        assert earlier.read() == b"as before"
    assert link.is_symlink()
    assert path.read_bytes() == b"1 1:1\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["data.svm", "link.svm"]


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(IsADirectoryError):
        dump_svmlight([[1]], [1], tmp_path)
    with pytest.raises(FileNotFoundError):
        dump_svmlight([[1]], [1], tmp_path / "no" / "data.svm")
