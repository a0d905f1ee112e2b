"""Rule: only auto/ compares methods or knows which one runs next, and nothing reads `solver_` back.

A method may run another one only if it is declared here as a wrapper of it. Elsewhere the name of a
method is an argument that is passed on: it is compared with no other name.
"""

from __future__ import annotations

import ast

import pytest

from sources import package_files, parsed

WRAPPERS = {
    # path: the modules whose methods it may run
    "methods/interior/reduced_robust.py": {"widemargin.methods.interior.robust"},
    "methods/newton/_opening.py": {"widemargin.methods.coordinate.dual_cd"},
    "methods/newton/newton.py": {"widemargin.methods.coordinate.dual_cd"},
}
NARRATIVES = ("explanation", "solver_")


def method_names() -> set[str]:
    """Return every name that a method's class gives itself."""
    found: set[str] = set()
    for path, text in package_files().items():
        for node in parsed(text).body if path.startswith("methods/") else ():
            if isinstance(node, ast.ClassDef):
                found |= {
                    item.value.value
                    for item in node.body
                    if isinstance(item, ast.Assign)
                    and ast.unparse(item.targets[0]) == "name"
                    and isinstance(item.value, ast.Constant)
                }
    return found


def is_method(module: str, name: str) -> bool:
    """Whether a name of a module in methods/ is a method, rather than a state or a number."""
    if not module.startswith("widemargin.methods.") or module.endswith(".base"):
        return False
    if module.rpartition(".")[2].startswith("_"):
        return False
    return name[0].isupper() and not name.isupper() and not name.endswith("State")


def imports_of_methods(path: str, text: str) -> list[str]:
    """Return a sentence for each method that a file outside auto/ imports."""
    allowed = WRAPPERS.get(path, set())
    return [
        f"{path}:{node.lineno}: imports the method {alias.name}"
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.ImportFrom) and node.module not in allowed
        for alias in node.names
        if is_method(node.module or "", alias.name)
    ]


def comparisons_of_names(path: str, text: str, names: set[str]) -> list[str]:
    """Return a sentence for each comparison with the name of a method."""
    found = []
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Compare):
            compared = {
                item.value
                for side in (node.left, *node.comparators)
                for item in ast.walk(side)
                if isinstance(item, ast.Constant)
            }
            found += [
                f"{path}:{node.lineno}: compares with the method {name!r}"
                for name in sorted(names & {c for c in compared if isinstance(c, str)})
            ]
    return found


def readings_of_the_narrative(path: str, text: str) -> list[str]:
    """Return a sentence for each use of `solver_` or `explanation` other than passing it on."""
    found = []
    for node in ast.walk(parsed(text)):
        looked_at: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            looked_at = [node.left, *node.comparators]
        elif isinstance(node, ast.Attribute | ast.Subscript):  # its methods, its characters
            looked_at = [node.value]
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            looked_at = [node.test]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("len", "re.search"):
            looked_at = list(node.args)
        found += [
            f"{path}:{node.lineno}: decides by {item.attr}"  # type: ignore[attr-defined]
            for item in looked_at
            if isinstance(item, ast.Attribute) and item.attr in NARRATIVES
        ]
    return found


def test_only_auto_names_methods() -> None:
    found = [
        sentence
        for path, text in package_files().items()
        if not path.startswith("auto/")
        for sentence in imports_of_methods(path, text)
    ]
    assert not found, "\n".join(found)


def test_wrappers_are_as_declared() -> None:
    for path, modules in WRAPPERS.items():
        text = package_files()[path]
        used = {node.module for node in ast.walk(parsed(text)) if isinstance(node, ast.ImportFrom)}
        assert modules <= used, f"{path} no longer wraps {modules - used}"


def test_only_auto_compares_methods() -> None:
    names = method_names()
    assert {"dual_cd", "newton", "interior_point"} <= names
    found = [
        sentence
        for path, text in package_files().items()
        if not path.startswith("auto/")
        for sentence in comparisons_of_names(path, text, names)
    ]
    assert not found, "\n".join(found)


def test_nothing_decides_by_the_narrative() -> None:
    found = [
        sentence
        for path, text in package_files().items()
        for sentence in readings_of_the_narrative(path, text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "from widemargin.methods.coordinate.dual_cd import DualCD",
        "def next():\n    from widemargin.methods.interior.hinge import InteriorPoint as Last",
    ],
)
def test_the_rule_sees_a_method_that_names_another(text: str) -> None:
    assert len(imports_of_methods("methods/newton/proximal_newton.py", text)) == 1
    assert len(imports_of_methods("selection/path.py", text)) == 1


def test_the_rule_allows_states_numbers_and_helpers() -> None:
    text = (
        "from widemargin.methods.coordinate.dual_cd import DualCDState\n"
        "from widemargin.methods.coordinate.lanes import LANE_WIDTH\n"
        "from widemargin.methods.newton._system import NewtonSystem\n"
        "from widemargin.methods.base import Method\n"
    )
    assert imports_of_methods("methods/newton/lanes.py", text) == []


@pytest.mark.parametrize(
    "text", ["x = solver == 'newton'", "if method in ('walrus', 'dual_cd'):\n    pass"]
)
def test_the_rule_sees_a_comparison(text: str) -> None:
    assert comparisons_of_names("estimators/linear_cv.py", text, {"newton", "dual_cd"})
    assert not comparisons_of_names("estimators/linear_cv.py", text, {"pegasos"})


@pytest.mark.parametrize(
    "text",
    [
        "if 'newton' in model.solver_:\n    pass",
        "steps = len(choice.explanation)",
        "first = choice.explanation.split(',')[0]",
        "first = model.solver_[0]",
        "if choice.explanation:\n    pass",
    ],
)
def test_the_rule_sees_a_decision_by_the_narrative(text: str) -> None:
    assert readings_of_the_narrative("run.py", text)


def test_the_rule_allows_passing_the_narrative_on() -> None:
    assert readings_of_the_narrative("run.py", "Solution(solver=choice.explanation)") == []
    assert readings_of_the_narrative("cli/train.py", "text = f'{model.solver_}, done'") == []
