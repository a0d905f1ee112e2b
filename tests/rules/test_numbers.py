"""Rule: a number that was measured on a machine lives in auto/machine.py or auto/method_numbers.py.

It stands there with its unit and its origin. Any other constant of a module or a class stands in
tests/number_reasons.py with the reason why it is no measurement: it is part of an algorithm or of
the mathematics, a contract with the user, or a format. A new constant fails until it has a place.
What a call costs in Python is never multiplied by a number on the spot: such a factor was measured.
"""

from __future__ import annotations

import ast
import re

import pytest

from number_reasons import REASONS
from sources import package_files, parsed

HOMES = ("auto/machine.py", "auto/method_numbers.py")
"""One dataclass in two files: prices, and what methods read in their own steps."""

PLAIN = (0.0, 1.0)
"""Where counting starts: the default of a field that has seen nothing yet."""


def _numbers(node: ast.AST | None) -> list[float]:
    """Return the numbers of an expression that is made of nothing but numbers."""
    if isinstance(node, ast.Constant):
        numeric = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        return [float(node.value)] if numeric else []
    if isinstance(node, ast.UnaryOp):
        return _numbers(node.operand)
    if isinstance(node, ast.BinOp):
        return _numbers(node.left) + _numbers(node.right)
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return [number for item in node.elts for number in _numbers(item)]
    if isinstance(node, ast.Dict):
        return [number for item in node.values for number in _numbers(item)]
    if isinstance(node, ast.Call):
        return [number for item in node.args for number in _numbers(item)]
    return []


def _constants(body: list[ast.stmt], inside: str, plain: tuple[float, ...]) -> list[str]:
    found = []
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(abs(number) not in plain for number in _numbers(node.value)):
                names = [ast.unparse(target).strip("()") for target in targets]
                found += [inside + name for target in names for name in target.split(", ")]
        elif isinstance(node, ast.ClassDef):
            found += _constants(node.body, f"{inside}{node.name}.", PLAIN)
        elif isinstance(node, ast.If):
            found += _constants(node.body + node.orelse, inside, plain)
    return found


def constants(text: str) -> list[str]:
    """Return the numeric constants of a module and of its classes."""
    return _constants(parsed(text).body, "", ())


@pytest.mark.parametrize("path", [path for path in package_files() if path not in HOMES])
def test_every_number_is_measured_or_explained(path: str) -> None:
    assert sorted(constants(package_files()[path])) == sorted(REASONS.get(path, {}))


MULTIPLE = re.compile(r"\d \* MACHINE\.(step|sweep_call|gradient_call|call)\b")


@pytest.mark.parametrize("path", [path for path in package_files() if path not in HOMES])
def test_no_price_of_a_call_is_multiplied_on_the_spot(path: str) -> None:
    assert not MULTIPLE.findall(package_files()[path])


def test_the_rule_sees_a_multiple() -> None:
    assert MULTIPLE.findall("work = 2.0 * MACHINE.step + rest") == ["step"]


def test_no_reason_outlives_its_constant() -> None:
    assert set(REASONS) <= set(package_files())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("_CROSSOVER = 2000", ["_CROSSOVER"]),
        ("_ONE = 1", ["_ONE"]),
        ("_SIDE, _SHARE = 96, 0.22", ["_SIDE", "_SHARE"]),
        ("PRICE: float = 0.4 * 2", ["PRICE"]),
        ("_COST = {'a': 2.6}", ["_COST"]),
        ("if True:\n    _A = 3", ["_A"]),
        ("class C:\n    entries = 4_000_000\n    passes: float = 0.0", ["C.entries"]),
    ],
)
def test_the_rule_sees_a_constant(text: str, names: list[str]) -> None:
    assert constants(text) == names


def test_the_rule_allows_what_is_no_number() -> None:
    assert constants("A = MACHINE.call\nB = 'two'\nC = np.inf\ndef f(tol=1e-4):\n    x = 3") == []
