"""The converters that skl2onnx calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skl2onnx import update_registered_converter
from skl2onnx._parse import _parse_sklearn_classifier, parse_sklearn
from skl2onnx.common.data_types import Int64TensorType, StringTensorType, guess_proto_type

from widemargin.model_io.model import linear_part
from widemargin.model_io.onnx import label_of, onnx_labels, probabilities_of, scores_of

_DOUBLE, _STRING = 11, 8
"""Numbers of types in ONNX."""

_OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": [False],  # classes are part of the graph; skl2onnx asks for this with zipmap
    "output_class_labels": [False, True],
    "raw_scores": [False, True],
}


def register(estimators: Iterable[type]) -> None:
    """Register classes of estimators."""
    for estimator in estimators:
        update_registered_converter(
            estimator,
            f"Widemargin{estimator.__name__}",
            _shapes,
            _convert,
            parser=_parse,
            options=_OPTIONS,
        )


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the outputs; a search's transformer comes before its weights."""
    if hasattr(model, "transformer_"):
        inputs = parse_sklearn(scope, model.transformer_, inputs, custom_parsers=custom_parsers)
        for variable in inputs:
            variable.init_status(is_leaf=False)  # no output of the whole graph
    return _parse_sklearn_classifier(scope, model, inputs, custom_parsers=custom_parsers)


def _shapes(operator: Any) -> None:
    labels = onnx_labels(operator.raw_operator.classes_)
    count = operator.inputs[0].get_first_dimension()
    kind = StringTensorType if labels.dtype.kind == "U" else Int64TensorType
    operator.outputs[0].set_type(kind(shape=[count]))
    operator.outputs[1].type.shape = [count, labels.size]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    estimator = operator.raw_operator
    model, graph = linear_part(estimator), _Container(scope, container)
    given = [variable.full_name for variable in operator.inputs]
    rows = [graph.node("Cast", name, to=_DOUBLE) for name in given]
    x = rows[0] if len(rows) == 1 else graph.node("Concat", *rows, axis=1)
    scores = scores_of(graph, x, model)
    label, second = (variable.full_name for variable in operator.outputs)
    found = label_of(graph, scores, onnx_labels(model.classes), model.coef.shape[0])
    container.add_node("Identity", [found], [label], name=scope.get_unique_operator_name("label"))
    raw = container.get_options(estimator, {"raw_scores": False})["raw_scores"]
    if model.gives_probabilities and not raw:
        scores = probabilities_of(graph, scores, model)
    elif model.coef.shape[0] == 1:
        scores = graph.node("Concat", graph.node("Neg", scores), scores, axis=1)
    kind = guess_proto_type(operator.outputs[1].type)
    name = scope.get_unique_operator_name("second")
    container.add_node("Cast", [scores], [second], name=name, to=kind)


@dataclass(eq=False)
class _Container:
    """A graph of skl2onnx's."""

    scope: Any
    container: Any

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = str(self.scope.get_unique_variable_name(kind))
        operator = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, list(inputs), [name], name=operator, **attributes)
        return name

    def constant(self, values: NDArray[Any]) -> str:
        name = str(self.scope.get_unique_variable_name("constant"))
        if values.dtype.kind == "U":
            kind, content = _STRING, [text.encode() for text in values.ravel().tolist()]
        else:
            kind, content = (7 if values.dtype == np.int64 else _DOUBLE), values.ravel().tolist()
        self.container.add_initializer(name, kind, list(values.shape), content)
        return name
