"""Rule: a module imports only from its own layer and from those to its left."""

from __future__ import annotations

import pytest

from sources import imported, package_files

LAYERS = (
    ("_cpu", "_core_baseline", "instruction_sets", "interrupt", "threads"),
    ("data",),
    ("exact",),
    ("linalg",),
    ("problems",),
    ("projections",),
    ("methods",),
    ("auto",),
    ("given_way", "run", "solution"),
    ("progress",),
    ("selection",),
    ("estimators",),
    ("model_io",),
    ("benchmark",),
    ("report",),
    ("distributed", "dask"),
    ("cli",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
NUMBERS, OF_METHODS = "widemargin.auto.machine", "widemargin.auto.method_numbers"
"""They import nothing but the second in the first, so every layer may read them."""


def violations(path: str, text: str) -> list[str]:
    """Return a sentence for each import of a file that goes to the right."""
    own = path.removesuffix(".py").split("/")[0]
    found = []
    for line, module, name in imported(text):
        target = module if "." in module else f"{module}.{name}"
        layer = target.split(".")[1]
        if layer not in RANK:
            if layer not in ("__version__", ""):
                found.append(f"{path}:{line}: {target} belongs to no layer")
        elif path == "auto/machine.py" and target == OF_METHODS:
            continue
        elif path in ("auto/machine.py", "auto/method_numbers.py"):
            found.append(f"{path}:{line}: the numbers import {target}")
        elif RANK[layer] > RANK[own] and not f"{target}.{name}".startswith(NUMBERS):
            found.append(f"{path}:{line}: {own} imports {target}, which is to its right")
    return found


def test_every_folder_and_module_has_a_layer() -> None:
    names = {path.removesuffix(".py").split("/")[0] for path in package_files()}
    assert names - {"__init__"} <= set(RANK)


def test_imports_go_to_the_left() -> None:
    found = [
        sentence
        for path, text in package_files().items()
        if path != "__init__.py"  # names the public ones of all layers
        for sentence in violations(path, text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("data/rows.py", "from widemargin.problems.binary import BinaryProblem"),
        ("data/rows.py", "import widemargin.linalg.cholesky"),
        ("methods/newton/newton.py", "def f():\n    from widemargin.auto.registry import METHODS"),
        ("problems/binary.py", "if TYPE_CHECKING:\n    from widemargin.methods.base import Method"),
        ("run.py", "load = import_module('widemargin.estimators.linear')"),
        ("problems/binary.py", "from widemargin import run"),
        ("problems/binary.py", "from widemargin import LinearSVC"),
        ("model_io/own.py", "from widemargin.cli.main import main"),
        ("auto/machine.py", "from widemargin.problems.losses import LOSSES"),
        ("auto/method_numbers.py", "from widemargin.auto.machine import MACHINE"),
    ],
)
def test_the_rule_sees_a_violation(path: str, text: str) -> None:
    assert len(violations(path, text)) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("methods/newton/newton.py", "from widemargin.linalg.cholesky import Factor"),
        ("data/rows.py", "from widemargin.auto.machine import MACHINE"),
        ("data/rows.py", "from widemargin.auto import machine"),
        ("cli/main.py", "import numpy\nfrom widemargin.model_io import load_model"),
    ],
)
def test_the_rule_allows(path: str, text: str) -> None:
    assert violations(path, text) == []
