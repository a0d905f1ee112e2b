"""Figures of a comparison: gap and suboptimality against time and passes, accuracy against time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from widemargin.benchmark.compare import Comparison

_MARKERS = "osv^D<>PX*"

_PANELS = (
    ("seconds", "gap", "seconds", "relative gap"),
    ("seconds", "suboptimality", "seconds", "(P − P*) / P*"),
    ("seconds", "accuracy", "seconds", "test accuracy"),
    ("passes", "gap", "passes over the data", "relative gap"),
    ("passes", "suboptimality", "passes over the data", "(P − P*) / P*"),
)


def write_figure(comparison: Comparison, data: str, folder: Path) -> Path:
    """Draw the curves of one data set to ``folder/DATA.png``."""
    import matplotlib as mpl

    mpl.use("Agg", force=False)
    from matplotlib import pyplot as plt

    methods = comparison.methods(data)
    accurate = any(np.isfinite(m.accuracy) for m in comparison.measurements if m.data == data)
    figure, axes = plt.subplots(2, 3, figsize=(11, 6.2), layout="constrained")
    cells = axes.ravel()
    for cell, (across, up, across_title, up_title) in zip(cells, _PANELS, strict=False):
        if up == "accuracy" and not accurate:
            cell.axis("off")
            cell.text(0.5, 0.5, "no test set", ha="center", va="center", color="grey")
            continue
        for place, method in enumerate(methods):
            _draw(cell, comparison, data, method, across, up, place)
        cell.set_xscale("log")
        if up != "accuracy":
            cell.set_yscale("log")
            cell.axhline(comparison.until, color="grey", linestyle=":", linewidth=1)
            low, high = cell.get_ylim()
            cell.set_ylim(max(low, 0.1 * comparison.until), min(high, 10.0))
        cell.set_xlabel(across_title)
        cell.set_ylabel(up_title)
        cell.grid(True, which="major", alpha=0.25)
    shown: dict[str, Any] = {}
    for cell in cells[:5]:
        for handle, label in zip(*cell.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
    cells[5].axis("off")
    cells[5].legend(shown.values(), shown.keys(), loc="center", frameon=False, fontsize=11)
    figure.suptitle(f"{data}: {comparison.problem.replace('_', ' ')}, {comparison.setting}")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{data}.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _draw(
    cell: Any, comparison: Comparison, data: str, method: str, across: str, up: str, place: int
) -> None:
    curve = comparison.curve(data, method)
    x = np.array([getattr(m, across) for m in curve], dtype=float)
    y = np.array([getattr(m, up) for m in curve], dtype=float)
    if up != "accuracy":
        # A logarithmic axis has no zero; draw it at the lower edge.
        y = np.maximum(y, 1e-2 * comparison.until)
    good = np.isfinite(x) & np.isfinite(y) & (x > 0.0)
    if good.any():
        cell.plot(
            x[good],
            y[good],
            label=method,
            color=f"C{place % 10}",
            marker=_MARKERS[place % len(_MARKERS)],
            markersize=4,
            markevery=max(1, int(good.sum()) // 8),
            linewidth=1.6,
        )
