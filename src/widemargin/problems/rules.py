"""Which problem a multiclass rule stands for, where all classes are trained at once."""

from __future__ import annotations

from typing import Any, TypeAlias

from widemargin.data.training_set import TrainingSet
from widemargin.problems.losses import LOSSES, gives_probabilities, trains_jointly
from widemargin.problems.multiclass import RULES, MulticlassProblem, check_rule
from widemargin.problems.multinomial import MultinomialProblem
from widemargin.problems.sparse_multinomial import SparseMultinomialProblem
from widemargin.problems.sparse_weights import check_joint_penalty

MULTINOMIAL = "multinomial"

NEVER = -1000.0
"""Intercept of a class without any example in training, where intercepts are free: the optimum is
minus infinity. Its exponential is 0 in double precision, beside scores down to -250 too."""

ALL_RULES = ("ovr", *RULES, MULTINOMIAL)

JointProblem: TypeAlias = MulticlassProblem | MultinomialProblem | SparseMultinomialProblem

JOINT = (MulticlassProblem, MultinomialProblem, SparseMultinomialProblem)


def joint_kind(rule: str, l1_ratio: float = 0.0) -> type[JointProblem]:
    """Return the kind of problem that a rule other than "ovr" trains all classes by."""
    if rule == MULTINOMIAL:
        return SparseMultinomialProblem if l1_ratio else MultinomialProblem
    return MulticlassProblem


def joint_problem(data: TrainingSet, rule: str, l1_ratio: float = 0.0) -> JointProblem:
    """State the problem of all classes at once."""
    check_joint_penalty(rule, l1_ratio)
    if rule == MULTINOMIAL:
        return (
            SparseMultinomialProblem.of(data, l1_ratio) if l1_ratio else MultinomialProblem.of(data)
        )
    return MulticlassProblem.of(data, rule)


def loss_of_rule(rule: str) -> str | None:
    """Return the name of the one loss that a rule is made of; "ovr" takes all."""
    named = {MULTINOMIAL: gives_probabilities, **dict.fromkeys(RULES, trains_jointly)}
    return next((loss for loss in LOSSES if rule in named and named[rule](loss)), None)


def default_rule(loss: str) -> str:
    """Return the rule of the estimator that trains with the loss of this name."""
    return MULTINOMIAL if gives_probabilities(loss) else "ovr"


def rule_for(rule: str, classes: int) -> str:
    """Return the rule for so many classes: two are one binary problem for the logistic loss."""
    return "ovr" if rule == MULTINOMIAL and classes == 2 else rule


def check_logistic_rule(multi_class: Any) -> str:
    """Return the multiclass rule of the logistic loss, or raise an error for ``multi_class``."""
    if not isinstance(multi_class, str) or multi_class not in (MULTINOMIAL, "ovr"):
        raise ValueError(f"multi_class must be 'multinomial' or 'ovr'; got {multi_class!r}")
    return multi_class


def check_any_rule(multi_class: Any, loss: Any) -> str:
    """Return the multiclass rule for a loss given by its name, or raise an error."""
    if isinstance(multi_class, str) and multi_class == MULTINOMIAL:
        if not gives_probabilities(loss):
            raise ValueError(f"multi_class='multinomial' needs loss='logistic'; got loss={loss!r}")
        return MULTINOMIAL
    return check_rule(multi_class, loss)
