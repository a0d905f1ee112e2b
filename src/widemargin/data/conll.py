"""Readers of sequence data: column files as of CoNLL, and the OCR letters."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.compression import READ_ERRORS, compression_of
from widemargin.data.errors import DataFormatError
from widemargin.data.templates import CHUNKING_TEMPLATE, Template

Path = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class ConllData:
    """Sentences of a column file, as `SequenceSVC.fit` takes them.

    Attributes
    ----------
    X : CSR matrix of shape (tokens, features)
    y : ndarray of str, shape (tokens,)
        The last column.
    lengths : ndarray of shape (sentences,)
    feature_names : list of str
        The columns of X.
    sentences : list of lists of lists of str
        The file as it is.
    """

    X: Any
    y: NDArray[Any]
    lengths: NDArray[np.int64]
    feature_names: list[str]
    sentences: list[list[list[str]]]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield numbered lines of a text file, compressed or not."""
    try:
        with open(path, "rb") as file:
            compression = compression_of(file.read(6))
        opener = open if compression is None else compression.open
        with opener(path, "rt", encoding="utf-8") as text:
            yield from enumerate(text, 1)
    except UnicodeDecodeError as error:
        raise DataFormatError(f"not a text file: {error}", os.fspath(path)) from None
    except FileNotFoundError:
        raise
    except READ_ERRORS as error:
        raise DataFormatError(f"cannot be read: {error}", os.fspath(path)) from None


def read_columns(path: Path) -> list[list[list[str]]]:
    """Return the sentences of a column file: rows of words, sentences apart by empty lines."""
    sentences: list[list[list[str]]] = []
    sentence: list[list[str]] = []
    width = 0
    for number, line in _lines(path):
        words = line.split()
        if not words:
            if sentence:
                sentences.append(sentence)
                sentence = []
            continue
        width = width or len(words)
        if len(words) != width:
            raise DataFormatError(
                f"{len(words)} columns where the lines before have {width}",
                os.fspath(path),
                number,
            )
        sentence.append(words)
    if sentence:
        sentences.append(sentence)
    if not sentences:
        raise DataFormatError("no sentence in the file", os.fspath(path))
    return sentences


def load_conll(
    path: Path,
    template: str = CHUNKING_TEMPLATE,
    feature_names: Sequence[str] | None = None,
) -> ConllData:
    """Read sentences from a column file and make their features by templates.

    Every line is a word with its columns, the last one is its label; an empty line ends a sentence.

    Parameters
    ----------
    path : path
        May be compressed (gzip, bzip2, xz).
    template : str
        In CRF++'s syntax: one line for each feature, ``U05:%x[-1,0]/%x[0,0]``. The default is the
        window of CRF++'s example for chunking, for files with words and tags.
    feature_names : sequence of str, optional
        The columns of training data, so that X has the same; features that are not among them are
        left out.

    Returns
    -------
    ConllData

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from widemargin import SequenceSVC, load_conll
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "train.txt")
    ...     _ = path.write_text("the DT B-NP\\ndog NN I-NP\\nbarks VBZ B-VP\\n\\nit PRP B-NP\\n")
    ...     data = load_conll(path)
    >>> data.X.shape, data.lengths.tolist()
    ((4, 66), [3, 1])
    >>> SequenceSVC().fit(data.X, data.y, lengths=data.lengths).predict(data.X, lengths=[3, 1])[0]
    array(['B-NP', 'I-NP', 'B-VP'], dtype='<U4')
    """
    sentences = read_columns(path)
    return conll_data(sentences, template, feature_names, os.fspath(path))


def conll_data(
    sentences: list[list[list[str]]],
    template: str,
    feature_names: Sequence[str] | None,
    path: str = "",
    labelled: bool = True,
) -> ConllData:
    """Make the features of sentences that were read."""
    lines = Template(template)
    width = len(sentences[0][0]) - int(labelled)
    if lines.columns > width:
        raise DataFormatError(
            f"the template asks for {lines.columns} columns, the file has {width} before the label",
            path,
        )
    matrix, names = _matrix(sentences, lines, feature_names)
    labels = [row[-1] for sentence in sentences for row in sentence] if labelled else []
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    return ConllData(matrix, np.array(labels), lengths, names, sentences)


def _matrix(
    sentences: list[list[list[str]]], template: Template, feature_names: Sequence[str] | None
) -> tuple[Any, list[str]]:
    """Return the features of all rows, and the names of the columns."""
    known = feature_names is not None
    columns = {name: place for place, name in enumerate(feature_names or ())}
    places, pointers = array("i"), array("q", [0])
    for sentence in sentences:
        for names in template.expand(sentence):
            for name in names:
                place = columns.get(name) if known else columns.setdefault(name, len(columns))
                if place is not None:
                    places.append(place)
            pointers.append(len(places))
    indices = np.array(places, dtype=np.int32)
    matrix = sp.csr_matrix(
        (np.ones(indices.size), indices, np.array(pointers).astype(np.int32)),
        shape=(len(pointers) - 1, max(1, len(columns))),
    )
    matrix.sum_duplicates()
    return matrix, list(columns)


def load_letters(
    path: Path,
) -> tuple[list[NDArray[np.float64]], list[NDArray[Any]], NDArray[np.int64]]:
    """Read words of handwritten letters (Kassel; Taskar's file ``letter.data``).

    Parameters
    ----------
    path : path
        May be compressed (gzip, bzip2, xz).

    Returns
    -------
    X : list of ndarray of shape (length, 128)
        The pixels of each letter of a word, 16 x 8.
    y : list of ndarray of str
    fold : ndarray of shape (words,)
        The fold, 0 to 9, that each word belongs to.

    Examples
    --------
    >>> import os, tempfile
    >>> from widemargin import load_letters
    >>> pixels = " ".join(["0"] * 128)
    >>> letters = [f"1 o 2 1 1 0 {pixels}", f"2 r -1 1 2 0 {pixels}"]  # -1: the last one
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "letter.data")
    ...     _ = open(path, "w").write("\\n".join(letters) + "\\n")
    ...     X, y, fold = load_letters(path)
    >>> X[0].shape, y
    ((2, 128), [array(['o', 'r'], dtype='<U1')])
    """
    X, y, fold = [], [], []
    pixels: list[NDArray[np.float64]] = []
    letters: list[str] = []
    for number, line in _lines(path):
        parts = line.split()
        if len(parts) != 134:
            raise DataFormatError(f"{len(parts)} columns instead of 134", os.fspath(path), number)
        pixels.append(np.array(parts[6:], dtype=np.float64))
        letters.append(parts[1])
        if parts[2] == "-1":
            X.append(np.array(pixels))
            y.append(np.array(letters))
            fold.append(int(parts[5]))
            pixels, letters = [], []
    if not X:
        raise DataFormatError("no word in the file", os.fspath(path))
    return X, y, np.array(fold, dtype=np.int64)
