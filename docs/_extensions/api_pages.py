"""What the template of a class page asks: which members to show, and as what."""

from __future__ import annotations

import inspect
from functools import cached_property
from typing import Any

from sphinx.ext.autosummary import import_by_name


def _class_named(fullname: str) -> type:
    return import_by_name(fullname)[1]


def own_members(fullname: str) -> list[str]:
    """Name the public methods and properties of a class that have a docstring, methods first."""
    cls = _class_named(fullname)
    found = []
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        hidden = name.startswith("_") or name.endswith("_request")
        theirs = str(getattr(member, "__module__", "")).startswith("sklearn.")
        if hidden or theirs or not getattr(member, "__doc__", None):
            continue
        if inspect.isroutine(member) or isinstance(member, property):
            found.append(name)
    order = ["fit", "predict", "decision_function", "score"]
    place = {name: rank for rank, name in enumerate(order)}
    return sorted(found, key=lambda name: (kind_of(fullname, name), place.get(name, 9), name))


def kind_of(fullname: str, name: str) -> str:
    """Return the end of the directive that shows a member: ``method`` or ``property``."""
    member = inspect.getattr_static(_class_named(fullname), name)
    return "property" if isinstance(member, (property, cached_property)) else "method"


def has_parameters(fullname: str) -> bool:
    """Whether it is an estimator."""
    return hasattr(_class_named(fullname), "get_params")


CONTEXT: dict[str, Any] = {
    "own_members": own_members,
    "kind_of": kind_of,
    "has_parameters": has_parameters,
}
