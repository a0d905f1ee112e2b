"""Models for `StructuredSVC`: multiclass, ordinal, taxonomy, multilabel and chain outputs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class MulticlassModel:
    """One weight vector for each class; the loss of a mistake is 1, or given by a matrix.

    With the default costs this is Crammer and Singer's multiclass machine.

    Parameters
    ----------
    classes : int
        Outputs are the numbers 0 ... classes − 1.
    cost : array-like of shape (classes, classes), optional
    """

    exact = True

    def __init__(self, classes: int, cost: Any = None) -> None:
        self.classes = classes
        self.cost = 1.0 - np.eye(classes) if cost is None else np.asarray(cost, dtype=np.float64)

    def outputs(self, x: Any) -> range:
        """Return all classes."""
        return range(self.classes)

    def features(self, x: Any, y: Any) -> Vector:
        """Return x at the place of class y."""
        out = np.zeros((self.classes, len(x)))
        out[y] = x
        return out.ravel()

    def loss(self, y: Any, other: Any) -> float:
        """Return the cost of the mistake."""
        return float(self.cost[y, other])

    def oracle(self, x: Any, y: Any, w: Vector) -> int:
        """Look at every class."""
        scores = w.reshape(self.classes, -1) @ np.asarray(x, dtype=np.float64)
        return int(np.argmax(scores if y is None else scores + self.cost[y]))


class OrdinalModel(MulticlassModel):
    """Ordered classes: a mistake costs as many ranks as it is away."""

    def __init__(self, classes: int) -> None:
        ranks = np.arange(classes, dtype=np.float64)
        super().__init__(classes, np.abs(ranks[:, None] - ranks))


class TaxonomyModel(MulticlassModel):
    """Classes are leaves of a tree; a mistake costs the steps up to the common ancestor.

    The weights of a class are the sum of those of the nodes on its way to the root.

    Parameters
    ----------
    parents : sequence of int
        The parent of each node, −1 for the root.
    leaves : sequence of int
        The node of each class.
    """

    def __init__(self, parents: Any, leaves: Any) -> None:
        self.parents, self.leaves = list(parents), list(leaves)
        ways = [self._way(leaf) for leaf in self.leaves]
        cost = [[float(len([n for n in a if n not in b])) for b in ways] for a in ways]
        super().__init__(len(self.leaves), cost)
        self.paths = np.zeros((len(ways), len(self.parents)))
        for place, way in enumerate(ways):
            self.paths[place, way] = 1.0

    def _way(self, node: int) -> list[int]:
        way = [node]
        while self.parents[way[-1]] >= 0:
            way.append(self.parents[way[-1]])
            if len(way) > len(self.parents):
                raise ValueError("the parents go round in a circle")
        return way

    def features(self, x: Any, y: Any) -> Vector:
        """Return x at the place of every node on the way from class y to the root."""
        return np.outer(self.paths[y], x).ravel()

    def oracle(self, x: Any, y: Any, w: Vector) -> int:
        """Look at every class."""
        scores = self.paths @ (w.reshape(len(self.parents), -1) @ np.asarray(x, dtype=np.float64))
        return int(np.argmax(scores if y is None else scores + self.cost[y]))


class MultilabelModel:
    """Outputs are tuples of zeros and ones; every wrong one costs 1.

    Parameters
    ----------
    labels : int
    pairs : bool, default=False
        Whether pairs of labels that are both set have weights. The oracle then tries all 2^labels
        outputs, for at most 16 labels. So does ``solver="pragam"``, with and without pairs.
    """

    exact = True

    def __init__(self, labels: int, pairs: bool = False) -> None:
        self.labels, self.pairs = labels, pairs
        self.upper = np.triu_indices(labels, 1)
        self.all = np.array(self.outputs(None)) if pairs else None

    def outputs(self, x: Any) -> list[tuple[int, ...]]:
        """Return all combinations of labels."""
        if self.labels > 16:
            raise ValueError("all outputs are tried, for 16 labels at most")
        return list(product((0, 1), repeat=self.labels))

    def features(self, x: Any, y: Any) -> Vector:
        """Return x at the place of every label that is set, and the pairs that are."""
        y = np.asarray(y, dtype=np.float64)
        own = np.outer(y, x).ravel()
        return np.append(own, np.outer(y, y)[self.upper]) if self.pairs else own

    def loss(self, y: Any, other: Any) -> float:
        """Count the labels that differ."""
        return float(np.sum(np.asarray(y) != np.asarray(other)))

    def oracle(self, x: Any, y: Any, w: Vector) -> tuple[int, ...]:
        """Decide label by label, or try all outputs."""
        x = np.asarray(x, dtype=np.float64)
        own = w[: self.labels * x.size].reshape(self.labels, -1) @ x
        if y is not None:
            own = own + 1.0 - 2.0 * np.asarray(y)
        if self.all is None:
            return tuple(int(score > 0.0) for score in own)
        scores = self.all @ own
        for (a, b), weight in zip(np.transpose(self.upper), w[self.labels * x.size :], strict=True):
            scores = scores + weight * self.all[:, a] * self.all[:, b]
        return tuple(int(label) for label in self.all[int(np.argmax(scores))])


class ChainModel:
    """Outputs are tuples of labels, one for each row of x, as in `SequenceSVC` without boundaries.

    Parameters
    ----------
    classes : int
    """

    exact = True

    def __init__(self, classes: int) -> None:
        self.classes = classes

    def features(self, x: Any, y: Any) -> Vector:
        """Return the summed rows at their labels, and the counts of transitions."""
        x, k = np.asarray(x, dtype=np.float64), self.classes
        nodes, edges = np.zeros((k, x.shape[1])), np.zeros((k, k))
        np.add.at(nodes, list(y), x)
        np.add.at(edges, (list(y[:-1]), list(y[1:])), 1.0)
        return np.append(nodes.ravel(), edges.ravel())

    def loss(self, y: Any, other: Any) -> float:
        """Count the rows whose labels differ."""
        return float(np.sum(np.asarray(y) != np.asarray(other)))

    def oracle(self, x: Any, y: Any, w: Vector) -> tuple[int, ...]:
        """Find the best labeling by dynamic programming."""
        x, k = np.asarray(x, dtype=np.float64), self.classes
        nodes = x @ w[: k * x.shape[1]].reshape(k, -1).T
        edges = w[k * x.shape[1] :].reshape(k, k)
        if y is not None:
            nodes = nodes + (np.arange(k) != np.asarray(y)[:, None])
        best, back = nodes[0], []
        for node in nodes[1:]:
            scores = best[:, None] + edges
            back.append(scores.argmax(axis=0))
            best = scores.max(axis=0) + node
        out = [int(best.argmax())]
        for choice in reversed(back):
            out.append(int(choice[out[-1]]))
        return tuple(reversed(out))
