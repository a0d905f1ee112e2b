"""The LIBSVM-format reader: malformed lines are refused with line and column."""

import pickle

import numpy as np
import pytest

from svmlight_text import loads
from widemargin.data.errors import DataFormatError
from widemargin.data.svmlight import load_svmlight

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
        ({"n_features": 2.0}, TypeError, "n_features must be an integer, not 2.0"),
        ({"n_threads": 0}, ValueError, "n_threads must be at least 1, not 0"),
        ({"n_threads": "2"}, TypeError, "n_threads must be an integer, not '2'"),
        ({"dtype": np.int32}, ValueError, "dtype must be float64 or float32, not int32"),
    ],
)
def test_bad_arguments(options, kind, message):
    with pytest.raises(kind) as info:
        loads("1 1:1", **options)
    assert str(info.value) == message
