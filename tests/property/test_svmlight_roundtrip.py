"""Whatever is written in LIBSVM's format reads back bit for bit, and text is never misread."""

from io import BytesIO

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from widemargin.data.errors import DataFormatError
from widemargin.data.svmlight import dump_svmlight, load_svmlight


def finite(width):
    return st.floats(allow_nan=False, allow_infinity=False, width=width)


@st.composite
def data_sets(draw):
    dtype, width = draw(st.sampled_from([(np.float64, 64), (np.float32, 32)]))
    shape = draw(st.tuples(st.integers(1, 12), st.integers(1, 15)))
    X = draw(hnp.arrays(dtype, shape, elements=finite(width), fill=st.just(0)))
    y = draw(hnp.arrays(np.float64, shape[0], elements=finite(64)))
    integers = st.integers(-(2**63), 2**63 - 1)
    ids = draw(st.none() | hnp.arrays(np.int64, shape[0], elements=integers))
    return X, y, ids


@settings(deadline=None)
@given(data_sets(), st.booleans(), st.sampled_from([np.int32, np.int64]), st.integers(1, 4))
def test_round_trip_is_exact(data, zero_based, index, threads):
    X, y, ids = data
    rows = sp.csr_matrix(X)
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    file = BytesIO()
    dump_svmlight(rows, y, file, zero_based=zero_based, query_id=ids, comment="1:2 # a comment")
    back, labels, *back_ids = load_svmlight(
        BytesIO(file.getvalue()),
        n_features=X.shape[1],
        dtype=X.dtype,
        zero_based=zero_based,
        query_id=ids is not None,
        n_threads=threads,
    )
    assert labels.tobytes() == y.tobytes()
    assert back.data.tobytes() == rows.data.tobytes()
    assert np.array_equal(back.indices, rows.indices)
    assert np.array_equal(back.indptr, rows.indptr)
    if ids is not None:
        assert np.array_equal(back_ids[0], ids)


@settings(deadline=None)
@given(
    st.from_regex(
        r"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True
    )
)
def test_numbers_equal_python_float(text):
    expected = float(text)
    if np.isinf(expected):
        with pytest.raises(DataFormatError, match="too large"):
            load_svmlight(BytesIO(f"1 1:{text}".encode()))
        return
    X, y = load_svmlight(BytesIO(f"{text} 1:{text} 2:{text}\n".encode()))
    wanted = np.float64(expected).tobytes()
    assert [value.tobytes() for value in (*y, *X.data)] == [wanted] * 3


@settings(deadline=None, max_examples=300)
@given(st.text("0123456789:.+-eEqidnaf# \t\r\n,x\0", max_size=60), st.integers(1, 3))
def test_any_text_is_read_or_refused_with_its_place(text, threads):
    fault = None
    try:
        X, y = load_svmlight(BytesIO(text.encode()), n_threads=threads)
    except DataFormatError as error:
        fault = error
    if fault is not None:
        if fault.line is not None:
            lines = text.split("\n")
            assert 1 <= fault.line <= len(lines)
            assert 1 <= fault.column <= len(lines[fault.line - 1]) + 1
    else:
        lines = [line.split("#")[0].split() for line in text.split("\n")]
        lines = [line for line in lines if line]
        assert y.tolist() == [float(line[0]) for line in lines]
        values = [part.split(":") for line in lines for part in line[1:]]
        assert X.data.tolist() == [float(value) for name, value in values if name != "qid"]
        assert np.isfinite(X.data).all()
