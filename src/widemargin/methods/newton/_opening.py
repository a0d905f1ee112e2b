"""Whether sweeps of dual coordinate descent come before the first Newton step, and how many."""

from __future__ import annotations

import numpy as np

from widemargin.auto.machine import MACHINE
from widemargin.methods.base import Settings
from widemargin.methods.coordinate.dual_cd import DualCD, DualCDState
from widemargin.methods.newton._samples import has_samples, spread_sample
from widemargin.methods.newton._system import matrix_is_dear
from widemargin.problems.binary import BinaryProblem

_PROBED, _FEWEST_PROBED = 16, 500
"""One in so many examples is looked at to find out, and at least so many."""


def sweeps_lead_near(problem: BinaryProblem, settings: Settings) -> bool:
    """Whether sweeps over all examples are a better beginning than steps on samples.

    They are where labels are clean: the examples of a small sample, visited once, are then soon
    predicted by those before them. A sample's own solution says much less about the others there.
    """
    count = problem.rows.count
    if not has_samples(problem) or count >= MACHINE.many_rows * problem.rows.weights:
        return False
    # Blocks may be anywhere, and where they are must not change the answer.
    if problem.rows.blocked or DualCD().refuses(problem) is not None:
        return False
    size = max(_FEWEST_PROBED, count // _PROBED)
    sample = spread_sample(problem, size, np.random.default_rng(settings.seed))
    if sample is None:
        return False
    probed = problem.subproblem(sample)
    probe = DualCD().start(probed, None, settings)
    DualCD().advance(probe)
    nothing = probed.loss.total(probed.y, probed.cost, np.zeros(probed.rows.count), 0.0)
    return (
        probe.last_gap <= (MACHINE.clean_sparse if problem.loss.sparse else MACHINE.clean) * nothing
    )


def sweeps_go_on(problem: BinaryProblem, opening: DualCDState, before: float) -> bool:
    """Whether another sweep comes before the first step.

    The last one has brought the relative gap down from `before`.
    """
    gap, tol = opening.expected_gap, opening.settings.tol
    if not _enough_sweeps(problem, opening.passes, gap):
        return True
    return _sweeps_end_sooner(problem, before, gap, tol)


def _enough_sweeps(problem: BinaryProblem, passes: float, gap: float) -> bool:
    """Two, three or five, by what a Newton step costs and how many they are likely to save."""
    if problem.loss.curvature_level is None and gap > 0.04 and passes < 3.0:
        # Its matrix has to be formed at every step.
        return False
    if gap > 0.9 and passes < 5.0 and matrix_is_dear(problem):
        return False
    return passes >= 2.0


def _sweeps_end_sooner(problem: BinaryProblem, before: float, gap: float, tol: float) -> bool:
    """Whether sweeps are predicted to meet the tolerance at a lower price than one Newton step.

    Those to come are taken to bring the gap down as the last one did, from `before` to `gap`.
    """
    if not tol < gap < before < np.inf:
        return False
    size, loss = problem.rows.size, problem.loss
    sweeps = np.ceil(np.log(gap / tol) / np.log(before / gap))
    price = MACHINE.sweep_call + size.sweep(loss.visit_cost)
    return bool(sweeps * price < size.factor_step())
