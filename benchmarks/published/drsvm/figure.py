"""Figure 1 of DRSVM: ISG, IPPA and hybrid over time, on synthetic data and on a1a."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.published.drsvm.common import RESULTS, fit, load


def synthetic() -> tuple[Any, Any]:
    """Return the paper's synthetic data: a noisy halfspace, 1000 x 100."""
    random = np.random.default_rng(0)
    w, X = random.normal(size=100), random.normal(size=(1000, 100))
    return X, np.where(X @ w + 0.5 * random.normal(size=1000) > 0.0, 1.0, -1.0)


def main() -> None:
    """Draw suboptimality and certified gap over seconds."""
    import matplotlib.pyplot as plt

    panels: list[tuple[str, tuple[Any, Any] | None, float, float]] = [
        ("synthetic, norm 1", synthetic(), 1.0, 0.0),
        ("synthetic, norm 2", synthetic(), 2.0, 0.0),
        ("synthetic, norm ∞", synthetic(), np.inf, 0.0),
        ("a1a, norm 1", load("a1a"), 1.0, 0.0),
    ]
    panels = [panel for panel in panels if panel[1] is not None]
    figure, axes = plt.subplots(
        1, len(panels), figsize=(4 * len(panels), 3.6), layout="constrained"
    )
    for place, (title, data, norm, l2) in zip(axes, panels, strict=True):
        assert data is not None
        optimum = fit(*data, norm, l2, tol=1e-9, solver="interior_point")[0].primal_[0]
        for colour, solver in (("C0", "isg"), ("C1", "ippa"), ("C2", "hybrid")):
            model, _ = fit(*data, norm, l2, tol=1e-7, solver=solver, max_iter=3000, time_limit=6.0)
            history = model.history_[0]
            excess = np.maximum(np.array(history["primal"]) / optimum - 1.0, 1e-9)
            place.semilogy(history["seconds"], excess, colour, label=solver)
            place.semilogy(history["seconds"], history["relative_gap"], colour + ":")
        place.set(title=title, xlabel="seconds")
    axes[0].set_ylabel("suboptimality (solid), certified gap (dotted)")
    axes[0].legend()
    RESULTS.mkdir(parents=True, exist_ok=True)
    figure.savefig(RESULTS / "figure1.png", dpi=110)


if __name__ == "__main__":
    main()
