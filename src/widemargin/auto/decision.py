"""A decision, the course of a run that it is made from, and the choice that carries it out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from widemargin.auto.experience import Experience, Known, known_from
from widemargin.auto.prediction import raised
from widemargin.auto.registry import method_named, not_in_memory
from widemargin.data.quick_init import quick_init
from widemargin.methods.base import Method, Progress, Settings
from widemargin.methods.newton.row_space import RowSpace
from widemargin.problems.certificate import Point
from widemargin.problems.problem import OnKernel


@quick_init
@dataclass(frozen=True)
class Decision:
    """The method to run next, and why.

    `in_row_space` means that it runs on the factor of X Xᵀ, where rows are fewer than weights, or
    on that of a kernel matrix; `pauses` that the method before it may go on later as it was;
    `afresh` that it starts as if none had run before it.
    """

    method: str
    cause: str
    in_row_space: bool = False
    pauses: bool = False
    afresh: bool = False

    def __str__(self) -> str:
        return f"{self.method} ({self.cause})"


@dataclass
class Leg:
    """What one method did before it gave way, or has done so far.

    Attributes
    ----------
    method : str
    works : list of float
        Spent up to each step, in the currency of `widemargin.data.work`.
    gaps : list of float
        The best estimate of the relative gap up to each step: single estimates jump.
    passes : float
        Work in passes over the data.
    active : int
        Examples that take part in the work at present.
    finished : bool
        Whether another step could not change its point.
    refuted : float
        The gap that was proved when an estimate was last found to be too hopeful.
    misplaced : list of float
        Share of the examples that each step found on the wrong side; NaN where it is not known.
        The first one is that of the first method that knew it.
    """

    method: str
    works: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    passes: float = 0.0
    active: int = 0
    finished: bool = False
    refuted: float = math.inf
    misplaced: list[float] = field(default_factory=list)

    @property
    def work(self) -> float:
        """Spent so far."""
        return self.works[-1] if self.works else 0.0


Shape = TypeVar("Shape")


class Policy(Protocol[Shape]):
    """Decides for one kind of problem: pure functions of a shape and of the course of the run."""

    def shape_of(self, problem: Any, tol: float, warm: bool) -> Shape:
        """Return what the decisions may know about a problem."""

    def first(self, shape: Shape, follows: str) -> Decision:
        """Decide how to begin; `follows` solved the same problem at a smaller C, if not empty."""

    def next(self, shape: Shape, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Decide after a step: another method, or None to go on."""


class OneMethod:
    """Base of the policies of problems for which there is one method to choose."""

    decision: ClassVar[Decision]

    def shape_of(self, problem: Any, tol: float, warm: bool) -> None:
        """Look at nothing."""

    def first(self, shape: None, follows: str) -> Decision:
        """Return the one method."""
        return self.decision

    def next(self, shape: None, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Never hand over."""
        return None


class Afresh:
    """A method that starts as if none had run before it."""

    def __init__(self, method: Method) -> None:
        self._method = method

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)

    def start(self, problem: Any, warm: Point | None, settings: Settings) -> Any:
        """Start where the method does when it knows no point."""
        return self._method.start(problem, None, settings)


class Auto(Generic[Shape]):
    """Carry out the decisions of a policy in a run."""

    def __init__(self, policy: Policy[Shape]) -> None:
        self._policy = policy
        self._decisions: list[Decision] = []
        self._legs: list[Leg] = []
        self._follows = ""
        self._kind: type[Any] = object
        self._shape: Any = None
        self._experience: Experience | None = None

    @property
    def explanation(self) -> str:
        """The methods that ran, each with its cause."""
        return " -> ".join(str(decision) for decision in self._decisions)

    @property
    def pauses(self) -> bool:
        """Whether the method that gave way last may go on later as it was."""
        return self._decisions[-1].pauses

    def follow(self, method: str) -> None:
        """Take note of the method that solved the same problem at a smaller C."""
        self._follows = method

    def learn(self, experience: Experience) -> None:
        """Take note of what problems of the same shape have shown, and show this one to others."""
        self._experience = experience

    def shown(self, work: float, converged: bool) -> list[Known]:
        """Return what the methods of a run took that has cost so much in all."""
        return known_from(self._policy, self._shape, self._decisions, self._legs, work, converged)

    def tries_another(self, known: tuple[Known, ...], others: int) -> bool:
        """Whether the next problem should try what is not known yet, for all those after it."""
        policy: Any = self._policy
        return bool(policy.tries(replace(self._shape, known=known, others=others - 1)))

    def first(self, problem: Any, warm: Point | None, tol: float) -> Method:
        """Return the method to start with."""
        self._kind = type(problem)
        method = self._take(self._begins(problem, warm, tol))
        reason = not_in_memory(method, problem) or method.refuses(problem)
        if reason is not None:
            raise ValueError(reason)
        return method

    def next(self, progress: Progress) -> Method | None:
        """Return the method to hand over to, or None to go on."""
        leg = self._legs[-1]
        leg.works.append(progress.work)
        leg.active, leg.finished = progress.active, progress.finished
        leg.passes = progress.passes
        leg.misplaced.append(progress.misplaced)
        best = leg.gaps[-1] if leg.gaps else math.inf
        leg.gaps.append(min(best, progress.expected[-1]))
        if leg.gaps[-1] <= progress.tol < progress.proved:
            # The estimates were too hopeful: a certificate has said so. Their rate may still hold,
            # as after a round of shrinking, unless it has said so before.
            again = progress.proved > 0.5 * leg.refuted
            leg.gaps[:] = raised(leg.gaps, progress.proved, again)
            leg.refuted = progress.proved
        if not (leg.finished or _worth_asking(len(leg.gaps))):
            return None
        decision = self._policy.next(self._shape, self._legs, self._follows)
        return None if decision is None else self._take(decision)

    def _begins(self, problem: Any, warm: Point | None, tol: float) -> Decision:
        """Look at the problem and decide how to begin; problems that are alike are one look."""
        seen = self._experience if warm is None else None
        if seen is not None and seen.concluded is not None:
            self._shape, decision = seen.concluded
            return decision
        self._shape = self._policy.shape_of(problem, tol, warm is not None)
        if seen is not None:
            others = seen.left - 1 if seen.alone else 0
            self._shape = replace(self._shape, known=seen.known, others=others)
        decision = self._policy.first(self._shape, self._follows if warm is not None else "")
        if seen is not None and not seen.alone:
            seen.concluded = self._shape, decision
        return decision

    def _take(self, decision: Decision) -> Method:
        method = self._taken(decision)
        return cast(Method, Afresh(method)) if decision.afresh else method

    def _taken(self, decision: Decision) -> Method:
        self._decisions.append(decision)
        known = [leg.misplaced[0] for leg in self._legs if leg.misplaced and leg.misplaced[0] > 0.0]
        self._legs.append(Leg(decision.method, misplaced=known[:1]))
        if not decision.in_row_space:
            return method_named(decision.method, self._kind)
        if not issubclass(self._kind, OnKernel):
            return RowSpace(method_named(decision.method, self._kind))
        from widemargin.methods.newton.kernel_features import KernelFeatures, linear_kind_of

        return KernelFeatures(method_named(decision.method, linear_kind_of(self._kind)))


def _worth_asking(steps: int) -> bool:
    """Whether there were so few steps, or so many new ones, that a decision is worth its calls."""
    power = 1 << max(0, steps.bit_length() - 4)
    return steps % power == 0
