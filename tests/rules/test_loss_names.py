"""Rule: a loss is asked for what it can do, never for its name.

Names are at home where losses are defined and where the estimators' arguments are read. Elsewhere
a name is passed on: it is compared with nothing, and no table is keyed by it.
"""

from __future__ import annotations

import ast

import pytest

from sources import package_files, parsed
from widemargin.problems.losses import LOSSES

HOMES = ("problems/losses.py", "exact/losses.py", "estimators/arguments.py")


def _strings(node: ast.AST) -> set[str]:
    """Return the strings that stand for themselves in an expression, or in a list of them."""
    items = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return {
        item.value
        for item in items
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    }


def decisions_by_name(path: str, text: str) -> list[str]:
    """Return a sentence for each comparison with a loss's name, and each table keyed by one."""
    names = set(LOSSES)
    found = []
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Compare):
            sides = [_strings(side) for side in (node.left, *node.comparators)]
            names_loss = any(
                isinstance(part, ast.Attribute) and ast.unparse(part).endswith("loss.name")
                for part in (node.left, *node.comparators)
            )
            if names_loss or any(side & names for side in sides):
                found.append(f"{path}:{node.lineno}: compares with the name of a loss")
        elif isinstance(node, ast.Dict):
            keyed = set().union(*(_strings(key) for key in node.keys if key is not None))
            if keyed & names:
                found.append(f"{path}:{node.lineno}: a table keyed by the names of losses")
        elif isinstance(node, ast.Match):
            cases = [part for case in node.cases for part in ast.walk(case.pattern)]
            if any(
                _strings(part.value) & names for part in cases if isinstance(part, ast.MatchValue)
            ):
                found.append(f"{path}:{node.lineno}: matches the name of a loss")
    return found


@pytest.mark.parametrize("path", [path for path in package_files() if path not in HOMES])
def test_losses_are_asked_for_what_they_can_do(path: str) -> None:
    assert decisions_by_name(path, package_files()[path]) == []


@pytest.mark.parametrize(
    "text",
    [
        "if problem.loss.name == 'hinge':\n    pass",
        "x = loss.name != other",
        "x = name in ('hinge', 'squared_hinge')",
        "STEPS = {'logistic': 1.0}",
        "match name:\n    case 'hinge':\n        pass",
    ],
)
def test_the_rule_sees_a_decision(text: str) -> None:
    assert len(decisions_by_name("methods/new.py", text)) == 1


def test_the_rule_allows_names_that_are_passed_on() -> None:
    text = "f'not {problem.loss.name}'\nx = f(loss='hinge')\ny = loss.smooth\nz = LOSSES[name]"
    assert decisions_by_name("methods/new.py", text) == []
