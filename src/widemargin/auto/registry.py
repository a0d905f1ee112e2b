"""Which method supports a problem: the visible table behind ``solver=``.

================  ==========================  =====================================================
method            supports                    best where
================  ==========================  =====================================================
dual_cd           every loss                  features are many, or C is small
newton            squared hinge, logistic     weights are few: a handful of steps, whatever C
quasi_newton      squared hinge, logistic     few products do, and a matrix costs many of them
dual_cd, newton   multinomial                 the same
dual_cd           regression                  features are many, or C is small
newton            regression, squared         weights are few
quasi_newton      regression, squared         few products do, and a matrix costs many of them
proximal_newton   regression                  weights are few and C is not small
interior_point    regression, few weights     the last digits count
dual_cd           one class                   features are many
proximal_newton   one class                   weights are few
interior_point    one class, few weights      the last digits count
proximal_newton   hinge                       weights are few and C is not small
interior_point    hinge, few weights          the last digits count; the same steps whatever C
newton            bounds on the coefficients  the loss has second derivatives
proximal_newton   bounds on the coefficients  it has not
proximal_newton   sparse weights              working sets are small: their matrix is formed
primal_cd         sparse weights              working sets are large; also squared hinge, logistic
the same two      sparse and multinomial      a class after the other, then all at once
dual_of_dual      squared hinge, kernels      first-order steps with a linear rate are wanted
bmrm_qp, bmrm_ls  every loss                  comparison: bundle methods
pragam            hinge, sequences            comparison: the excessive gap technique, 1/k²
pegasos           hinge, no free intercept    comparison: stochastic subgradients (pegasos_n: batch)
block_dual_cd     all classes at once         always a good start
proximal_newton   all classes at once         all weights together are few
walrus            all classes at once         as published, to compare with: steps by sorting
shark             Weston-Watkins              as published, to compare with: greedy steps
interior_point    robust                      always: a few dozen steps, whatever the rows
hybrid, ippa      robust                      rows are very many and four digits are enough
isg, gs_admm      robust                      as published, to compare with
cached_frank_wolfe  sequences, hinge          always: labelings are kept and moved between
exponentiated_gradient  sequences, log loss   always a good start: dual block ascent
lbfgs             sequences, log loss         C or features are large: quasi-Newton steps
================  ==========================  =====================================================

A name may stand for several methods, one for each kind of problem. ``solver="auto"`` leaves it to
the kind's own policy. Methods and policies are imported when they are used.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from widemargin.methods.base import Choice, Method, Progress
from widemargin.problems.certificate import Point
from widemargin.problems.problem import Problem

_METHODS = "widemargin.methods"

METHODS: dict[str, dict[str, str | type[Method]]] = {
    "dual_cd": {
        "binary": "coordinate.dual_cd:DualCD",
        "regression": "coordinate.dual_cd:DualCD",
        "one_class": "coordinate.one_class:OneClassDualCD",
        "kernel": "coordinate.kernel:KernelDualCD",
        "kernel_pairs": "coordinate.kernel_pairs:KernelPairsDualCD",
        "lanes": "coordinate.lanes:LanesDualCD",
        "multinomial": "coordinate.multinomial:MultinomialDualCD",
    },
    "newton": {
        "binary": "newton.newton:Newton",
        "regression": "newton.newton:Newton",
        "bounded": "newton.bounded:BoundedNewton",
        "lanes": "newton.lanes:LanesNewton",
        "unpenalised": "newton.unpenalised:UnpenalisedNewton",
        "multinomial": "newton.multinomial:MultinomialNewton",
    },
    "quasi_newton": {
        "binary": "newton.quasi_newton:QuasiNewton",
        "regression": "newton.quasi_newton:QuasiNewton",
    },
    "primal_cd": {
        "binary": "coordinate.columns:PrimalCD",
        "sparse_weights": "coordinate.columns:SparsePrimalCD",
        "sparse_multinomial": "newton.sparse_multinomial:SparseMultinomialCD",
    },
    "proximal_newton": {
        "binary": "newton.proximal_newton:ProximalNewton",
        "sparse_weights": "newton.sparse_weights:SparseProximalNewton",
        "sparse_multinomial": "newton.sparse_multinomial:SparseMultinomialNewton",
        "regression": "newton.proximal_newton:ProximalNewton",
        "one_class": "newton.proximal_newton:ProximalNewton",
        "bounded": "newton.bounded:BoundedProximalNewton",
        "multiclass": "newton.multiclass:MulticlassNewton",
    },
    "interior_point": {
        "binary": "interior.hinge:InteriorPoint",
        "regression": "interior.tube:TubeInteriorPoint",
        "one_class": "interior.hinge:InteriorPoint",
        "robust": "interior.robust:RobustInteriorPoint",
    },
    "dual_of_dual": {
        "binary": "published.dual_of_dual:DualOfDual",
        "kernel": "published.dual_of_dual:KernelDualOfDual",
    },
    "frank_wolfe": {
        "multiclass": "published.frank_wolfe:FrankWolfe",
        "kernel_multiclass": "published.frank_wolfe:KernelFrankWolfe",
    },
    "corrective_frank_wolfe": {
        "multiclass": "published.corrective_frank_wolfe:CorrectiveFrankWolfe",
        "kernel_multiclass": "published.corrective_frank_wolfe:KernelCorrectiveFrankWolfe",
    },
    "block_frank_wolfe": {
        "sequence": "published.sequence_frank_wolfe:SequenceFrankWolfe",
        "multiclass": "published.block_frank_wolfe:BlockFrankWolfe",
        "kernel_multiclass": "published.kernel_block_frank_wolfe:KernelBlockFrankWolfe",
    },
    "oblivious_frank_wolfe": {
        "multiclass": "published.block_frank_wolfe:ObliviousFrankWolfe",
        "kernel_multiclass": "published.kernel_block_frank_wolfe:KernelObliviousFrankWolfe",
    },
    "away_frank_wolfe": {
        "multiclass": "published.block_frank_wolfe:AwayFrankWolfe",
        "kernel_multiclass": "published.kernel_block_frank_wolfe:KernelAwayFrankWolfe",
    },
    "pairwise_frank_wolfe": {
        "multiclass": "published.block_frank_wolfe:PairwiseFrankWolfe",
        "kernel_multiclass": "published.kernel_block_frank_wolfe:KernelPairwiseFrankWolfe",
    },
    "lbfgs": {"conditional": "structures.lbfgs:LBFGS"},
    "exponentiated_gradient": {
        "conditional": "structures.exponentiated_gradient:ExponentiatedGradient"
    },
    "cached_frank_wolfe": {
        "sequence": "structures.cached_frank_wolfe:CachedFrankWolfe",
        "structured": "structures.structured_frank_wolfe:StructuredFrankWolfe",
    },
    "bmrm_qp": {
        "binary": "published.bmrm:BMRMQuadraticProgram",
        "sequence": "published.sequence_bmrm:SequenceBMRM",
        "structured": "published.structured_bmrm:StructuredBMRM",
    },
    "bmrm_ls": {"binary": "published.bmrm:BMRMLineSearch"},
    "pragam": {
        "binary": "published.pragam:Pragam",
        "multiclass": "published.multiclass_pragam:MulticlassPragam",
        "sequence": "published.sequence_pragam:SequencePragam",
        "structured": "published.structured_pragam:StructuredPragam",
    },
    "pegasos": {"binary": "published.pegasos:Pegasos"},
    "pegasos_n": {"binary": "published.pegasos:PegasosBatch"},
    "block_dual_cd": {
        "multiclass": "coordinate.block_dual_cd:BlockDualCD",
        "kernel_multiclass": "coordinate.kernel_blocks:KernelBlockDualCD",
    },
    "walrus": {"multiclass": "published.walrus:Walrus"},
    "shark": {"multiclass": "published.shark:Shark"},
    "isg": {"robust": "published.isg:ISG"},
    "gs_admm": {"robust": "published.gs_admm:GSADMM"},
}
"""For each name, its method for each kind of problem: a class, or where it is defined."""

_INNER = {
    "ippa": {"robust": "published.ippa:IPPA"},
    "reduced_interior_point": {"robust": "interior.reduced_robust:ReducedInteriorPoint"},
}
"""Methods that only policies run: their names mean a sequence, or nothing, to a user."""

POLICIES = {
    "binary": "binary:BinaryPolicy",
    "regression": "regression:RegressionPolicy",
    "one_class": "one_class:OneClassPolicy",
    "bounded": "bounded:BoundedPolicy",
    "robust": "robust:RobustPolicy",
    "kernel": "kernel:KernelPolicy",
    "kernel_pairs": "kernel:KernelPairsPolicy",
    "kernel_multiclass": "kernel:KernelMulticlassPolicy",
    "multiclass": "multiclass:MulticlassPolicy",
    "unpenalised": "unpenalised:UnpenalisedPolicy",
    "sparse_weights": "sparse_weights:SparsePolicy",
    "sparse_multinomial": "sparse_weights:SparsePolicy",
    "multinomial": "multinomial:MultinomialPolicy",
    "sequence": "sequence:SequencePolicy",
    "structured": "sequence:SequencePolicy",
    "conditional": "conditional:ConditionalPolicy",
}
"""For each kind of problem, the policy that decides where the user does not."""

SEQUENCES = {
    "ippa": {"robust": "robust_stages:ProximalStages"},
    "hybrid": {"robust": "robust_stages:HybridStages"},
}
"""Names that stand for a sequence of methods rather than for one."""


class Named:
    """One method, chosen by its name."""

    def __init__(self, method: Method) -> None:
        self._method = method

    @property
    def explanation(self) -> str:
        """The method's name."""
        return self._method.name

    @property
    def pauses(self) -> bool:
        """Never: it does not hand over."""
        return False

    def follow(self, method: str) -> None:
        """Ignore what solved the problem at a smaller C: the user has chosen."""

    def first(self, problem: Any, warm: Point | None, tol: float) -> Method:
        """Return the method; raise an error if it does not support the problem."""
        reason = not_in_memory(self._method, problem) or self._method.refuses(problem)
        if reason is not None:
            raise ValueError(reason)
        return self._method

    def next(self, progress: Progress) -> Method | None:
        """Never hand over."""
        return None


def not_in_memory(method: Method, problem: Any) -> str | None:
    """Return why a method cannot work on data that are not in memory, or None if they are."""
    rows = getattr(problem, "rows", None)
    if rows is None or not rows.elsewhere or getattr(method, "streams", False):
        return None
    smooth = getattr(getattr(problem, "loss", None), "smooth", True)
    nearest = "newton" if smooth else "proximal_newton"
    found = _entry(METHODS[nearest], type(problem))
    if found is None or not getattr(_load(_METHODS, found), "streams", False):
        return f"{problem.kind} need data in memory"
    return (
        f"solver {method.name!r} needs data in memory; the nearest solver that reads data from "
        f"disk or other machines is {nearest!r}"
    )


def register(name: str, method: type[Method]) -> None:
    """Add a method under a name that ``solver=`` takes, for the kind of problem it serves."""
    METHODS.setdefault(name, {})[_key(method.serves)] = method  # type: ignore[arg-type]


def solvers_for(kind: type[Problem]) -> list[str]:
    """Return the names that support a kind of problem, "auto" first."""
    named = [name for name, table in METHODS.items() if _entry(table, kind) is not None]
    named += [name for name, table in SEQUENCES.items() if _entry(table, kind) is not None]
    return ["auto", *named] if _entry(POLICIES, kind) else named


def method_named(name: str, kind: type[Problem], **options: Any) -> Method:
    """Return a new method of that name for a kind of problem."""
    found = _entry(METHODS.get(name) or _INNER.get(name, {}), kind)
    if found is None:
        raise ValueError(f"no method {name!r} supports {kind.kind}")
    method: Method = _load(_METHODS, found)(**options)
    return method


def choice_of(solver: str, kind: type[Problem]) -> Choice:
    """Return the choice that ``solver=`` names, for one kind of problem."""
    from widemargin.auto.decision import Auto

    known = isinstance(solver, str)
    if known and solver == "auto":
        return Auto(_load("widemargin.auto", _entry(POLICIES, kind))())
    known = known and (solver in METHODS or solver in SEQUENCES)
    sequence = _entry(SEQUENCES.get(solver, {}), kind) if known else None
    if sequence is not None:
        return Auto(_load("widemargin.auto", sequence)())
    if not known or _entry(METHODS.get(solver, {}), kind) is None:
        serving = ", ".join(repr(name) for name in solvers_for(kind))
        if known:
            raise ValueError(
                f"solver {solver!r} does not support {kind.kind}; those that do are {serving}"
            )
        raise ValueError(f"solver must be one of {serving}; got {solver!r}")
    return Named(method_named(solver, kind))


def check_solver(solver: str, kind: type[Problem]) -> None:
    """Raise an error if ``solver=`` names nothing for a kind of problem."""
    if not (isinstance(solver, str) and solver == "auto"):
        choice_of(solver, kind)


def choice_with(solver: str, kind: type[Problem], options: dict[str, Any]) -> Choice:
    """Return one method by its name, alone, with options that it says it takes."""
    chosen = choice_of(solver, kind)
    if not options:
        return chosen
    tables: dict[str, dict[str, Any]] = {**METHODS, **_INNER}
    found = {name: _entry(table, kind) for name, table in tables.items() if _entry(table, kind)}
    known = {name: getattr(_load(_METHODS, entry), "options", {}) for name, entry in found.items()}
    for option in options:
        takers = [name for name in known if option in known[name]]
        if solver not in takers:
            names = " or ".join(map(repr, takers))
            raise ValueError(f"{option} is for solver {names}; solver is {solver!r}")
    arguments = {known[solver][option]: value for option, value in options.items()}
    return Named(method_named(solver, kind, **arguments))


@cache
def _key(kind: type[Any]) -> str:
    """Return the name of a kind in the tables: that of the file which defines it."""
    return kind.__module__.rpartition(".")[2]


def _entry(table: dict[str, Any], kind: type[Any]) -> Any:
    """Return what a table holds for a kind or for what it is derived from."""
    for base in kind.__mro__:
        if _key(base) in table:
            return table[_key(base)]
        if vars(base).get("alone"):  # what solves the problems it is derived from does not apply
            return None
    return None


def _load(package: str, entry: Any) -> Any:
    """Return a class, imported if the entry says where it is defined."""
    return _imported(package, entry) if isinstance(entry, str) else entry


@cache
def _imported(package: str, entry: str) -> Any:
    """Return a class that is defined in a module of a package."""
    module, _, name = entry.partition(":")
    return getattr(import_module(f"{package}.{module}"), name)
