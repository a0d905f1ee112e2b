"""The LIBSVM-format reader: packed files, pipes, file objects, and files without data."""

import bz2
import gzip
import lzma
import os
import threading

import numpy as np
import pytest

from svmlight_text import PACK, assert_same, random_text
from widemargin.data.errors import DataFormatError
from widemargin.data.svmlight import load_svmlight
from widemargin.instruction_sets import core


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
    with pytest.raises(DataFormatError, match=r"data\.svm\.\w+: the \w+ file is truncated") as info:
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
