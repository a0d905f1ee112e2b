"""Which method serves a problem: the visible table behind ``solver=``.

================  ==========================  =====================================================
method            serves                      best where
================  ==========================  =====================================================
dual_cd           every loss                  features are many, or C is small
newton            squared hinge, logistic     weights are few: a handful of steps, whatever C
proximal_newton   hinge                       weights are few and C is not small
interior_point    hinge, few weights          the last digits count; the same steps whatever C
dual_of_dual      squared hinge, kernels      first-order steps with a linear rate are wanted
bmrm_qp, bmrm_ls  every loss                  comparison: bundle methods
pragam            hinge                       comparison: the excessive gap technique, 1/k²
pegasos           hinge, no free intercept    comparison: stochastic subgradients (pegasos_n: batch)
block_dual_cd     all classes at once         always a good start
proximal_newton   all classes at once         all weights together are few
walrus            all classes at once         as published, to compare with: steps by sorting
shark             Weston-Watkins              as published, to compare with: greedy steps
interior_point    robust                      always: a few dozen steps, whatever the rows
hybrid, ippa      robust                      rows are very many and four digits are enough
isg, gs_admm      robust                      as published, to compare with
================  ==========================  =====================================================

A name may stand for several methods, one for each kind of problem. ``solver="auto"`` leaves it to
the kind's own choice: `widemargin.methods.auto_binary` for the binary problems,
`widemargin.methods.auto_multiclass` for all classes at once.
"""

from __future__ import annotations

from typing import Any

from widemargin.methods.auto_binary import AutoBinary
from widemargin.methods.auto_kernel import AutoKernel, AutoKernelMulticlass
from widemargin.methods.auto_multiclass import AutoMulticlass
from widemargin.methods.auto_robust import AutoRobust
from widemargin.methods.base import Choice, Method, Progress
from widemargin.methods.block_dual_cd import BlockDualCD
from widemargin.methods.block_frank_wolfe import (
    KernelAwayFrankWolfe,
    KernelBlockFrankWolfe,
    KernelObliviousFrankWolfe,
    KernelPairwiseFrankWolfe,
)
from widemargin.methods.bmrm import BMRMLineSearch, BMRMQuadraticProgram
from widemargin.methods.dual_cd import DualCD
from widemargin.methods.dual_of_dual import DualOfDual, KernelDualOfDual
from widemargin.methods.frank_wolfe import FrankWolfe, KernelFrankWolfe
from widemargin.methods.gs_admm import GSADMM
from widemargin.methods.hybrid import Hybrid, Proximal
from widemargin.methods.interior_point import InteriorPoint
from widemargin.methods.isg import ISG
from widemargin.methods.kernel_dual_cd import KernelDualCD
from widemargin.methods.linear_block_frank_wolfe import (
    AwayFrankWolfe,
    BlockFrankWolfe,
    ObliviousFrankWolfe,
    PairwiseFrankWolfe,
)
from widemargin.methods.multiclass_newton import MulticlassNewton
from widemargin.methods.newton import Newton
from widemargin.methods.pegasos import Pegasos, PegasosBatch
from widemargin.methods.plain_blocks import Shark, Walrus
from widemargin.methods.pragam import Pragam
from widemargin.methods.proximal_newton import ProximalNewton
from widemargin.methods.robust_interior_point import RobustInteriorPoint
from widemargin.methods.stacked_dual_cd import StackedDualCD
from widemargin.methods.stacked_newton import StackedNewton
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.kernel import KernelProblem
from widemargin.problems.kernel_multiclass import KernelMulticlassProblem
from widemargin.problems.multiclass import MulticlassProblem
from widemargin.problems.problem import Problem
from widemargin.problems.robust import RobustProblem

METHODS: dict[str, tuple[type[Method], ...]] = {
    "dual_cd": (DualCD, KernelDualCD, StackedDualCD),
    "newton": (Newton, StackedNewton),
    "proximal_newton": (ProximalNewton, MulticlassNewton),
    "interior_point": (InteriorPoint, RobustInteriorPoint),
    "dual_of_dual": (DualOfDual, KernelDualOfDual),
    "frank_wolfe": (FrankWolfe, KernelFrankWolfe),
    "block_frank_wolfe": (BlockFrankWolfe, KernelBlockFrankWolfe),
    "oblivious_frank_wolfe": (ObliviousFrankWolfe, KernelObliviousFrankWolfe),
    "away_frank_wolfe": (AwayFrankWolfe, KernelAwayFrankWolfe),
    "pairwise_frank_wolfe": (PairwiseFrankWolfe, KernelPairwiseFrankWolfe),
    "bmrm_qp": (BMRMQuadraticProgram,),
    "bmrm_ls": (BMRMLineSearch,),
    "pragam": (Pragam,),
    "pegasos": (Pegasos,),
    "pegasos_n": (PegasosBatch,),
    "block_dual_cd": (BlockDualCD,),
    "walrus": (Walrus,),
    "shark": (Shark,),
    "isg": (ISG,),
    "gs_admm": (GSADMM,),
}
"""For each name, its methods: one a kind of problem."""

AUTO: dict[type[Problem], type[Choice]] = {
    BinaryProblem: AutoBinary,
    RobustProblem: AutoRobust,
    KernelProblem: AutoKernel,
    KernelMulticlassProblem: AutoKernelMulticlass,
    MulticlassProblem: AutoMulticlass,
}
"""For each kind of problem, who chooses when the user does not."""


HANDOVERS: dict[str, dict[type[Problem], type[Choice]]] = {
    "ippa": {RobustProblem: Proximal},
    "hybrid": {RobustProblem: Hybrid},
}
"""Names that stand for a fixed sequence of methods rather than for one."""


class Named:
    """One method, chosen by its name."""

    def __init__(self, method: Method) -> None:
        self._method = method

    @property
    def explanation(self) -> str:
        """The method's name."""
        return self._method.name

    def first(self, problem: Any, warm: Point | None, tol: float) -> Method:
        """Return the method, or refuse the problem by a sentence."""
        reason = self._method.refuses(problem)
        if reason is not None:
            raise ValueError(reason)
        return self._method

    def next(self, progress: Progress) -> Method | None:
        """Never hand over."""
        return None


def solvers_for(kind: type[Problem]) -> list[str]:
    """Return the names that serve a kind of problem, "auto" first."""
    named = [name for name, methods in METHODS.items() if _serving(methods, kind) is not None]
    named += [name for name, choices in HANDOVERS.items() if kind in choices]
    return ["auto", *named] if kind in AUTO else named


def choice_of(solver: str, kind: type[Problem]) -> Choice:
    """Return the choice that ``solver=`` names, for one kind of problem."""
    names = ("auto", *METHODS, *HANDOVERS)
    known = isinstance(solver, str) and solver in names
    if known and solver == "auto":
        return AUTO[kind]()
    if known and kind in HANDOVERS.get(solver, {}):
        return HANDOVERS[solver][kind]()
    method = _serving(METHODS.get(solver, ()), kind) if known else None
    if method is None:
        serving = ", ".join(repr(name) for name in solvers_for(kind))
        if known:
            raise ValueError(
                f"solver {solver!r} does not serve {kind.kind}; those that do are {serving}"
            )
        raise ValueError(f"solver must be one of {serving}; got {solver!r}")
    return Named(method())


def _serving(methods: tuple[type[Method], ...], kind: type[Problem]) -> type[Method] | None:
    return next((method for method in methods if issubclass(kind, method.serves)), None)
