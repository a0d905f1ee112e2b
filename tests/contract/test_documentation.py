"""What the documentation shows is run: README, guides, docstrings, command lines, tables."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import inspect
import io
import os
import pkgutil
import re
import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sklearn

import widemargin
from widemargin import dask
from widemargin.auto.registry import METHODS, SEQUENCES
from widemargin.cli.main import main, parsed

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
    *sorted((ROOT / "docs" / "extending").glob("*.md")),
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(widemargin.__path__, "widemargin.")
    if not name.rpartition(".")[2].startswith("_")
]


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    line: int
    text: str


def blocks(page: Path) -> Iterator[Block]:
    pattern = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    content = page.read_text(encoding="utf-8")
    for match in pattern.finditer(content):
        yield Block(match[1], content[: match.start(2)].count("\n"), match[2])


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?|(?<![\w.])-?\d+e[+-]?\d+")


class Near(doctest.OutputChecker):
    """Lets the last digits of a decimal differ, so that pages can show numbers instead of dots.

    What was reached, "within 3e-06 %" or a number like 2e-07, may be any number up to 0.01.
    """

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        wanted, found = NUMBER.findall(want), NUMBER.findall(got)
        frames = ["".join(NUMBER.sub("#", text).split()) for text in (want, got)]
        return frames[0] == frames[1] and all(map(self.near, wanted, found))

    @staticmethod
    def near(want: str, got: str) -> bool:
        if 0.0 < abs(float(want)) <= 1e-3:
            return 0.0 <= float(got) <= 1e-2
        digits = len(want.partition(".")[2].partition("e")[0])
        unit = 10.0 ** -max(min(digits, 3), 1)
        return abs(float(want) - float(got)) <= 1.5 * unit


def test_numbers_of_pages_may_differ_in_their_last_digits() -> None:
    checker = Near()
    said = "primal 3.25412, dual 3.25411, within 2e-07 % of the optimum\n"
    assert checker.check_output(said, said.replace("3.25412", "3.25399"), FLAGS)
    assert checker.check_output(said, said.replace("2e-07", "8.1e-05"), FLAGS)
    assert not checker.check_output(said, said.replace("3.25412", "3.26"), FLAGS)
    assert not checker.check_output(said, said.replace("2e-07", "0.5"), FLAGS)
    assert not checker.check_output(said, said.replace("primal", "dual"), FLAGS)
    assert not checker.check_output("(3, 5)\n", "(3, 4)\n", FLAGS)


def failures_of(example: doctest.DocTest, *, keep: bool = False) -> str:
    runner = doctest.DocTestRunner(Near(), optionflags=FLAGS, verbose=False)
    report = io.StringIO()
    runner.run(example, out=report.write, clear_globs=not keep)
    return report.getvalue()


def test_pages_are_found() -> None:
    assert len(PAGES) >= 9
    assert sum(block.language == "pycon" for page in PAGES for block in blocks(page)) >= 20


OPTIONAL = ("skore", "onnx", "skl2onnx", "onnxruntime")


def _needs_what_is_missing(text: str) -> bool:
    """Whether an example imports an optional package that is not installed."""
    return any(f"import {n}" in text and importlib.util.find_spec(n) is None for n in OPTIONAL)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a page's Python from top to bottom, in one namespace and an empty folder."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for block in blocks(page):
            if _needs_what_is_missing(block.text):
                continue
            if block.language == "python":
                code = "\n" * block.line + block.text
                exec(compile(code, name_of(page), "exec"), names)
            elif block.language == "pycon":
                example = doctest.DocTestParser().get_doctest(
                    block.text, {}, name_of(page), name_of(page), block.line
                )
                example.globs = names
                report = failures_of(example, keep=True)
                assert not report, report


@pytest.mark.parametrize("module", MODULES)
def test_docstrings(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for example in doctest.DocTestFinder().find(importlib.import_module(module), module):
        if not _needs_what_is_missing(example.docstring or ""):
            report = failures_of(example)
            assert not report, report


def names_of_the_api() -> Iterator[tuple[str, Any]]:
    """Yield what has a page of its own: the names of docs/api/index.rst."""
    module = ""
    for line in (ROOT / "docs/api/index.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif match := re.fullmatch(r"   ([\w.]+)", line):
            *inner, name = f"{module}.{match[1]}".split(".")
            thing = getattr(importlib.import_module(".".join(inner)), name)
            # widemargin.report is a function and the folder that it lives in.
            yield match[1], getattr(thing, name) if inspect.ismodule(thing) else thing


def test_every_public_name_has_an_example() -> None:
    """Examples are run by `test_docstrings`; skipped lines do not count."""
    names = dict(names_of_the_api())
    assert set(widemargin.__all__) | set(dask.__all__) <= set(names)
    without = []
    for name, thing in names.items():
        examples = doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")
        if not any(doctest.SKIP not in example.options for example in examples):
            without.append(name)
    assert not without, f"no example that runs: {', '.join(without)}"


@pytest.mark.parametrize("name", widemargin.__all__)
def test_public_names_are_documented(name: str) -> None:
    text = (ROOT / "docs/api/index.rst").read_text(encoding="utf-8")
    assert re.search(rf"^   {name}$", text, re.MULTILINE), f"{name} is not in docs/api/index.rst"
    documentation = inspect.getdoc(getattr(widemargin, name)) or ""
    assert re.match(r"[A-Z][^\n]*\.(\n|$)", documentation), f"{name} has no one-line summary"


def commands(page: Path) -> list[list[str]]:
    lines = [
        line[2:]
        for block in blocks(page)
        if block.language == "console"
        for line in block.text.splitlines()
        if line.startswith("$ ")
    ]
    parts = [part.strip() for line in lines for part in line.split("&&")]
    return [shlex.split(part)[1:] for part in parts if part.startswith("widemargin ")]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_command_lines_parse(page: Path) -> None:
    for arguments in commands(page):
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            try:
                parsed(arguments)
            except SystemExit:
                pytest.fail(f"widemargin {shlex.join(arguments)}: {errors.getvalue()}")


def test_command_guide_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every command of the guide does what the page says, one after the other."""
    pytest.importorskip("pyarrow")
    page = ROOT / "docs" / "guide" / "command_line.md"
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        if block.language == "python":
            exec(block.text, {})
    lines = commands(page)
    assert len(lines) >= 10
    for arguments in lines:
        if arguments[-1].endswith(".onnx") and importlib.util.find_spec("onnx") is None:
            continue
        assert main(arguments) == 0, f"widemargin {shlex.join(arguments)}\n{capfd.readouterr().err}"
    assert {"cancer.model", "labels.txt", "cancer.parquet", "own.model"} <= set(os.listdir())


def solvers_in_the_table(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r'^\| `"(\w+)"` \|', text, re.MULTILINE)


def test_every_solver_is_in_the_tables() -> None:
    every = {*METHODS, *SEQUENCES}
    assert sorted(solvers_in_the_table("docs/guide/which_solver.md")) == sorted(every)
    assert {"dual_cd", "newton"} <= set(solvers_in_the_table("README.md")) <= every


@pytest.mark.parametrize("estimator", [widemargin.LinearSVC, widemargin.LogisticRegression])
def test_every_argument_and_attribute_is_compared(estimator: type) -> None:
    text = (ROOT / "docs/guide/coming_from_linearsvc.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    compared = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator(max_iter=1).fit([[0.0], [1.0]], [0, 1])
    fitted = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    assert set(inspect.signature(estimator).parameters) | fitted <= compared


def test_links_between_pages_have_targets() -> None:
    pages = [*PAGES, *ROOT.glob("*.md"), *(ROOT / "docs").glob("*/*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text(encoding="utf-8")):
            made = "gallery/" in target  # by sphinx-gallery
            assert made or ":" in target or (page.parent / target).exists(), (
                f"{name_of(page)} links to {target}, which is not there"
            )


def test_every_page_starts_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """``python docs/_extensions/page_table.py`` prints them."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    found = list(importlib.import_module("page_table").pages())
    assert {"docs/index.md", "docs/guide/robust.md", "docs/api/index.rst"} <= {
        p for p, _, _ in found
    }
    for page, title, sentence in found:
        assert title, f"{page} has no title"
        assert re.search(r"\w{2,}.*[.:?!]$", sentence), f"{page} starts with {sentence!r}"


def test_tables_of_arguments_are_those_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a change: ``python docs/_extensions/argument_tables.py``."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    tables = importlib.import_module("argument_tables")
    for path, names in tables.PAGES.items():
        for name in names:
            ours = getattr(widemargin, name)
            missing = {*inspect.signature(tables.theirs(name)).parameters}
            missing -= {*inspect.signature(ours).parameters}
            missing |= tables.fitted(tables.theirs(name)) - tables.fitted(ours)
            # Only what KernelSVC has not, and a note says why.
            assert not missing or (name == "KernelSVC" and all(n in tables.NOTES for n in missing))
        if sklearn.__version__.startswith("1.9."):
            assert tables.page(path) == path.read_text(encoding="utf-8")
