"""Report: one self-contained HTML page about a fit, a search, a robust model or a comparison.

``widemargin.report`` is a function and the name of this folder. The module can be called, so that
it does not matter which of the two an import found first.
"""

import sys
from types import ModuleType
from typing import Any

from widemargin.report.make import Report as Report
from widemargin.report.make import report as report


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **settings: Any) -> Report:
        return report(*arguments, **settings)


sys.modules[__name__].__class__ = _Callable
