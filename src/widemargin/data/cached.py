"""`cached_property` without the lock that Python had in it before 3.12."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - it stands in for that one
        """A property that is computed once for each object: threads may each compute it.

        The lock costs as much as a short compiled call, and a small fit meets a dozen of them.
        Sphinx knows it by the class that it derives from.
        """

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self.func, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner: type[Any], name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.func(instance)
            return value
