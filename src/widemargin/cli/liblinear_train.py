"""``widemargin train --liblinear``: the spellings of LIBLINEAR's ``train``, in ours.

A script moves over by changing the word ``train`` to ``widemargin train --liblinear``. What does
not mean the same (``-e``, a bound on gradients there) is said and left at our default; what has no
counterpart (``-R``) is an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_KINDS = {
    "0": ("logistic", "ovr"),
    "1": ("squared_hinge", "ovr"),
    "2": ("squared_hinge", "ovr"),
    "3": ("hinge", "ovr"),
    "4": ("hinge", "crammer_singer"),
    "5": ("squared_hinge", "ovr"),
    "6": ("logistic", "ovr"),
    "7": ("logistic", "ovr"),
}
"""LIBLINEAR's numbers for solvers whose problem we have, as loss and multiclass rule."""

_ONE_NORM = ("5", "6")
"""Those with the 1-norm of the weights as the penalty."""

_REGRESSIONS = {
    "11": "squared_epsilon_insensitive",
    "12": "squared_epsilon_insensitive",
    "13": "epsilon_insensitive",
}
"""Those of regressions, as losses."""


_ONE_CLASS = ("21",)
"""That of outlier detectors."""


def translate(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return our command with its arguments, and notes for the user.

    Parameters
    ----------
    arguments : sequence of str
        What follows ``train --liblinear``.
    """
    given, files = _read(arguments)
    for numbers, translated in ((_REGRESSIONS, _regression), (_ONE_CLASS, _one_class)):
        if given.get("s") in numbers:
            return translated(given, files), _notes(given)
    if {"p", "n", "R"} & set(given):
        raise ValueError("-p is for -s 11, 12 and 13, -n for -s 21; -R has no counterpart here")
    loss, rule = _kind(given.get("s", "1"))
    search = "C" in given or "v" in given
    ours = ["tune" if search else "train", *files, "--loss", loss, "--multi-class", rule]
    ours += ["--format", "liblinear", *_intercept(float(given.get("B", "-1")))]
    ours += ["--penalty", "l1"] * (given.get("s") in _ONE_NORM)
    if "C" not in given:
        ours += ["--Cs" if search else "-C", given.get("c", "1")]
    # LIBLINEAR prints what it has found, and writes no model.
    ours += ["--no-model"] * search
    if "v" in given:
        ours += ["--folds", given["v"]]
    return ours + _class_weight(given) + ["--quiet"] * ("q" in given), _notes(given)


def _class_weight(given: dict[str, str]) -> list[str]:
    weights = [f"{name[1:]}={value}" for name, value in given.items() if name[0] == "w"]
    # One word: a label may begin with a minus.
    return ["--class-weight=" + ",".join(weights)] if weights else []


def _regression(given: dict[str, str], files: list[str]) -> list[str]:
    """Return our command for a regression."""
    if {"n", "R"} & set(given) or any(name[0] == "w" for name in given):
        raise ValueError("-n, -R and -wLABEL have no meaning for a regression here")
    search = "C" in given or "v" in given
    ours = ["tune" if search else "train", "--task", "regression", *files]
    ours += ["--loss", _REGRESSIONS[given["s"]], "--epsilon", given.get("p", "0.1")]
    ours += ["--format", "liblinear", *_intercept(float(given.get("B", "-1")))]
    if "C" not in given:
        ours += ["--Cs" if search else "-C", given.get("c", "1")]
    if search:
        ours += ["--folds", given.get("v", "5"), "--scoring", "neg_mean_squared_error"]
        ours += ["--no-model"]
    return ours + ["--quiet"] * ("q" in given)


def _one_class(given: dict[str, str], files: list[str]) -> list[str]:
    """Return our command for an outlier detector."""
    foreign = sorted({"c", "p", "C", "v", "R"} & set(given))
    foreign += [name for name in given if name[0] == "w"]
    if float(given.get("B", "-1")) > 0.0:
        foreign.append("B")  # ρ is not penalised: a constant feature would be beside it
    if foreign:
        raise ValueError(f"-{foreign[0]} has no meaning for -s 21 here")
    ours = ["train", "--task", "one-class", *files, "--nu", given.get("n", "0.5")]
    return ours + ["--format", "liblinear"] + ["--quiet"] * ("q" in given)


def _intercept(bias: float) -> list[str]:
    if bias <= 0.0:
        return ["--intercept", "none"]
    return ["--intercept", "penalised", "--intercept-scaling", f"{bias:g}"]


def _notes(given: dict[str, str]) -> list[str]:
    if "e" not in given:
        return []
    return [
        f"-e {given['e']} bounds gradients in LIBLINEAR and is not used: the model is trained to a "
        "relative duality gap of 1e-4"
    ]


def _read(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return LIBLINEAR's options by letter, and the file names."""
    given: dict[str, str] = {}
    files: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not re.fullmatch(r"-[a-zA-Z].*", word):
            files.append(word)
        elif word in ("-q", "-C", "-R"):
            given[word[1]] = ""
        elif re.fullmatch(r"-[scepBvn]|-w.+", word):
            if not rest:
                raise ValueError(f"{word} needs a value")
            given[word[1:]] = rest.pop(0)
        else:
            raise ValueError(f"{word} is not an option of LIBLINEAR's train")
    if not 1 <= len(files) <= 2:
        raise ValueError("train --liblinear needs a data file and at most a model file")
    for name in ("c", "e", "p", "B", "v", "n"):
        _check_number(name, given.get(name))
    return given, files


def _check_number(name: str, text: str | None) -> None:
    try:
        float(text or 0)
    except ValueError:
        raise ValueError(f"-{name} takes a number; got {text}") from None


def _kind(number: str) -> tuple[str, str]:
    if number not in _KINDS:
        raise ValueError(f"-s {number} is not supported; -s 0 to 7, 11 to 13 and 21 are")
    return _KINDS[number]
