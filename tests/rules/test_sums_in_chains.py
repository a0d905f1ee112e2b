"""Rule: no term of a sum in chains is a stored number behind a test.

With AVX2, GCC 12 adds up wrong numbers there (core/kernels/chains.hpp): `test ? x[i] : 0.0` has to
be written as a product.
"""

from __future__ import annotations

import re

import pytest

from sources import ROOT

CALL = re.compile(r"\b(?:two_sums|sum)_in_chains\(")
LOAD = r"[\w.]+(?:->\w+)*\[[^\]]*\]"
GUARDED = re.compile(rf"\?\s*{LOAD}\s*:|:\s*{LOAD}\s*[;,)}}]|if \([^)]*\) return {LOAD};")


def calls(text: str) -> list[str]:
    """Return the arguments of every sum in chains."""
    found = []
    for match in CALL.finditer(text):
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        found.append(text[match.end() : end])
    return found


def test_no_term_is_a_load_behind_a_test() -> None:
    places = [*ROOT.glob("core/**/*.hpp"), *ROOT.glob("bindings/*.*pp")]
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in places}
    texts.pop("core/kernels/chains.hpp")
    found = {path: calls(text) for path, text in texts.items()}
    assert sum(map(len, found.values())) >= 20
    wrong = [path for path, each in found.items() if any(GUARDED.search(call) for call in each)]
    assert not wrong, f"a stored number behind a test: {', '.join(wrong)}"


@pytest.mark.parametrize(
    ("term", "wrong"),
    [
        ("return test(i) ? x[i] : 0.0;", True),
        ("return test(i) ? 0.0 : x[i];", True),
        ("return low ? 0.0 : loss.cost[i];", True),
        ("if (low) return x[i];", True),
        ("return x[i] * test(i);", False),
        ("return over > 0.0 ? over : 0.0;", False),
        ("return a > 0.0 ? c * slope * slope : 0.0;", False),
    ],
)
def test_what_counts_as_one(term: str, wrong: bool) -> None:
    assert bool(GUARDED.search(term)) is wrong
