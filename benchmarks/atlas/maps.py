"""Heat maps over rows x features, one picture a loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers.base import LOSSES
from .design import FEATURES, ROWS
from .store import Row, results_file

BINS = 9
TITLES = {
    "regret": "regret of auto against the best named solver",
    "ratio": "times faster than the fastest rival, suboptimality 1e-4",
}
# Colours are logarithmic: red is where widemargin loses.
RANGES = {"regret": (1.0, 4.0), "ratio": (0.1, 10.0)}
TICKS = {"regret": (1.0, 1.5, 2.0, 4.0), "ratio": (0.1, 0.5, 1.0, 2.0, 10.0)}


def binned(rows: list[Row], column: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Give the edges of both axes, the geometric mean of every bin, and its number of cells."""
    edges = [np.geomspace(low, high, BINS + 1) for low, high in (ROWS, FEATURES)]
    places = [np.log([row[axis] for row in rows]) for axis in ("rows", "features")]
    logs = [np.log(edge) for edge in edges]
    values = np.log([row[column] for row in rows])
    count = np.histogram2d(*places, bins=logs)[0]
    total = np.histogram2d(*places, bins=logs, weights=values)[0]
    with np.errstate(invalid="ignore"):
        return *edges, np.exp(total / count), count


def draw(rows: list[Row], column: str, label: str) -> None:
    """Draw one picture a loss."""
    for loss in LOSSES:
        found = [row for row in rows if row["loss"] == loss]
        if found:
            draw_one(found, column, loss, label)


def draw_one(rows: list[Row], column: str, loss: str, label: str) -> None:
    """Draw the map of one loss, with the mean and the number of cells in every bin."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    x, y, mean, count = binned(rows, column)
    figure, axes = plt.subplots(figsize=(8, 6.5))
    norm = mpl.colors.LogNorm(*RANGES[column])
    colours: Any = "RdYlGn_r" if column == "regret" else "RdYlGn"
    mesh = axes.pcolormesh(x, y, mean.T, norm=norm, cmap=colours)
    for i, j in np.argwhere(count > 0):
        centre = np.sqrt(x[i] * x[i + 1]), np.sqrt(y[j] * y[j + 1])
        text = f"{mean[i, j]:.2g}\n({int(count[i, j])})"
        axes.annotate(text, centre, ha="center", va="center", fontsize=7)
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="features")
    axes.set_title(f"{loss}: {TITLES[column]}")
    bar = figure.colorbar(mesh, ax=axes, label="geometric mean of the cells")
    ticks = TICKS[column]
    bar.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    bar.ax.minorticks_off()
    figure.tight_layout()
    figure.savefig(results_file(f"atlas_{column}_{loss}", label, ".png"), dpi=90)
    plt.close(figure)
