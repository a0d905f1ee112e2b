"""The LIBSVM-format reader and writer: what they accept, what they refuse, and how they say so."""

import bz2
import gzip
import lzma
import os
import pickle
import stat
import threading
from io import BytesIO

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from widemargin.data.errors import DataFormatError
from widemargin.data.svmlight import dump_svmlight, load_svmlight
from widemargin.kernels import core

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def loads(text, **options):
    """Read text, or bytes, as if it were a file."""
    return load_svmlight(BytesIO(text.encode() if isinstance(text, str) else text), **options)


def assert_same(first, second):
    """Compare two results bit for bit, in values and in types."""
    for a, b in zip(first, second, strict=True):
        if sp.issparse(a):
            assert a.shape == b.shape
            assert_same((a.data, a.indices, a.indptr), (b.data, b.indices, b.indptr))
        else:
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()


def random_text(rng, rows=20000, comments=True):
    """Several megabytes, hence several pieces, with all that the format allows."""
    lines = []
    for _ in range(1500):
        if comments and rng.random() < 0.05:
            lines.append(rng.choice(["", "   ", "# 1:2 3:4 qid:5", "\t# :::", "\r"]))
        indices = np.unique(rng.integers(1, 5000, rng.integers(0, 30)))
        values = rng.standard_normal(len(indices)) * 10.0 ** rng.integers(-9, 9, len(indices))
        formats = rng.choice(["%.3f", "%.6g", "%.17g", "%+.5f", "%d", "%.4e"], len(indices))
        features = [f"{i}:{form % v}" for i, form, v in zip(indices, formats, values, strict=True)]
        separator = rng.choice([" ", "  ", "\t", " \t "])
        end = rng.choice(["", " ", "\r", " # 1:7 the end", "#x"]) if comments else ""
        lines.append(separator.join([rng.choice(["1", "-1", "+1", "2.5"]), *features]) + end)
    return "\n".join(rng.choice(lines, rows).tolist()).encode()


# --- reading


@pytest.mark.parametrize("last", ["", "\n", "\r\n", "\n\n", " ", "# done"])
def test_reads_all_that_a_line_may_hold(last):
    text = "# heading\n\n+1 1:0.5 3:-2e1 # note\r\n-1\t2:+.5\t\n  3.5 4:1.\n0#1:1\n7" + last
    X, y = loads(text)
    assert y.tolist() == [1, -1, 3.5, 0, 7]
    assert X.toarray().tolist() == [
        [0.5, 0, -20, 0],
        [0, 0.5, 0, 0],
        [0, 0, 0, 1],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
    ]
    assert isinstance(X, sp.csr_matrix)
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.has_canonical_format


def test_keeps_explicit_zeros():
    X, _ = loads("1 1:0 2:-0.0\n")
    assert X.nnz == 2
    assert np.signbit(X.data).tolist() == [False, True]


def test_skips_a_byte_order_mark():
    X, y = loads(b"\xef\xbb\xbf1 1:2\n")
    assert (y[0], X[0, 0]) == (1, 2)
    with pytest.raises(DataFormatError, match=r":1:3: "):
        loads(b"\xef\xbb\xbf1 x\n")


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_scikit_learn_on_long_text(seed):
    text = random_text(np.random.default_rng(seed))
    X, y = loads(text, n_threads=2)
    expected_X, expected_y = load_svmlight_file(BytesIO(text))
    assert X.shape == expected_X.shape
    assert y.tobytes() == expected_y.tobytes()
    assert X.data.tobytes() == expected_X.data.tobytes()
    assert np.array_equal(X.indices, expected_X.indices)
    assert np.array_equal(X.indptr, expected_X.indptr)


@pytest.mark.parametrize(
    "number",
    [
        "0", "-0", "7", "0.1", ".5", "5.", "+.25", "-3.", "123456.12345678", "1234567.12345678",
        "12345678", "123456789.5", "0.123456789", "0.12345678901234567", "9007199254740993",
        "1e5", "1E-5", "-1.5e+10", "1.7976931348623157e308", "2.2250738585072014e-308",
        "2.2250738585072011e-308", "4.9e-324", "5e-324", "2e-324", "1e-400", "-1e-400", "0e999",
        "0.000000000000000000000000000000000000000000001", "1" * 40, "0." + "3" * 60,
        "8.5", "179769313486231580793", "6.631236846766476e-316",
        "3.2378839133029012895883524e-319",
        "1090544144181609348835077142190", "00001", "000000000012.50000000000",
    ],
)  # fmt: skip
def test_numbers_are_rounded_correctly(number):
    X, y = loads(f"{number} 1:{number}\n{number} 1:{number}")
    for value in (*X.data, *y):
        assert np.float64(value).tobytes() == np.float64(float(number)).tobytes()


def test_many_short_decimals_are_rounded_correctly():
    rng = np.random.default_rng(0)
    numbers = [
        f"{rng.integers(0, 10 ** rng.integers(1, 9))}.{rng.integers(0, 10**d):0{d}d}"
        for d in rng.integers(1, 10, 20000)
    ]
    X, _ = loads("\n".join(f"1 1:{number}" for number in numbers))
    assert X.data.tobytes() == np.array([float(number) for number in numbers]).tobytes()


def test_float32_is_the_rounded_float64():
    text = random_text(np.random.default_rng(5), rows=500)
    wide, _ = loads(text)
    narrow, y = loads(text, dtype=np.float32)
    assert narrow.dtype == np.float32
    assert y.dtype == np.float64
    assert narrow.data.tobytes() == wide.data.astype(np.float32).tobytes()


def test_counts_from_zero_or_one():
    assert loads("1 1:1 3:1")[0].indices.tolist() == [0, 2]
    assert loads("1 1:1 3:1", zero_based=True)[0].indices.tolist() == [1, 3]
    assert loads("1 1:1 3:1", zero_based=False)[0].shape == (1, 3)
    X, _ = loads("1 1:1 3:1\n1 0:1")
    assert X.indices.tolist() == [1, 3, 0]
    assert X.shape == (2, 4)
    assert loads("1\n-1")[0].shape == (2, 0)
    assert loads("1\n-1", n_features=4)[0].shape == (2, 4)
    assert loads("1 1:1", n_features=4)[0].shape == (1, 4)


def test_large_indices_are_int64():
    X, _ = loads("1 1:1 2147483647:2\n1 3:1")
    assert X.indices.dtype == np.int32
    X, _ = loads("1 1:1\n1 3:1 500000000000000000:3")
    assert X.indices.dtype == X.indptr.dtype == np.int64
    assert X.shape == (2, 5 * 10**17)
    assert X.indices.tolist() == [0, 2, 5 * 10**17 - 1]
    X, _ = loads("1 0:1 2147483648:2")
    assert X.indices.tolist() == [0, 2147483648]


def test_query_ids():
    text = "1 qid:3 1:1\n2 qid:-4\n0 qid:9223372036854775807 2:5 # qid:1"
    X, _, ids = loads(text, query_id=True)
    assert ids.dtype == np.int64
    assert ids.tolist() == [3, -4, 2**63 - 1]
    assert_same(loads(text), loads("1 1:1\n2\n0 2:5"))
    assert X.nnz == 2


@pytest.mark.parametrize("query_id", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_threads_do_not_change_the_result(query_id, dtype):
    text = random_text(np.random.default_rng(1), rows=30000)
    if query_id:
        text = random_text(np.random.default_rng(1), rows=30000, comments=False)
        lines = text.decode().split("\n")
        text = "\n".join(
            line.split()[0] + f" qid:{i} " + " ".join(line.split()[1:])
            for i, line in enumerate(lines)
        ).encode()
    assert len(text) > 4 << 20
    results = [loads(text, n_threads=n, query_id=query_id, dtype=dtype) for n in (1, 2, 3, 8)]
    for other in results[1:]:
        assert_same(results[0], other)


def test_calls_from_several_threads_agree():
    text = random_text(np.random.default_rng(2), rows=5000)
    results = [None] * 4

    def work(i):
        results[i] = loads(text, n_threads=2)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in results[1:]:
        assert_same(results[0], other)


def test_one_line_longer_than_a_piece():
    values = np.arange(1, 200001)
    X, y = loads("1 " + " ".join(f"{i}:{i}" for i in values) + "\n-1 5:5\n", n_threads=2)
    assert X.shape == (2, 200000)
    assert y.tolist() == [1, -1]
    assert np.array_equal(X.data, [*values, 5])


def test_ends_at_the_end_of_a_memory_page(tmp_path):
    # Digits are read eight at a time; here nothing may be read past the last one.
    for size in (4096, 65536):
        text = b"1 1:1\n" * ((size - 10) // 6)
        text += b"1" * (size - len(text) - 8) + b" 1:12345"
        path = tmp_path / "page.svm"
        path.write_bytes(text)
        X, _ = load_svmlight(path)
        assert os.path.getsize(path) == size
        assert X[-1, 0] == 12345


# --- files


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.svm"
    path.write_bytes(b"1 1:0.5\n-1 2:3\n")
    return path


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("rename", [False, True])
def test_packed_files(tmp_path, small, suffix, rename):
    path = tmp_path / ("packed" + ("" if rename else suffix))
    path.write_bytes(PACK[suffix](small.read_bytes()))
    assert_same(load_svmlight(path), load_svmlight(small))
    with open(path, "rb") as file:
        assert_same(load_svmlight(file), load_svmlight(small))


def test_packed_file_of_two_parts(tmp_path):
    path = tmp_path / "two.gz"
    path.write_bytes(gzip.compress(b"1 1:1\n-1") + gzip.compress(b" 1:2\n"))
    assert load_svmlight(path)[1].tolist() == [1, -1]


@pytest.mark.parametrize("suffix", PACK)
def test_packed_file_cut_short(tmp_path, suffix):
    path = tmp_path / f"data.svm{suffix}"
    packed = PACK[suffix](random_text(np.random.default_rng(0), rows=2000))
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataFormatError, match=r"data\.svm\.\w+: the \w+ file is cut short") as info:
        load_svmlight(path)
    assert info.value.path == str(path)
    assert info.value.line is None


@pytest.mark.parametrize("suffix", PACK)
def test_packed_file_corrupt(tmp_path, suffix):
    path = tmp_path / f"data.svm{suffix}"
    packed = bytearray(PACK[suffix](random_text(np.random.default_rng(0), rows=2000)))
    middle = len(packed) // 2
    packed[middle : middle + 50] = bytes(255 - b for b in packed[middle : middle + 50])
    path.write_bytes(packed)
    with pytest.raises(DataFormatError, match=r"data\.svm\.\w+: the \w+ file is corrupt"):
        load_svmlight(path)


def test_error_in_a_packed_file_has_a_place(tmp_path):
    path = tmp_path / "data.svm.xz"
    path.write_bytes(lzma.compress(b"1 1:1\n1 1;1\n"))
    with pytest.raises(DataFormatError, match=r"data\.svm\.xz:2:4: expected ':' after"):
        load_svmlight(path)


def test_names_and_file_objects(small, monkeypatch):
    expected = load_svmlight(small)
    monkeypatch.setenv("HOME", str(small.parent))
    assert_same(load_svmlight(str(small)), expected)
    assert_same(load_svmlight(os.fsencode(small)), expected)
    assert_same(load_svmlight("~/small.svm"), expected)
    with open(small, "rb") as file:
        assert_same(load_svmlight(file), expected)
        assert file.read() == b""
    with open(small, "rb") as file:
        file.readline()
        assert load_svmlight(file)[1].tolist() == [-1]


def test_opened_archive_is_read_through_its_own_methods(tmp_path, small):
    path = tmp_path / "packed.gz"
    path.write_bytes(gzip.compress(small.read_bytes()))
    with gzip.open(path) as file:
        assert_same(load_svmlight(file), load_svmlight(small))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX")
@pytest.mark.parametrize("packed", [False, True])
def test_pipes(tmp_path, small, packed):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = small.read_bytes()
    writer = threading.Thread(
        target=pipe.write_bytes, args=(gzip.compress(text) if packed else text,)
    )
    writer.start()
    try:
        assert_same(load_svmlight(pipe), load_svmlight(small))
    finally:
        writer.join()


def test_core_reads_what_it_cannot_map():
    reading, writing = os.pipe()
    os.write(writing, b"1 1:2\n")
    os.close(writing)
    try:
        labels, _, values, *_ = core.read_svmlight_file(reading, "auto", -1, False, False, 1)
    finally:
        os.close(reading)
    assert (labels.tolist(), values.tolist()) == ([1], [2])


def test_result_outlives_the_file(small):
    X, y = load_svmlight(small)
    small.unlink()
    assert X.sum() == 3.5
    X.data[0] = 7
    y[0] = 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n\n# only a comment\n", "the file holds no examples"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (b"\x7fELF\x02\x01\x01\x00\x00", "this is a binary file, not LIBSVM text"),
        ("1 1:1\n".encode("utf-16"), "this is a binary file, not LIBSVM text"),
        (bz2.compress(b"\x00\x01\x02"), "this is a binary file, not LIBSVM text"),
    ],
)
def test_files_without_data(tmp_path, content, message):
    path = tmp_path / "data"
    path.write_bytes(content)
    with pytest.raises(DataFormatError) as info:
        load_svmlight(path)
    assert str(info.value) == f"{path}: {message}"
    assert (info.value.path, info.value.line, info.value.column) == (str(path), None, None)


@pytest.mark.parametrize("suffix", PACK)
def test_suffix_that_is_not_true(tmp_path, suffix):
    path = tmp_path / f"data{suffix}"
    path.write_bytes(b"1 1:1\n")
    with pytest.raises(DataFormatError, match=rf"the name ends in \{suffix}, but this is not a"):
        load_svmlight(path)


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.svm"):
        load_svmlight(tmp_path / "nothing.svm")
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        load_svmlight(tmp_path)


def test_text_mode_is_refused(small):
    with open(small) as file, pytest.raises(TypeError, match="binary mode"):
        load_svmlight(file)


# --- malformed lines

FROM_ZERO, FROM_ONE = {"zero_based": True}, {"zero_based": False}
BAD_LINES = [
    # the line, the column of the fault, the message, options of load_svmlight
    ("abc 1:1", 1, "expected the label, found 'abc'", {}),
    ("- 1:1", 1, "expected the label, found '-'", {}),
    ("+-1 1:1", 1, "expected the label, found '+-1'", {}),
    ("1:1 2:1", 1, "the line starts with a feature, its label is missing", {}),
    ("nan 1:1", 1, "the label is not finite: 'nan'", {}),
    ("-inf 1:1", 1, "the label is not finite: '-inf'", {}),
    ("1e999 1:1", 1, "the label is too large for a number: '1e999'", {}),
    ("1,2 1:1", 2, "several labels on one line: multi-label data is not supported", {}),
    (", 1:1", 1, "several labels on one line: multi-label data is not supported", {}),
    ("1x 1:1", 2, "unexpected 'x' after the label", {}),
    ("0x10 1:1", 2, "unexpected 'x10' after the label", {}),
    ("1 1:1 x", 7, "expected a feature index, found 'x'", {}),
    ("1 +1:1", 3, "expected a feature index, found '+1:1'", {}),
    ("1 :1", 3, "expected a feature index, found ':1'", {}),
    ("1 -1:1", 3, "the feature index is negative: '-1:1'", {}),
    ("1 1:1 22 3:1", 9, "expected ':' after feature index", {}),
    ("1 1:1 123456789", 16, "expected ':' after feature index", {}),
    ("1 1;1", 4, "expected ':' after feature index", {}),
    ("1 1.5:1", 4, "expected ':' after feature index", {}),
    ("1 1_0:1", 4, "expected ':' after feature index", {}),
    ("1 9999999999999999999:1", 3, "the feature index is too large: '9999999999999999999:...'", {}),
    ("1 1: 2", 5, "expected the value after ':', found a blank", {}),
    ("1 1:", 5, "expected the value after ':', found the end of the line", {}),
    ("1 1:#2", 5, "expected the value after ':', found '#2'", {}),
    ("1 1:x", 5, "expected the value after ':', found 'x'", {}),
    ("1 1:--1", 5, "expected the value after ':', found '--1'", {}),
    ("1 1:.", 5, "expected the value after ':', found '.'", {}),
    ("1 1:e5", 5, "expected the value after ':', found 'e5'", {}),
    ("1 1:NaN", 5, "the value after ':' is not finite: 'NaN'", {}),
    ("1 1:-Infinity", 5, "the value after ':' is not finite: '-Infinity'", {}),
    ("1 1:1e309", 5, "the value after ':' is too large for a number: '1e309'", {}),
    ("1 1:" + "9" * 400, 5, f"the value after ':' is too large for a number: '{'9' * 20}...'", {}),
    ("1 1:1e39", 5, "the value is too large for float32: '1e39'", {"dtype": np.float32}),
    ("1 1:1e", 6, "unexpected 'e' after the value", {}),
    ("1 1:1.2.3", 8, "unexpected '.3' after the value", {}),
    ("1 1:1,5", 6, "unexpected ',5' after the value", {}),
    ("1 1:2:3", 6, "unexpected ':3' after the value", {}),
    ("1 1:1\x01", 6, "unexpected '\\x01' after the value", {}),
    ("1 1:1\xff", 6, "unexpected '\\xc3\\xbf' after the value", {}),
    ("1 1:1 1:2", 7, "feature index 1 is repeated", {}),
    ("1 5:1 3:2", 7, "feature index 3 comes after 5: indices must increase", {}),
    ("1 0:1", 3, "feature index 0 in data that counts from one (zero_based=False)", FROM_ONE),
    ("1 1:1 7:1", 7, "feature index 7 is too large for 6 features", {"n_features": 6}),
    ("1 6:1", 3, "feature index 6 is too large for 6 features", {"n_features": 6, **FROM_ZERO}),
    ("1 1:1 qid:2", 7, "'qid:' must come before the features", {}),
    ("1 qid:x 1:1", 7, "expected a whole number after 'qid:', found 'x'", {}),
    ("1 qid: 1:1", 7, "expected a whole number after 'qid:', found a blank", {}),
    ("1 qid:1.5 1:1", 7, "expected a whole number after 'qid:', found '1.5'", {}),
    ("1 qid:" + "9" * 20, 7, f"the qid does not fit 64 bits: '{'9' * 20}'", {}),
    ("1 1:1", 3, "expected 'qid:', because query_id=True, found '1:1'", {"query_id": True}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "column", "message", "options"), BAD_LINES)
@pytest.mark.parametrize("many", [False, True])
def test_malformed_line(tmp_path, line, column, message, options, many):
    path = tmp_path / "data.svm"
    good = b"1 qid:1 1:1 2:0.5 # fine\n\n" * (50_000 if many else 1)
    # Bad lines that follow must not win, whichever thread meets them first.
    path.write_bytes(good + line.encode() + b"\n" + good + b"nonsense\n")
    number = 1 + good.count(b"\n")
    for threads in (1, 2, 5):
        with pytest.raises(DataFormatError) as info:
            load_svmlight(path, n_threads=threads, **options)
        assert str(info.value) == f"{path}:{number}:{column}: {message}"
        assert (info.value.line, info.value.column) == (number, column)


def test_error_survives_pickling():
    error = pickle.loads(pickle.dumps(DataFormatError("wrong", "a.svm", 2, 3)))
    assert str(error) == "a.svm:2:3: wrong"
    assert (error.message, error.path, error.line, error.column) == ("wrong", "a.svm", 2, 3)


def test_last_index_of_a_file_that_turns_out_to_count_from_zero():
    with pytest.raises(DataFormatError, match=r":2:7: feature index 6 is too large for 6 features"):
        loads("1 1:1\n1 1:1 6:1\n1 0:1", n_features=6)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"zero_based": "no"}, ValueError, "zero_based must be True, False or 'auto', not 'no'"),
        ({"zero_based": 1}, ValueError, "zero_based must be True, False or 'auto', not 1"),
        ({"n_features": -1}, ValueError, "n_features must be at least 0, not -1"),
        ({"n_features": 2.0}, TypeError, "n_features must be a whole number, not 2.0"),
        ({"n_threads": 0}, ValueError, "n_threads must be at least 1, not 0"),
        ({"n_threads": "2"}, TypeError, "n_threads must be a whole number, not '2'"),
        ({"dtype": np.int32}, ValueError, "dtype must be float64 or float32, not int32"),
    ],
)
def test_bad_arguments(options, kind, message):
    with pytest.raises(kind) as info:
        loads("1 1:1", **options)
    assert str(info.value) == message


# --- writing


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
    monkeypatch.setattr("widemargin.data.svmlight._BLOCK_ENTRIES", 100)
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
        (([["a"]], [1]), {}, "X must hold numbers of at most 64 bits, not <U1"),
        (([[1]], ["a"]), {}, "y must hold numbers of at most 64 bits, not <U1"),
        (([[1j]], [1]), {}, "X must hold numbers of at most 64 bits, not complex128"),
        (([[2**53 + 1]], [1]), {}, "X holds int64 numbers that float64 cannot hold"),
        (([[1]], [1, 2]), {}, "y must have shape (1,), one label a row, not (2,)"),
        (([[1]], [[1]]), {}, "y must have shape (1,), one label a row, not (1, 1)"),
        (([[1]], [np.nan]), {}, "y holds NaN or infinity"),
        (([[1], [np.inf]], [1, 1]), {}, "X holds NaN or infinity in rows 0 to 1"),
        (([[1]], [1]), {"query_id": [0.5]}, "query_id must hold whole numbers of at most 64 bits"),
        (([[1]], [1]), {"query_id": [1, 2]}, "query_id must have shape (1,), one a row, not (2,)"),
        (([[1]], [1]), {"comment": "a\0"}, "comment must not hold a null character"),
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
