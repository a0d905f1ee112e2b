"""Rule: every citation resolves in docs/theory/references.md, every path in the repository.

A paper is cited by its short name and a place (``DRSVM, eq. 5``), another work by its authors
(``Michelot 1986``, ``Mehrotra's predictor``), a page by its path (``docs/theory/robust.md``).
"""

from __future__ import annotations

import re
import subprocess
from functools import cache

import pytest

from sources import ROOT

REFERENCES = "docs/theory/references.md"
KINDS = {
    "eq": r"eqs?\.|equations?",
    "algorithm": "algorithms?",
    "subroutine": "subroutines?",
    "table": "tables?",
    "figure": "figures?",
    "section": "sections?|§",
    "appendix": "appendix|appendices",
    "theorem": "theorems?",
    "proposition": "propositions?",
}
NUMBER = r"\(?((?:[0-9]+|[A-E]|[IVX]+)(?:\.[0-9]+)*)\)?"
PLACE = rf"({'|'.join(KINDS.values())})\s*{NUMBER}((?:\s*(?:,|and|to)\s*{NUMBER})*)(?![\w])"
CITATION = re.compile(
    rf"\b([A-Z][A-Z0-9]+)(?:\s+paper)?(?:'s)?,?\s*\(?{PLACE}(?:,?\s+(?:and\s+)?{PLACE})?",
    re.IGNORECASE,
)
NAME = r"([A-Z][a-zäöüğé]+(?:-[A-Z][a-zäöüğé]+)?)"
AUTHORS = (
    rf"\b{NAME}(?: and {NAME})?(?: et al\.)? \(?\d{{4}}\b",
    rf"\b{NAME} et al\.",
    rf"\bafter {NAME}(?: and {NAME})?\b",
    rf"\bof {NAME} and (?:of )?{NAME}\b",
    rf"\b{NAME}'s (?:predictor|correct|momentum|excessive|technique|greedy|step|solver|scaling|"
    r"algorithm|rule|method|lemma|theorem|bound|inequality|trick|acceleration)",
)
NOT_CITED = {"Newton", "Fenchel", "Young", "Python", "Unix", "Zipf", "Wasserstein", "Cholesky"}
"""Names that have become words."""
PATHS = re.compile(
    r"(?<![\w/.-])(?:src|core|bindings|docs|tests|benchmarks|examples)(?:/[\w.-]+)*/?[\w-]+\.(?:md|rst|py|[hc]pp)\b"
)
DOCUMENTS = re.compile(
    r"\b([A-Z]{5,})(?:\.md|,? §|,? section)|\b(MATHEMATICS|ARCHITECTURE|STYLE)\b"
)


@cache
def tracked() -> list[str]:
    """Return the text files of the repository that may cite."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):  # unpacked from an archive
        listed = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file()]
    kinds = (".py", ".hpp", ".cpp", ".md", ".rst", ".toml")
    folders = ("src", "core", "bindings", "docs", "tests", "benchmarks", "examples")
    return [
        path
        for path in listed
        if path.endswith(kinds)
        and (path.split("/")[0] in folders or "/" not in path)
        and (ROOT / path).is_file()
    ]


def sections() -> dict[str, str]:
    """Return what references.md says about each paper, by its short name."""
    text = (ROOT / REFERENCES).read_text(encoding="utf-8")
    parts = re.split(r"^##+ (.+)$", text, flags=re.MULTILINE)
    return {
        name: body for name, body in zip(parts[1::2], parts[2::2], strict=True) if name.isupper()
    }


def places(kind: str, first: str, rest: str) -> list[tuple[str, str]]:
    """Return (kind, number) of each place: "eq. 5 and 6", "tables 2 to 4"."""
    own = next(name for name, form in KINDS.items() if re.fullmatch(form, kind, re.IGNORECASE))
    return [(own, number) for number in [first, *re.findall(NUMBER, rest)]]


def listed_places(section: str) -> set[tuple[str, str]]:
    """Return the places that the tables of a section name."""
    cells = " ".join(re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE))
    found: set[tuple[str, str]] = set()
    for kind, first, rest, _ in re.findall(PLACE, cells, re.IGNORECASE):
        found |= set(places(kind, first, rest))
        if " to " in rest and first.isdigit():
            last = re.findall(NUMBER, rest.split(" to ")[1])[0]
            found |= {(places(kind, first, "")[0][0], str(k)) for k in range(int(first), int(last))}
    return found


def unresolved(path: str, text: str) -> list[str]:
    """Return a sentence for each citation of a paper that references.md does not have."""
    papers = {name: listed_places(body) for name, body in sections().items()}
    flat = re.sub(r"\s*\n\s*(?://|#|\*)?\s*", " ", text)
    found = []
    for match in CITATION.finditer(flat):
        name = match[1]
        if not name.isupper() or name in ("C", "I"):
            continue
        cited = places(match[2], match[3], match[4])
        if match[6]:
            cited += places(match[6], match[7], match[8])
        if name not in papers:
            found.append(f"{path}: {match[0]!r}: references.md has no {name}")
        else:
            found += [
                f"{path}: {match[0]!r}: the table of {name} has no {kind} {number}"
                for kind, number in cited
                if (kind, number) not in papers[name]
            ]
    anonymous = re.findall(r"(?<![A-Z] \()(?<![A-Z],)(?<![A-Z]) \(?§ ?[0-9]+", flat)
    found += [f"{path}: {place.strip()!r} names no paper" for place in anonymous]
    return found


def unknown_authors(path: str, text: str) -> list[str]:
    """Return a sentence for each author whom references.md does not name."""
    known = (ROOT / REFERENCES).read_text(encoding="utf-8")
    return [
        f"{path}: references.md does not name {name}"
        for pattern in AUTHORS
        for match in re.finditer(pattern, text)
        for name in match.groups()
        if name and name not in NOT_CITED
        if not all(re.search(rf"\b{part}\b", known) for part in name.split("-"))
    ]


def missing_files(path: str, text: str) -> list[str]:
    """Return a sentence for each path or document that is not in the repository."""
    named = {name for name in PATHS.findall(text) if "NAME" not in name}
    found = [f"{path}: there is no {name}" for name in named if not (ROOT / name).exists()]
    documents = {one or other for one, other in DOCUMENTS.findall(text)}
    return found + [
        f"{path}: there is no {name}.md"
        for name in documents
        if not (ROOT / f"{name}.md").exists() and name not in sections()
    ]


OWN = "tests/rules/test_citations.py"
CITING = [path for path in tracked() if path not in (OWN, "CHANGELOG.md")]


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_papers_are_there() -> None:
    assert set(sections()) == {"WALRUS", "FW", "DRSVM", "BMRM", "WARM"}
    assert all(len(listed_places(body)) >= 3 for body in sections().values())
    assert len(CITING) > 300


def test_citations_resolve() -> None:
    found = [sentence for path in CITING for sentence in unresolved(path, read(path))]
    assert not found, "\n".join(found)


def test_authors_are_known() -> None:
    found = [sentence for path in CITING for sentence in unknown_authors(path, read(path))]
    assert not found, "\n".join(found)


def test_files_are_in_the_repository() -> None:
    found = [sentence for path in CITING for sentence in missing_files(path, read(path))]
    assert not found, "\n".join(found)


def test_theory_pages_link_to_the_references() -> None:
    pages = [
        path for path in CITING if path.startswith("docs/theory/") and "references" not in path
    ]
    assert len(pages) >= 9
    assert sum("references.md" in read(path) for path in pages) >= 5


@pytest.mark.parametrize(
    "text",
    [
        "# MATHEMATICS, section 3",
        "# DRSVM eq. 99",
        "// (DRSVM eq. 5\n// and 99)",
        "# WALRUS, algorithms 1 and 9",
        "# NOPAPER, eq. 1",
        '"""Shrinking (§3, §9)."""',
        "# the BMRM paper, Algorithm 4",
        "# DRSVM's Table 12",
    ],
)
def test_the_rule_sees_a_citation_that_leads_nowhere(text: str) -> None:
    assert unresolved("made_up.py", text)


@pytest.mark.parametrize(
    "text",
    ["# DRSVM eq. (5)", "# WARM (§3) takes", "# (WARM, §III.3)", "# WALRUS, sections 5 and A.6.1"],
)
def test_the_rule_allows(text: str) -> None:
    assert unresolved("made_up.py", text) == []


@pytest.mark.parametrize(
    "text",
    ["(Nobody 1990)", "Nobody and Noone (2001)", "Nobody et al.", "after Nobody", "Nobody's step"],
)
def test_the_rule_sees_an_unknown_author(text: str) -> None:
    assert unknown_authors("made_up.py", text)
    assert not unknown_authors(
        "made_up.py", text.replace("Nobody", "Mehrotra").replace("Noone", "Todd")
    )


@pytest.mark.parametrize(
    "text", ["docs/theory/nothing.md", "see MATHEMATICS §6", "core/none.hpp", "DESIGN.md"]
)
def test_the_rule_sees_a_file_that_is_not_there(text: str) -> None:
    assert missing_files("made_up.py", text)
    assert not missing_files("made_up.py", "docs/theory/robust.md, CONTRIBUTING.md")
