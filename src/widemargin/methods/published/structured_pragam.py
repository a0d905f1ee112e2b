"""Pragam for structured models whose outputs can be listed (BMRM, section 1).

The dual variables of an example are a share of its cost for every output: a simplex. Multiclass,
ordinal and taxonomy models list their classes, the multilabel model its combinations of labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.methods.base import Settings
from widemargin.methods.published import _excessive_gap
from widemargin.methods.published._excessive_gap import ExcessiveGapState
from widemargin.problems.certificate import Point
from widemargin.problems.structured import Outputs, StructuredProblem
from widemargin.projections.simplex import project_simplex

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ListedOutputs:
    """All outputs of all examples, one below the other, with ψ and loss each.

    Attributes
    ----------
    problem : StructuredProblem
    pointers : ndarray of shape (examples + 1,)
        Example i has the outputs from pointers[i] to pointers[i + 1].
    right : ndarray of shape (examples,)
        The place of the right output of each example.
    outputs : list
    psi : sparse array of shape (outputs, weights)
    loss : ndarray of shape (outputs,)
    """

    problem: StructuredProblem
    pointers: NDArray[np.int64]
    right: NDArray[np.int64]
    outputs: list[Any]
    psi: Any
    loss: Vector

    @classmethod
    def of(cls, problem: StructuredProblem) -> ListedOutputs:
        """List the outputs of a problem."""
        pointers, right, outputs = [0], list[int](), list[Any]()
        losses, planes = list[float](), list[Any]()
        for i, x in enumerate(problem.X):
            found = list(problem.model.outputs(x))  # type: ignore[attr-defined]
            own = [problem.plane(i, output) for output in found]
            planes.append(sp.csr_array(np.array([psi for psi, _ in own])))
            none = [j for j, (psi, loss) in enumerate(own) if loss == 0.0 and not psi.any()]
            if not none:
                raise ValueError(f"outputs(x) of example {i} lack its own output")
            right.append(len(outputs) + none[0])
            outputs += found
            losses += [loss for _, loss in own]
            pointers.append(len(outputs))
            problem.checkpoint()
        psi = sp.csr_array(sp.vstack(planes))
        return cls(problem, np.array(pointers), np.array(right), outputs, psi, np.array(losses))

    def from_shares(self, duals: Outputs) -> Vector:
        """Return the dual variables of shares; the right output has what they lack to one."""
        out = np.zeros(self.loss.size)
        for i, (outputs, shares) in enumerate(zip(duals.outputs, duals.shares, strict=True)):
            own = range(self.pointers[i], self.pointers[i + 1])
            for output, share in zip(outputs, shares, strict=True):
                place = next(j for j in own if np.array_equal(self.outputs[j], output))
                out[place] += self.problem.cost[i] * share
            out[self.right[i]] += self.problem.cost[i] * max(0.0, 1.0 - float(np.sum(shares)))
        return out

    def project(self, target: Vector) -> Vector:
        """Project onto a simplex of size c_i for each example."""
        out = np.zeros_like(target)
        for i, cost in enumerate(self.problem.cost):
            own = slice(self.pointers[i], self.pointers[i + 1])
            if cost > 0.0:
                out[own] = project_simplex(target[own], float(cost))
            self.problem.checkpoint()
        return out

    def combine(self, duals: Vector) -> tuple[Vector, float]:
        """Return Σ β ψ and Σ β Δ."""
        return np.asarray(self.psi.T @ duals), float(self.loss @ duals)

    def slopes(self, w: Vector) -> Vector:
        """Return Δ − ψ·w of every output."""
        return np.asarray(self.loss - self.psi @ w)

    def primal(self, w: Vector, slopes: Vector) -> float:
        """Return P(w); the right output has slope zero."""
        worst = np.maximum.reduceat(slopes, self.pointers[:-1])
        return 0.5 * float(w @ w) + float(self.problem.cost @ worst)

    def point(self, w: Vector, duals: Vector) -> Point:
        """Return the weights, and the outputs with a share other than the right one."""
        outputs, shares = [], []
        for i, cost in enumerate(self.problem.cost):
            places = range(self.pointers[i], self.pointers[i + 1])
            kept = [j for j in places if duals[j] > 0.0 and j != self.right[i]]
            outputs.append(tuple(self.outputs[j] for j in kept))
            shares.append(duals[kept] / cost if kept else np.zeros(0))
        return Point(w, None, Outputs(tuple(outputs), tuple(shares)))

    def active(self, duals: Vector) -> int:
        """Return how many examples have an output with a share other than the right one."""
        return int(np.count_nonzero(duals[self.right] < self.problem.cost))


class StructuredPragam:
    """Two projections and three products per step; the gap falls like 1/k²."""

    name = "pragam"
    serves: ClassVar[type[StructuredProblem]] = StructuredProblem

    def refuses(self, problem: StructuredProblem) -> str | None:
        """Support models that list their outputs."""
        if hasattr(problem.model, "outputs"):
            return None
        return (
            "solver 'pragam' needs a model with outputs(x), the list of all outputs; "
            "'cached_frank_wolfe' and 'bmrm_qp' do not, and SequenceSVC has a 'pragam' for chains"
        )

    def start(
        self, problem: StructuredProblem, warm: Point | None, settings: Settings
    ) -> ExcessiveGapState:
        """Start by a projected gradient step from the right outputs or the warm ones."""
        listed = ListedOutputs.of(problem)
        point = problem.cold_point() if warm is None else warm
        before = listed.from_shares(point.alpha.feasible())
        largest = float(listed.psi.multiply(listed.psi).sum(axis=1).max(initial=0.0))
        return _excessive_gap.start(listed, before, largest)

    def advance(self, state: ExcessiveGapState) -> None:
        """Take one step of the excessive gap technique."""
        _excessive_gap.advance(state)
