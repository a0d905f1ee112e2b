"""The cells of the map: problems drawn from every axis at once by a scrambled Sobol sequence.

Cell i of a seed is the same whatever the number of cells that are run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import qmc

from ..peers.base import HINGE, LOSSES

DEFAULT_SEED = 2026
DEFAULT_CELLS = 1536
ROWS = (50, 200_000)
FEATURES = (2, 50_000)
SPARSEST = 1e-3
COSTS = (1e-3, 1e3)
# A cell must be affordable: stored values, times half the number of classes.
LARGEST_STORED = 4e6
FEWEST_PER_CLASS = 10

BINARY, ONE_VS_REST = "binary", "ovr"
WESTON_WATKINS, CRAMMER_SINGER = "weston_watkins", "crammer_singer"
JOINT = (WESTON_WATKINS, CRAMMER_SINGER)
# The share of each kind of problem and its number of classes.
KINDS = (
    (0.68, BINARY, 2),
    (0.08, ONE_VS_REST, 3),
    (0.08, ONE_VS_REST, 20),
    (0.05, WESTON_WATKINS, 3),
    (0.03, WESTON_WATKINS, 20),
    (0.05, CRAMMER_SINGER, 3),
    (0.03, CRAMMER_SINGER, 20),
)
TOLERANCES = ((0.3, 1e-3), (0.4, 1e-4), (0.3, 1e-6))
VALUES = ("normal", "uniform", "binary", "counts")
AXES = (
    "rows",
    "features",
    "density",
    "kind",
    "loss",
    "C",
    "intercept",
    "tol",
    "noise",
    "balance",
    "correlation",
    "scaling",
    "shift",
    "duplicates",
    "tail",
    "values",
    "popularity",
    "unit_rows",
)


@dataclass(frozen=True)
class Cell:
    """One problem of the map."""

    seed: int
    index: int
    kind: str
    classes: int
    loss: str
    rows: int
    features: int
    density: float
    dense: bool
    C: float
    intercept: bool
    tol: float
    noise: float
    """Share of the labels that are drawn at random."""
    balance: float
    """Share of the rarest class, in multiples of an equal share."""
    correlation: float
    """Share of a column's variance that comes from a few common factors."""
    scaling: float
    """Standard deviation of the decimal logarithms of the columns' scales."""
    shift: float
    """Mean of the columns, in standard deviations."""
    duplicates: float
    """Share of the columns that are copies of others."""
    tail: float
    """Standard deviation of the logarithm of the rows' lengths."""
    values: str
    popularity: float
    """Exponent of Zipf's law of the columns, in sparse data."""
    unit_rows: bool

    @property
    def name(self) -> str:
        """What `--filter` looks into."""
        layout = "dense" if self.dense else "csr"
        several = f"{self.kind}{self.classes}" if self.kind == ONE_VS_REST else self.kind
        intercept = "intercept" if self.intercept else "no-intercept"
        return f"{several} {self.loss} {layout} {intercept}"

    @property
    def shape(self) -> str:
        """Rows x features, and the density of sparse data."""
        density = "" if self.dense else f" {100 * self.density:.2g} %"
        return f"{'dense' if self.dense else 'CSR'} {self.rows} x {self.features}{density}"


def pick(u: float, shares: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Choose by shares of the unit interval; every entry begins with its share."""
    reached = 0.0
    for entry in shares:
        reached += entry[0]
        if u < reached:
            return entry[1:]
    return shares[-1][1:]


def log_between(u: float, low: float, high: float) -> float:
    """Map the unit interval to the logarithms between two ends."""
    return math.exp(math.log(low) + u * (math.log(high) - math.log(low)))


def above(u: float, none: float, most: float) -> float:
    """Give zero with probability `none`, else something up to `most`."""
    return round(most * max(u - none, 0.0) / (1.0 - none), 4)


@lru_cache(maxsize=8)
def points(seed: int, power: int) -> np.ndarray:
    """Give the first 2^power points of a seed's sequence; a longer sequence begins with them."""
    return qmc.Sobol(len(AXES), scramble=True, seed=seed).random_base2(power)


def shape_of(u: dict[str, float], classes: int) -> tuple[int, int, float, bool]:
    """Give rows, features, density and layout, shrunk alike until the cell is affordable."""
    rows, features = log_between(u["rows"], *ROWS), log_between(u["features"], *FEATURES)
    dense = u["density"] < 0.35
    density = 1.0 if dense else log_between((u["density"] - 0.35) / 0.65, 1.0, SPARSEST)
    density = min(1.0, max(density, 2.0 / features))
    largest = LARGEST_STORED / max(classes / 2, 1)
    excess = rows * features * density / largest
    if excess > 1:
        rows, features = rows / math.sqrt(excess), features / math.sqrt(excess)
        if features < FEATURES[0]:
            rows, features = rows * features / FEATURES[0], FEATURES[0]
    density = min(1.0, max(density, 2.0 / features))
    rows = max(rows, ROWS[0], FEWEST_PER_CLASS * classes)
    features = min(features, max(largest / (rows * density), FEATURES[0]))
    return round(rows), max(round(features), FEATURES[0]), float(f"{density:.4g}"), dense


def cell_at(seed: int, index: int) -> Cell:
    """Give cell `index` of a seed."""
    power = max(11, index.bit_length())
    u = dict(zip(AXES, map(float, points(seed, power)[index]), strict=True))
    kind, classes = pick(u["kind"], KINDS)
    rows, features, density, dense = shape_of(u, classes)
    loss = HINGE if kind in JOINT else LOSSES[min(int(3 * u["loss"]), 2)]
    return Cell(
        seed=seed,
        index=index,
        kind=kind,
        classes=classes,
        loss=loss,
        rows=rows,
        features=features,
        density=density,
        dense=dense,
        C=float(f"{log_between(u['C'], *COSTS):.3g}"),
        intercept=u["intercept"] < 0.5,
        tol=pick(u["tol"], TOLERANCES)[0],
        noise=above(u["noise"], 0.25, 0.5),
        balance=round(log_between(min(2 * u["balance"], 1.0), 0.04, 1.0), 4),
        correlation=above(u["correlation"], 0.5, 0.98),
        scaling=above(u["scaling"], 0.6, 1.5),
        shift=above(u["shift"], 0.7, 10.0),
        duplicates=above(u["duplicates"], 0.75, 0.5),
        tail=above(u["tail"], 0.6, 1.5),
        values=VALUES[min(int(len(VALUES) * u["values"]), len(VALUES) - 1)],
        popularity=above(u["popularity"], 0.4, 1.2),
        unit_rows=u["unit_rows"] < 0.4,
    )
