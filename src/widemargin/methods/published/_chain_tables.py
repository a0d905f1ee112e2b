"""Marginals of chains as tables, one for each pair of neighbours (BMRM, appendix E).

A sentence with one row has one table, too: its label is the first of the pair, and the second one
counts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.certificate import Point
from widemargin.problems.sequence import Labelings, SequenceProblem
from widemargin.projections.chain import project_chain

Matrix = NDArray[np.float64]
Tables = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ChainTables:
    """From tables to weights and back, over all sentences of a problem.

    Attributes
    ----------
    problem : SequenceProblem
    pointers : ndarray of shape (sentences + 1,)
        Sentence i has the tables from pointers[i] to pointers[i + 1].
    """

    problem: SequenceProblem
    pointers: NDArray[np.int64]

    @classmethod
    def of(cls, problem: SequenceProblem) -> ChainTables:
        """Lay out the tables of a problem."""
        counts = np.maximum(problem.lengths - 1, 1)
        return cls(problem, np.concatenate([[0], np.cumsum(counts)]))

    @property
    def _left(self) -> NDArray[np.int64]:
        """The row of the first label of each table."""
        owner = np.repeat(np.arange(self.problem.count), np.diff(self.pointers))
        return np.arange(self.pointers[-1]) - self.pointers[owner] + self.problem.first[owner]

    @property
    def _last(self) -> NDArray[np.int64]:
        """The last table of each sentence that has two rows at least."""
        return self.pointers[1:][self.problem.lengths > 1] - 1

    def from_labelings(self, duals: Labelings) -> Tables:
        """Return the tables of shares of labelings; the right one has what they lack to one."""
        problem, k = self.problem, self.problem.classes
        tables = np.zeros((self.pointers[-1], k, k))
        place = 0
        for i in range(problem.count):
            begin, end = problem.first[i : i + 2]
            rest = 1.0
            for j in range(duals.pointers[i], duals.pointers[i + 1]):
                labels = duals.labels[place : place + end - begin]
                self._add(tables, i, labels, float(duals.share[j]))
                rest -= float(duals.share[j])
                place += end - begin
            self._add(tables, i, problem.label[begin:end], rest)
        return tables

    def _add(self, tables: Tables, i: int, labels: NDArray[np.int32], share: float) -> None:
        if labels.size == 1:
            tables[self.pointers[i], labels[0], 0] += share
            return
        at = np.arange(self.pointers[i], self.pointers[i + 1])
        tables[at, labels[:-1], labels[1:]] += share

    def nodes(self, tables: Tables) -> Matrix:
        """Return the marginals of the rows."""
        out = np.zeros((self.problem.rows.count, self.problem.classes))
        out[self._left] = tables.sum(axis=2)
        ends = self.problem.first[1:][self.problem.lengths > 1] - 1
        out[ends] = tables[self._last].sum(axis=1)
        return out

    def combine(self, tables: Tables) -> tuple[Matrix, float]:
        """Return w(μ) and Σ c_i ⟨Δ_i, ν_i⟩."""
        problem, k = self.problem, self.problem.classes
        cost = np.repeat(problem.cost, problem.lengths)
        nodes = self.nodes(tables)
        linear = float(cost @ np.einsum("ta,ta->t", nodes, problem.mistake[problem.label]))
        own = np.eye(k)[problem.label]
        change = cost[:, None] * (own - nodes)
        d = problem.rows.weights
        out = np.zeros(problem.shape)
        for a in range(k):
            out[:d, a] = problem.rows.combine(np.ascontiguousarray(change[:, a]))
        wide = np.repeat(problem.lengths > 1, np.diff(self.pointers))
        weight = np.repeat(problem.cost, np.diff(self.pointers)) * wide
        left = self._left[wide]
        right = np.zeros((k, k))
        np.add.at(right, (problem.label[left], problem.label[left + 1]), weight[wide])
        out[d : d + k, :k] = right - np.einsum("e,eab->ab", weight, tables)
        if problem.boundaries:
            out[d + k, :k] = change[problem.first[:-1]].sum(axis=0)
            out[d + k + 1, :k] = change[problem.first[1:] - 1].sum(axis=0)
        return out, linear

    def slopes(self, weights: Matrix) -> Tables:
        """Return the derivative of Σ c_i ⟨Δ_i, ν_i⟩ + ⟨w, Σ c_i f_i(μ_i)⟩ by the tables."""
        problem, k = self.problem, self.problem.classes
        d = problem.rows.weights
        nodes = np.empty((problem.rows.count, problem.stride))
        for begin, end in problem.pieces():
            problem.core.nodes(weights, begin, end, nodes)
        nodes = nodes[:, :k] + problem.mistake[problem.label]
        if problem.boundaries:
            nodes[problem.first[:-1]] += weights[d + k, :k]
            nodes[problem.first[1:] - 1] += weights[d + k + 1, :k]
        out = np.repeat(nodes[self._left][:, :, None], k, axis=2)
        wide = np.repeat(problem.lengths > 1, np.diff(self.pointers))
        out[wide] += weights[d : d + k, :k]
        out[self._last] += nodes[problem.first[1:][problem.lengths > 1] - 1][:, None, :]
        return np.asarray(out * np.repeat(problem.cost, np.diff(self.pointers))[:, None, None])

    def project(self, tables: Tables) -> Tables:
        """Project onto consistent marginals, sentence by sentence (BMRM, section E.3.1)."""
        out = np.empty_like(tables)
        for begin, end in zip(self.pointers[:-1], self.pointers[1:], strict=True):
            out[begin:end] = project_chain(tables[begin:end])
            self.problem.rows.checkpoint()
        return out

    def primal(self, weights: Matrix, slopes: Tables) -> float:
        """Return P(w), the losses by dynamic programming."""
        _, excess, _ = self.problem.best_labelings(weights)
        return 0.5 * float(np.vdot(weights, weights)) + float(self.problem.cost @ excess)

    def point(self, weights: Matrix, tables: Tables) -> Point:
        """Return weights and tables as a point."""
        return Point(weights, None, self.labelings(tables))

    def active(self, tables: Tables) -> int:
        """Return the number of sentences."""
        return self.problem.count

    def labelings(self, tables: Tables) -> Labelings:
        """Return labelings with shares that have these marginals: paths of a flow.

        A path takes its smallest entry from every table, so that there are no more paths than
        entries. Whatever the tables lack in consistency is left to the right labeling.
        """
        pointers, shares, labels = [0], list[float](), list[NDArray[np.int32]]()
        for i in range(self.problem.count):
            begin, end = self.problem.first[i : i + 2]
            right = self.problem.label[begin:end]
            for share, path in _paths(tables[self.pointers[i] : self.pointers[i + 1]].copy()):
                path = path[: end - begin]
                if not np.array_equal(path, right):
                    shares.append(share)
                    labels.append(path)
            pointers.append(len(shares))
        joined = np.concatenate(labels) if labels else np.zeros(0, np.int32)
        return Labelings(np.array(pointers, np.int64), np.array(shares), joined)


def _paths(flow: Tables) -> list[tuple[float, NDArray[np.int32]]]:
    """Return paths of labels and their shares; the flow is used up."""
    out: list[tuple[float, NDArray[np.int32]]] = []
    at = np.arange(len(flow))
    while True:
        sums = flow[0].sum(axis=1)
        path = [int(sums.argmax())]
        if not sums[path[0]] > 0.0:
            return out
        for table in flow:
            path.append(int(table[path[-1]].argmax()))
        labels = np.array(path, np.int32)
        values = flow[at, labels[:-1], labels[1:]]
        share = float(values.min())
        if share > 0.0:
            out.append((share, labels))
            flow[at, labels[:-1], labels[1:]] -= share
        else:  # rounding: what leads nowhere is left out
            dead = int(np.flatnonzero(values <= 0.0)[0])
            flow[dead - 1, labels[dead - 1], labels[dead]] = 0.0
