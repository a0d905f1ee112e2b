"""Figures over C, by matplotlib: coefficients, gap, accuracy, the band of a certified choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from widemargin.selection.path import Path


def new_figure(panels: int, width: float = 4.5) -> tuple[Any, Any]:
    """Return a figure and its axes in one row, without touching pyplot's state."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("figures need matplotlib: pip install matplotlib") from None
    figure = Figure(figsize=(width * panels, 3.4), layout="constrained")
    return figure, figure.subplots(1, panels, squeeze=False)[0]


def path_figure(path: Path, accuracy: NDArray[np.float64] | None, row: int) -> Any:
    """Draw coefficients, gap and accuracy over C."""
    figure, axes = new_figure(2 if accuracy is None else 3)
    axes[0].semilogx(path.Cs, path.coefs[:, row], linewidth=1, base=2)
    axes[0].set(xlabel="C", ylabel="coefficients")
    gaps = np.array([max(c.relative_gap, 1e-17) for c in path.certificates])
    axes[1].loglog(path.Cs, gaps, ".-")
    axes[1].set_xscale("log", base=2)
    axes[1].set(xlabel="C", ylabel="relative gap")
    if accuracy is not None:
        axes[2].semilogx(path.Cs, accuracy, ".-", base=2)
        axes[2].set(xlabel="C", ylabel="accuracy")
    return figure


def search_figure(
    Cs: NDArray[np.float64],
    scores: NDArray[np.float64],
    best: float,
    band: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> Any:
    """Draw the mean score over C with its spread over folds; or the error with its proven band.

    Parameters
    ----------
    Cs : ndarray of shape (n_Cs,)
    scores : ndarray of shape (n_Cs, folds)
    best : float
        The chosen C.
    band : tuple of C, lower bound and error, optional
        Of a certified choice.
    """
    figure, (axis,) = new_figure(1, 6.5)
    if band is not None:
        C, lower, error = band
        axis.fill_between(C, 100 * lower, 100 * error, alpha=0.3, step="mid", label="proven band")
        axis.semilogx(C, 100 * error, linewidth=1, base=2, label="cross-validation error")
        axis.set(xlabel="C", ylabel="error in %")
    else:
        mean, spread = scores.mean(axis=1), scores.std(axis=1)
        axis.fill_between(Cs, mean - spread, mean + spread, alpha=0.2)
        axis.semilogx(Cs, mean, ".-", base=2, label="mean over folds")
        axis.set(xlabel="C", ylabel="score")
    axis.axvline(best, linestyle="--", linewidth=1, color="black", label=f"C = {best:g}")
    axis.legend()
    return figure
