"""The LIBSVM-format reader: what a line may hold, and what it means."""

import os
import threading
from io import BytesIO

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from svmlight_text import assert_same, loads, random_text
from widemargin.data.errors import DataFormatError
from widemargin.data.svmlight import load_svmlight


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
