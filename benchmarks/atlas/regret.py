"""What `auto` costs beside the best solver that a user could have named.

1) Every solver fits once, in a child of its own that is killed when it cannot win any more. Where
   nobody is done after a short limit, all try again with a longer one.
2) `auto` and the solvers near the best take turns in one child; medians are compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from statistics import median
from typing import Any

import numpy as np

from ..peers.base import HINGE, LOGISTIC, LOSSES
from .children import Child, DiedError, OutOfTimeError, timed
from .design import BINARY, JOINT, ONE_VS_REST, Cell, cell_at

AUTO = "auto"
NAMED = (
    "dual_cd",
    "newton",
    "quasi_newton",
    "proximal_newton",
    "interior_point",
    "block_dual_cd",
)
CAP_SECONDS = 60.0
# All solvers first get the short limit; where nobody is done, all get the long one. Cells that
# nobody solves must be affordable.
SHORT_LIMIT, LONG_LIMIT = 0.5, 20.0
# A named solver slower than this multiple of the best cannot win; more than that is noise.
HOPELESS = 3.0
# The regret of auto is recorded as "more than this" rather than measured to the end.
FAR = 30.0
NEAR = 1.5
# The first fit in a process warms up; it counts only where that cannot matter.
WARM_SECONDS = 0.3
# From here on one fit each is enough.
LONG_SECONDS = 6.0
# Turns that the solvers take, by the seconds of auto; one where it takes longer.
ROUNDS = ((0.05, 7), (0.5, 5), (2.0, 2))
MAX_ITER = 1_000_000


@dataclass
class Fit:
    """One solver on one cell; without an answer `seconds` is what it was given at least."""

    solver: str
    seconds: float
    status: str
    gap: float = math.nan
    n_iter: int = 0
    explanation: str = ""

    @property
    def converged(self) -> bool:
        """Whether the gap was proved to be within the tolerance."""
        return self.status == "converged"


def estimator(cell: Cell, solver: str, **options: Any) -> Any:
    """Make the estimator of a cell."""
    from widemargin import LinearSVC, LogisticRegression

    options = {
        "C": cell.C,
        "tol": cell.tol,
        "fit_intercept": cell.intercept,
        "solver": solver,
        "max_iter": MAX_ITER,
        "n_jobs": None,
        **options,
    }
    if cell.loss == LOGISTIC:
        return LogisticRegression(multi_class="ovr", **options)
    rule = cell.kind if cell.kind in JOINT else ONE_VS_REST
    return LinearSVC(loss=cell.loss, multi_class=rule, **options)


def solvers(cell: Cell) -> tuple[str, ...]:
    """Name the solvers a user might choose; those that refuse the problem are left out later."""
    if cell.kind in JOINT:
        return ("block_dual_cd", "proximal_newton")
    if cell.loss == HINGE:
        return ("dual_cd", "proximal_newton", "interior_point")
    return ("dual_cd", "newton", "quasi_newton")


def outcome(solver: str, seconds: float, model: Any) -> Fit:
    """Describe a finished fit by its worst class."""
    failed = [status for status in model.status_ if status != "converged"]
    return Fit(
        solver,
        seconds,
        str(failed[0]) if failed else "converged",
        max(certificate.relative_gap for certificate in model.certificates_),
        int(np.sum(model.n_iter_)),
        str(model.solver_),
    )


@cache
def warm_up() -> None:
    """Run every solver once in this process, so that no child pays for what is loaded late."""
    X, y = np.eye(12)[:, :3] + 0.5, np.arange(12) % 3
    kinds = [(BINARY, loss) for loss in LOSSES] + [(rule, HINGE) for rule in JOINT]
    for kind, loss in kinds:
        cell = replace(cell_at(0, 0), kind=kind, loss=loss, C=1.0, tol=1e-3)
        for solver in (AUTO, *solvers(cell)):
            estimator(cell, solver).fit(X, y)


class Race:
    """The solvers of widemargin on one cell."""

    def __init__(
        self,
        cell: Cell,
        X: Any,
        y: Any,
        core: int | None = None,
        long_limit: float = LONG_LIMIT,
        far: float = FAR,
    ) -> None:
        self.cell, self.X, self.y, self.core = cell, X, y, core
        self.long_limit, self.far = long_limit, far
        self.fits: dict[str, Fit] = {}
        self.tried: dict[str, float] = {}

    def solvers(self) -> tuple[str, ...]:
        """Name the solvers that `auto` is set beside."""
        return solvers(self.cell)

    def model(self, solver: str) -> Any:
        """Make the estimator of the cell."""
        return estimator(self.cell, solver)

    def fit(self, solver: str) -> Fit:
        """Fit once, in this process."""
        model = self.model(solver)
        return outcome(solver, timed(lambda: model.fit(self.X, self.y))[0], model)

    def twice(self, solver: str) -> Iterator[Fit]:
        """Fit, and once more if the first fit was short."""
        first = self.fit(solver)
        yield first
        if first.seconds < WARM_SECONDS:
            yield self.fit(solver)

    @property
    def best(self) -> float:
        """The fewest seconds to the tolerance so far."""
        return min((f.seconds for f in self.fits.values() if f.converged), default=math.inf)

    def attempt(self, solver: str, limit: float) -> None:
        """Fit in a child, unless this solver is done or has used up this limit before."""
        if solver in self.fits or limit <= self.tried.get(solver, 0.0):
            return
        self.tried[solver] = limit
        try:
            with Child(lambda: self.twice(solver), self.core) as child:
                # A little more than the limit, for what the child does around the fit.
                self.fits[solver] = child.get(1.1 * limit + 0.05)
                again = child.get(2.0 * limit + 0.1)
                if again is not None:
                    self.fits[solver] = again
        except OutOfTimeError:
            return
        except DiedError as error:
            self.fits[solver] = Fit(solver, math.nan, f"refused: {error}")

    def search(self) -> None:
        """Find the best named solver, and give auto the time to lose by a wide margin."""
        order = (AUTO, *self.solvers())
        for limit in (SHORT_LIMIT, self.long_limit):
            for solver in order:
                self.attempt(solver, min(limit, HOPELESS * self.best + 0.05))
            if math.isfinite(self.best):
                break
        if math.isfinite(self.best):
            for solver in order:
                factor = self.far if solver == AUTO else HOPELESS
                self.attempt(solver, min(factor * self.best + 0.5, CAP_SECONDS))
        for solver in order:
            self.fits.setdefault(solver, Fit(solver, self.tried[solver], "over"))

    def rounds(self) -> int:
        """Say how often the solvers take turns after the first one, which warms up."""
        auto = self.fits[AUTO]
        if not auto.converged or auto.seconds > LONG_SECONDS:
            return 0
        return next((count for seconds, count in ROUNDS if auto.seconds <= seconds), 1)

    def turns(self) -> None:
        """Replace the first measurements of auto and the solvers near the best by medians."""
        close = [f.solver for f in self.fits.values() if f.converged and f.solver != AUTO]
        near = [s for s in close if self.fits[s].seconds <= NEAR * self.best]
        count = self.rounds()
        if not count:
            return

        def work() -> Iterator[dict[str, float]]:
            chosen = (AUTO, *near)
            measured: dict[str, list[float]] = {solver: [] for solver in chosen}
            for turn in range(count + 1):
                for solver in chosen:
                    seconds = self.fit(solver).seconds
                    if turn or seconds > WARM_SECONDS:
                        measured[solver].append(seconds)
            yield {solver: median(found) for solver, found in measured.items()}

        total = sum(self.fits[solver].seconds for solver in (AUTO, *near))
        try:
            with Child(work, self.core) as child:
                found = child.get(3.0 * (count + 1) * total + 1.0)
        except (OutOfTimeError, DiedError):
            return
        for solver, seconds in found.items():
            self.fits[solver].seconds = seconds


def measure(cell: Cell, X: Any, y: Any, **options: Any) -> dict[str, Any]:
    """Race the solvers on a cell; the row of the table. Options are those of `Race`."""
    warm_up()
    return result(Race(cell, X, y, **options))


def result(race: Race) -> dict[str, Any]:
    """Run a race; the row of the table."""
    race.search()
    race.turns()
    auto = race.fits[AUTO]
    others = [f for f in race.fits.values() if f.solver != AUTO and f.converged]
    best = min(others, key=lambda fit: fit.seconds, default=None)
    row: dict[str, Any] = {
        "auto": auto.seconds,
        "auto_status": auto.status,
        "auto_gap": auto.gap,
        "auto_iterations": auto.n_iter,
        "solver_": auto.explanation,
        "best": best.solver if best else "",
        "best_seconds": best.seconds if best else math.nan,
        "over_other": auto.seconds / best.seconds if best else math.nan,
    }
    row["regret"] = max(row["over_other"], 1.0) if best else (1.0 if auto.converged else math.nan)
    for solver in NAMED:
        found = race.fits.get(solver)
        row[solver] = found.seconds if found else math.nan
        row[f"{solver}_status"] = found.status if found else ""
    return row
