"""Spans of labels, and the F1 score of CoNLL's evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def spans(labels: Sequence[Any]) -> set[tuple[int, int, str]]:
    """Return the (begin, end, type) of the spans of one sequence of BIO labels.

    ``B-NP`` begins a span, ``I-NP`` continues one of the same type or begins one, anything else is
    outside.
    """
    found: set[tuple[int, int, str]] = set()
    begin, kind = -1, ""
    for t, label in enumerate([*labels, "O"]):
        tag, _, name = str(label).partition("-")
        if begin >= 0 and (tag != "I" or name != kind):
            found.add((begin, t, kind))
            begin = -1
        if tag == "B" or (tag == "I" and begin < 0):
            begin, kind = t, name
    return found


def are_bio(labels: Iterable[Any]) -> bool:
    """Whether labels are O, B-... or I-..., so that they stand for spans."""
    seen = {str(label) for label in labels}
    marked = {label for label in seen if label[:2] in ("B-", "I-")}
    return bool(marked) and seen <= marked | {"O"}


def span_f1(y_true: Iterable[Any], y_pred: Iterable[Any]) -> float:
    """Return the F1 score of spans, as CoNLL's evaluation computes it.

    Parameters
    ----------
    y_true, y_pred : list of sequences of str
        Labels such as B-NP, I-NP and O.

    Returns
    -------
    float
        2 · right / (spans in y_true + spans in y_pred); a span is right if its begin, end and type
        are.

    Examples
    --------
    >>> from widemargin import span_f1
    >>> span_f1([["B-NP", "I-NP", "O"]], [["B-NP", "I-NP", "B-VP"]])
    0.6666666666666666
    """
    right = total = 0
    for true, predicted in zip(y_true, y_pred, strict=True):
        if len(true) != len(predicted):
            raise ValueError("y_true and y_pred have sequences of different lengths")
        own, other = spans(true), spans(predicted)
        right += len(own & other)
        total += len(own) + len(other)
    return 2.0 * right / total if total else 1.0
