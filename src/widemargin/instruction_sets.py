"""Choose the build of the core that this CPU runs fastest.

The core is built once for any CPU of the architecture (``baseline``) and, on x86-64, once more for
AVX2 and FMA (``avx2``). The best one that the CPU has is imported. Set the environment variable
``WIDEMARGIN_INSTRUCTION_SET`` to ``baseline`` or ``avx2`` before the import to force one.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import TYPE_CHECKING, Any

from widemargin import _cpu

VARIANTS = ("avx2", "baseline")
"""Best first."""


def available_instruction_sets() -> tuple[str, ...]:
    """Return the variants that are installed and that this CPU can run, best first.

    Returns
    -------
    tuple of str
        A subset of ``("avx2", "baseline")``.

    Examples
    --------
    >>> import widemargin
    >>> widemargin.available_instruction_sets()[-1]
    'baseline'
    """
    runs = {"avx2": _cpu.has_avx2(), "baseline": True}
    return tuple(
        name
        for name in VARIANTS
        if runs[name] and importlib.util.find_spec(f"widemargin._core_{name}") is not None
    )


def _choose() -> str:
    available = available_instruction_sets()
    forced = os.environ.get("WIDEMARGIN_INSTRUCTION_SET", "")
    if not forced:
        return available[0]
    if forced not in available:
        raise ImportError(
            f"WIDEMARGIN_INSTRUCTION_SET={forced!r} cannot be used here; "
            f"available: {', '.join(available)}"
        )
    return forced


if TYPE_CHECKING:
    from widemargin import _core_baseline as core
else:
    core: Any = importlib.import_module(f"widemargin._core_{_choose()}")


def instruction_set_in_use() -> str:
    """Return the name of the instruction set that was chosen at import.

    Returns
    -------
    str
        ``"avx2"`` or ``"baseline"``.

    Examples
    --------
    >>> import widemargin
    >>> print("compiled for", widemargin.instruction_set_in_use())
    compiled for ...
    """
    return str(core.variant)
