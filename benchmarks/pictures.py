"""Draw the pictures of README and documentation: ``python -m benchmarks.pictures``.

The speed is that of benchmarks/results/speed.csv, the certificate that of a fit made now; the two
schemes are drawn by hand below.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.arguments import no_arguments

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "docs" / "_static"
BLUE, ORANGE, GREY, INK = "#3056d3", "#d9730d", "#8b96a3", "#1b2330"


def _style() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams.update(
        {
            "font.family": "DejaVu Sans",
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": GREY,
            "svg.hashsalt": "widemargin",
            "svg.fonttype": "path",
        }
    )
    return plt


def _save(figure: Any, name: str) -> None:
    figure.savefig(STATIC / name, metadata={"Date": None}, facecolor="white")
    print(STATIC / name)


def speed() -> None:
    """Draw the ratio of every cell, sorted."""
    plt = _style()
    with open(ROOT / "benchmarks" / "results" / "speed.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["ratio"]]
    figure, axes = plt.subplots(figsize=(7.2, 3.3), layout="constrained")
    for target, colour in (("0.001", ORANGE), ("1e-06", BLUE)):
        ratios = np.sort([float(r["ratio"]) for r in rows if float(r["target"]) == float(target)])
        share = np.arange(1, ratios.size + 1) / ratios.size
        faster = int((ratios >= 1).sum())
        label = f"to {float(target):g}: faster in {faster} of {ratios.size}"
        axes.plot(ratios, share, ".-", color=colour, lw=1.4, ms=5, label=label)
    axes.axvline(1.0, color=GREY, lw=1, ls="--")
    axes.set_xscale("log")
    ticks = [0.5, 1, 2, 5, 10, 20, 50, 100]
    axes.set_xticks(ticks, [f"{tick:g}x" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("times faster than the fastest of six other libraries")
    axes.set_ylabel("share of the cells")
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, loc="lower right", title="true suboptimality")
    _save(figure, "speed.svg")


def certificate() -> None:
    """Draw how primal and dual value meet, with the hand-over between two solvers."""
    from sklearn.datasets import make_classification

    from widemargin import LinearSVC
    from widemargin.report.subject import Subject
    from widemargin.report.trace import traced

    plt = _style()
    X, y = make_classification(5000, 40, flip_y=0.1, class_sep=0.7, random_state=0)
    model = LinearSVC("hinge", tol=1e-8).fit(X, y)
    (curve,) = traced(Subject.of(model, X, y, None, None, None, None))
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.0), layout="constrained")
    x = curve.passes
    left.fill_between(x, curve.dual, curve.primal, color=BLUE, alpha=0.12)
    left.plot(x, curve.primal, ".-", color=BLUE, label="primal: the model's objective")
    left.plot(x, curve.dual, ".-", color=ORANGE, label="dual: no model is below")
    left.set_ylim(0, 1.7 * curve.primal[-1])
    left.set_ylabel("objective")
    left.legend(frameon=False, fontsize=8.5, loc="lower right")
    gaps = [(a, g) for a, g in zip(x, curve.gaps, strict=True) if g > 0]
    right.plot(*zip(*gaps, strict=True), ".-", color="#0f8a7e")
    right.axhline(1e-8, color=GREY, ls="--", lw=1)
    right.text(x[0], 1.5e-8, "tol", fontsize=8.5)
    right.set_yscale("log")
    right.set_ylabel("relative gap")
    for axes in (left, right):
        axes.set_xlabel("passes over the data")
        axes.grid(alpha=0.25)
        for place, after, _ in curve.hand_overs:
            axes.axvline(x[place - 1], color=GREY, lw=1, ls=":")
            # Where neither curve is: above both on the left, half-way down on the right.
            height = 0.92 * axes.get_ylim()[1] if axes is left else 1e-5
            at = {"va": "center", "ha": "left", "fontsize": 8, "color": INK}
            axes.text(x[place - 1], height, f" {after}\n takes over", **at)
    _save(figure, "certificate.svg")


def data_flow() -> None:
    """Draw how data become a model: boxes from left to right."""
    boxes = [
        ("your data", "array, CSR,", "file"),
        ("Rows", "read in place,", "no copy"),
        ("Problem", "loss, C, rule;", "primal and dual"),
        ("run", "one loop: method,", "check, hand over"),
        ("Solution", "weights, duals,", "certificate"),
        ("you", "estimator, model", "file, report"),
    ]
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 150" '
        'font-family="DejaVu Sans, Arial, sans-serif"><rect width="960" height="150" fill="#fff"/>'
    ]
    for place, (name, first, second) in enumerate(boxes):
        x = 10 + 159 * place
        core = 0 < place < 5
        fill, edge = ("#eef2fd", BLUE) if core else ("#fdf3e7", ORANGE)
        parts.append(
            f'<rect x="{x}" y="30" width="134" height="88" rx="10" fill="{fill}" stroke="{edge}"/>'
            f'<text x="{x + 67}" y="60" text-anchor="middle" font-size="17" font-weight="bold" '
            f'fill="{INK}">{name}</text>'
            f'<text x="{x + 67}" y="83" text-anchor="middle" font-size="12.5" fill="#5b6675">'
            f'{first}</text><text x="{x + 67}" y="101" text-anchor="middle" font-size="12.5" '
            f'fill="#5b6675">{second}</text>'
        )
        if place:
            parts.append(
                f'<path d="M{x - 22} 74h14m-6 -6l7 6l-7 6" fill="none" stroke="{GREY}" '
                'stroke-width="2"/>'
            )
    (STATIC / "data_flow.svg").write_text("".join(parts) + "</svg>\n", encoding="utf-8")
    print(STATIC / "data_flow.svg")


if __name__ == "__main__":
    no_arguments(__doc__)
    speed()
    certificate()
    data_flow()
