"""The problems of a path: of classifiers, one per class or one for all, or of a regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from widemargin.data.target_set import TargetSet
from widemargin.data.training_set import TrainingSet
from widemargin.data.validation import (
    check_intercept,
    check_not_negative,
    check_number,
    check_positive,
)
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOSSES
from widemargin.problems.regression import RegressionProblem
from widemargin.problems.rules import check_any_rule, joint_problem, rule_for
from widemargin.problems.sparse_weights import SparseProblem
from widemargin.problems.tube_loss import SQUARED


@dataclass(frozen=True)
class Asked:
    """What a path is asked for, but for its values of C; names as in `path`."""

    loss: str
    epsilon: float
    l1_ratio: float
    multi_class: str
    fit_intercept: bool | str
    intercept_scaling: float
    class_weight: Any
    sample_weight: Any

    @property
    def regression(self) -> bool:
        """Whether the loss is one of numbers."""
        return self.loss in SQUARED

    def stated(self, X: Any, y: Any) -> tuple[list[Any], Any, float, float | None]:
        """Return what `problems` does, and what was subtracted from the targets of a regression."""
        if y is None:
            raise ValueError("a path over examples needs their labels y")
        found = self.problems(X, y)
        return *found, found[0][0].origin if self.regression else None

    def problems(self, X: Any, y: Any) -> tuple[list[Any], Any, float]:
        """Return the problems at C = 1, the classes if any, and the constant feature's value."""
        if not self.regression and self.loss not in LOSSES:
            names = ", ".join(map(repr, [*LOSSES, *SQUARED]))
            raise ValueError(f"loss must be one of {names}; got {self.loss!r}")
        check_not_negative("epsilon", self.epsilon)
        check_number("l1_ratio", self.l1_ratio, lambda v: 0.0 <= v <= 1.0, "between 0 and 1")
        check_intercept(self.fit_intercept)
        check_positive("intercept_scaling", self.intercept_scaling)
        return self._of_numbers(X, y) if self.regression else self._of_classes(X, y)

    def _of_classes(self, X: Any, y: Any) -> tuple[list[Any], Any, float]:
        if self.epsilon:
            raise ValueError(f"epsilon is for regression, which loss={self.loss!r} is not")
        check_any_rule(self.multi_class, self.loss)
        data = TrainingSet.of(
            X,
            y,
            self.sample_weight,
            class_weight=self.class_weight,
            fit_intercept=self.fit_intercept,
            intercept_scaling=float(self.intercept_scaling),
        )
        rule, loss = rule_for(self.multi_class, data.classes.size), LOSSES[self.loss]
        if rule != "ovr":
            return [joint_problem(data, rule, self.l1_ratio)], data.classes, data.scaling
        if self.l1_ratio:
            sparse = [SparseProblem.of(data, p, loss, self.l1_ratio) for p in data.positives]
            return sparse, data.classes, data.scaling
        binary = [BinaryProblem.of(data, p, loss) for p in data.positives]
        return binary, data.classes, data.scaling

    def _of_numbers(self, X: Any, y: Any) -> tuple[list[Any], Any, float]:
        if self.class_weight is not None or self.multi_class != "ovr":
            raise ValueError("class_weight and multi_class have no meaning for a regression")
        if self.l1_ratio:
            raise ValueError("the 1-norm is not supported for regression: leave out l1_ratio")
        data = TargetSet.of(
            X,
            y,
            self.sample_weight,
            fit_intercept=self.fit_intercept,
            intercept_scaling=float(self.intercept_scaling),
        )
        problem = RegressionProblem.of(data, self.loss, float(self.epsilon))
        return [problem], None, data.scaling
