"""Figure 1 of DRSVM: ISG, IPPA and hybrid over time, on synthetic data and on a1a.

`isg` and `ippa` are sweeps alone; `hybrid` is the sequence that ``solver="hybrid"`` runs, with the
interior point on the undecided examples at its end.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.arguments import no_arguments
from benchmarks.published.drsvm.common import LABEL_COST, RADIUS, RESULTS, load
from widemargin.auto.registry import Named, choice_of
from widemargin.data.rows import Rows, as_rows_array
from widemargin.linalg.blas import one_blas_thread
from widemargin.methods.base import Choice, Progress, Settings
from widemargin.methods.published.ippa import IPPA
from widemargin.methods.published.isg import ISG
from widemargin.problems.robust import RobustProblem
from widemargin.run import run

SECONDS = 4.0


def synthetic() -> tuple[Any, Any]:
    """Return the paper's synthetic data: a noisy halfspace, 1000 x 100."""
    random = np.random.default_rng(0)
    w, X = random.normal(size=100), random.normal(size=(1000, 100))
    return X, np.where(X @ w + 0.5 * random.normal(size=1000) > 0.0, 1.0, -1.0)


def trace(problem: RobustProblem, choice: Choice, tol: float) -> np.ndarray:
    """Return CPU seconds, best primal and best dual value after every step; looks are not timed."""
    settings = Settings(tol, 0)
    spent, primal, dual, seen = 0.0, np.inf, 0.0, []
    method = choice.first(problem, None, tol)
    progress, state, point = Progress(problem, method.name, tol), None, None
    with one_blas_thread():
        while spent < SECONDS and not (state is not None and state.finished):
            began = time.process_time()
            state = method.start(problem, point, settings) if state is None else state
            method.advance(state)
            spent += time.process_time() - began
            certificate = problem.certify(state.point)[1]
            primal, dual = min(primal, certificate.primal), max(dual, certificate.dual)
            seen.append((spent, primal, dual))
            if primal - dual <= tol * primal:
                break
            progress.iterations += 1
            progress.passes, progress.finished = state.passes, state.finished
            progress.expected.append(state.expected_gap)
            following = choice.next(progress)
            if following is not None:
                method, point, state = following, state.point, None
                progress = Progress(problem, method.name, tol)
    return np.array(seen)


def main() -> None:
    """Draw suboptimality and certified gap over seconds."""
    import matplotlib.pyplot as plt

    panels: list[tuple[str, tuple[Any, Any] | None, float]] = [
        ("synthetic, norm 1", synthetic(), 1.0),
        ("synthetic, norm 2", synthetic(), 2.0),
        ("synthetic, norm ∞", synthetic(), np.inf),
        ("a1a, norm 1", load("a1a"), 1.0),
        ("a9a, norm 1", load("a9a"), 1.0),
    ]
    panels = [panel for panel in panels if panel[1] is not None]
    figure, axes = plt.subplots(
        1, len(panels), figsize=(3.6 * len(panels), 3.6), layout="constrained", sharey=True
    )
    for place, (title, data, norm) in zip(axes, panels, strict=True):
        assert data is not None
        rows, y = Rows.of(as_rows_array(data[0])), np.asarray(data[1], dtype=np.float64)
        weight = np.full(rows.count, 1.0 / rows.count)
        problem = RobustProblem(rows, y, weight, RADIUS, LABEL_COST, norm, 0.0, False)
        exact = run(problem, choice_of("interior_point", RobustProblem), tol=1e-9)
        optimum = exact.certificate.primal
        for colour, name, choice in (
            ("C0", "isg", Named(ISG())),
            ("C1", "ippa", Named(IPPA())),
            ("C2", "hybrid", choice_of("hybrid", RobustProblem)),
        ):
            seconds, primal, dual = trace(problem, choice, 1e-8).T
            place.loglog(seconds, np.maximum(primal / optimum - 1.0, 1e-9), colour, label=name)
            place.loglog(seconds, np.maximum(1.0 - dual / primal, 1e-9), colour + ":")
        place.set(title=title, xlabel="CPU seconds")
    axes[0].set_ylabel("suboptimality (solid), certified gap (dotted)")
    axes[0].legend()
    RESULTS.mkdir(parents=True, exist_ok=True)
    figure.savefig(RESULTS / "figure1.png", dpi=110)


if __name__ == "__main__":
    no_arguments(__doc__)
    main()
