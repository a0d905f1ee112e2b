"""No compiled call takes more than eight arguments: arrays that belong together are one object."""

from __future__ import annotations

import types
from collections.abc import Iterator

from widemargin.instruction_sets import core

MOST = 8


def calls(owner: object, name: str) -> Iterator[tuple[str, object]]:
    """Yield every function and method that a compiled module or class has."""
    for attribute, value in vars(owner).items():
        if isinstance(value, type):
            yield from calls(value, f"{name}.{attribute}")
        elif hasattr(value, "__nb_signature__"):
            yield f"{name}.{attribute}", value


def arguments(signature: str) -> list[str]:
    """Return the arguments in a signature such as ``def f(self, x: int) -> None``."""
    depth, parts = 0, [""]
    for letter in signature[signature.index("(") :]:
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            break
        if letter == "," and depth == 1:
            parts.append("")
        else:
            parts[-1] += letter
    names = [part.strip(" (") for part in parts if part.strip(" (")]
    return names[1:] if names[:1] == ["self"] else names


def too_long(owner: types.ModuleType | types.SimpleNamespace) -> dict[str, int]:
    """Return the calls with too many arguments, and how many they are."""
    counts = {
        name: max(len(arguments(overload[0])) for overload in value.__nb_signature__)  # type: ignore[attr-defined]
        for name, value in calls(owner, "core")
    }
    assert len(counts) > 80 or not isinstance(owner, types.ModuleType)
    return {name: count for name, count in counts.items() if count > MOST}


def test_compiled_calls_have_at_most_eight_arguments() -> None:
    assert too_long(core) == {}


def test_the_rule_finds_long_calls() -> None:
    eight, nine = (", ".join(f"a{i}: int" for i in range(k)) for k in (8, 9))
    good = types.SimpleNamespace(__nb_signature__=((f"def f(self, {eight}) -> None", None, None),))
    long = types.SimpleNamespace(__nb_signature__=((f"def g({nine}) -> None", None, None),))
    assert too_long(types.SimpleNamespace(f=good, g=long)) == {"core.g": 9}
