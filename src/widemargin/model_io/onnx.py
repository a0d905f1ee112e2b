"""Linear models as ONNX graphs: files of their own, and converters for skl2onnx's pipelines.

Scores are computed in float64 whatever type the rows have, so that labels are those of `predict`.
The graph of a model file has the outputs ``label``, ``scores`` and, if there are any,
``probabilities``. In a pipeline there are two, as skl2onnx has it for every classifier.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from widemargin.data.replacing import replacing
from widemargin.estimators.linear_scores import LinearScores
from widemargin.model_io.errors import ModelFormatError
from widemargin.model_io.model import LinearModel, model_of
from widemargin.model_io.score_model import Scored, ScoreModel, score_model_of

OPSET = 15
"""Of the files; the operators need 13."""


class Graph(Protocol):
    """Where nodes and constants go; both return the name of what they make."""

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator."""

    def constant(self, values: NDArray[Any]) -> str:
        """Add an array: numbers, or strings."""


def save_onnx(
    model: LinearScores | LinearModel | Scored,
    path: str | os.PathLike[str],
    *,
    dtype: Any = np.float64,
) -> None:
    """Write a model as an ONNX graph, for onnxruntime and others.

    Its input is ``X``, of shape (n, n_features). Its outputs are ``label``, of shape (n,), 64-bit
    integers or strings; ``scores`` as `decision_function` gives them, with one column for two
    classes; and ``probabilities``, if the loss is logistic or the model was calibrated. A
    regression has the one output ``predictions``, of shape (n,); an outlier detector has ``label``
    and ``scores``, both of shape (n,). Needs the package onnx: ``pip
    install 'widemargin[onnx]'``.

    Parameters
    ----------
    model : LinearModel, or a fitted linear estimator
    path : path-like
    dtype : {float64, float32}
        Type of the rows and of the scores. Computations are in float64 either way.

    Examples
    --------
    >>> import os, tempfile
    >>> import onnx
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import LogisticRegression, save_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.onnx")
    ...     save_onnx(LogisticRegression().fit(X, y), path)
    ...     graph = onnx.load(path).graph
    >>> [output.name for output in graph.output]
    ['label', 'scores', 'probabilities']
    """
    given = score_model_of(model) if isinstance(model, Scored) else model_of(model)
    from onnx import TensorProto, helper

    kinds = {np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.float32): TensorProto.FLOAT}
    if np.dtype(dtype) not in kinds:
        raise ValueError(f"dtype must be float64 or float32; got {dtype!r}")
    kind = kinds[np.dtype(dtype)]
    if isinstance(given, ScoreModel):
        _save_scores(given, path, kind)
        return
    model = given
    labels = onnx_labels(model.classes, path)
    graph = _Nodes()
    scores = scores_of(graph, graph.node("Cast", "X", to=TensorProto.DOUBLE), model)
    made = {"label": label_of(graph, scores, labels, model.coef.shape[0]), "scores": scores}
    if model.gives_probabilities:
        made["probabilities"] = probabilities_of(graph, scores, model)
    text = labels.dtype.kind == "U"
    outputs = []
    for name, value in made.items():
        if name == "label":
            graph.nodes.append(helper.make_node("Identity", [value], [name]))
            of = TensorProto.STRING if text else TensorProto.INT64
            outputs.append(helper.make_tensor_value_info(name, of, [None]))
            continue
        columns = model.coef.shape[0] if name == "scores" else model.classes.size
        graph.nodes.append(helper.make_node("Cast", [value], [name], to=kind))
        outputs.append(helper.make_tensor_value_info(name, kind, [None, columns]))
    _write(graph, outputs, model.n_features, path, kind)


def _save_scores(model: ScoreModel, path: str | os.PathLike[str], kind: int) -> None:
    """Write a graph with the output ``predictions``, or ``scores`` and ``label``."""
    from onnx import TensorProto, helper

    graph = _Nodes()
    rows = graph.node("Cast", "X", to=TensorProto.DOUBLE)
    product = graph.node("MatMul", rows, graph.constant(np.array(model.coef)))
    scores = graph.node("Add", product, graph.constant(np.array(float(model.intercept))))
    name = "predictions" if model.kind == "regression" else "scores"
    graph.nodes.append(helper.make_node("Cast", [scores], [name], to=kind))
    outputs = [helper.make_tensor_value_info(name, kind, [None])]
    if model.kind != "regression":
        inside = graph.node("Not", graph.node("Less", scores, graph.constant(np.array(0.0))))
        sides = (graph.constant(np.array(side, dtype=np.int64)) for side in (1, -1))
        label = graph.node("Where", inside, *sides)
        graph.nodes.append(helper.make_node("Identity", [label], ["label"]))
        outputs.insert(0, helper.make_tensor_value_info("label", TensorProto.INT64, [None]))
    _write(graph, outputs, model.n_features, path, kind)


def _write(
    graph: _Nodes, outputs: list[Any], features: int, path: str | os.PathLike[str], kind: int
) -> None:
    """Write a graph with the input ``X``."""
    from onnx import checker, helper

    given = helper.make_tensor_value_info("X", kind, [None, features])
    made_graph = helper.make_graph(graph.nodes, "widemargin", [given], outputs, graph.constants)
    opset = helper.make_opsetid("", OPSET)
    whole = helper.make_model(made_graph, producer_name="widemargin", opset_imports=[opset])
    whole.ir_version = 8  # the one of this opset: older runtimes read it
    checker.check_model(whole)
    with replacing(path) as file:
        file.write(whole.SerializeToString())


def onnx_labels(classes: NDArray[Any], path: Any = "ONNX") -> NDArray[Any]:
    """Return the classes as 64-bit integers or strings; ONNX has no others."""
    values = classes.tolist()
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=str)
    if all(isinstance(v, bool | int | float) and float(v).is_integer() for v in values):
        return np.array([int(value) for value in values], dtype=np.int64)
    raise ModelFormatError(path, "ONNX's labels are integers or strings")


def scores_of(graph: Graph, x: str, model: LinearModel) -> str:
    """Add w·x + b for rows in float64; return the name of the scores (n, k)."""
    product = graph.node("MatMul", x, graph.constant(np.ascontiguousarray(model.coef.T)))
    return graph.node("Add", product, graph.constant(model.intercept))


def label_of(graph: Graph, scores: str, labels: NDArray[Any], lines: int) -> str:
    """Add the class of the highest score; of one line of scores, zero means the first of two."""
    if lines == 1:
        above = graph.node("Greater", _first(graph, scores), graph.constant(np.zeros(())))
        place = graph.node("Cast", above, to=7)  # to int64
    else:
        place = graph.node("ArgMax", scores, axis=1, keepdims=0)
    return graph.node("Gather", graph.constant(labels), place)


def probabilities_of(graph: Graph, scores: str, model: LinearModel) -> str:
    """Add the probabilities (n, classes)."""
    if model.calibration is None:
        if model.coef.shape[0] == 1:
            both = graph.node("Concat", graph.node("Neg", scores), scores, axis=1)
            return graph.node("Sigmoid", both)
        joint = model.multi_class != "ovr"
        return graph.node("Softmax", scores if joint else _log_sigmoid(graph, scores), axis=1)
    if model.calibration.method == "sigmoid":
        A, B = (graph.constant(row.copy()) for row in model.calibration.values)
        z = graph.node("Neg", graph.node("Add", graph.node("Mul", scores, A), B))
        if model.coef.shape[0] == 1:
            return graph.node("Sigmoid", graph.node("Concat", graph.node("Neg", z), z, axis=1))
        return graph.node("Softmax", _log_sigmoid(graph, z), axis=1)
    tables = model.calibration.tables()
    each = [_interpolated(graph, scores, place, *table) for place, table in enumerate(tables)]
    if len(each) == 1:
        rest = graph.node("Sub", graph.constant(np.ones(())), each[0])
        return graph.node("Concat", rest, each[0], axis=1)
    joined = graph.node("Concat", *each, axis=1)
    total = graph.node("ReduceSum", joined, graph.constant(np.array([1])), keepdims=1)
    some = graph.node("Greater", total, graph.constant(np.zeros(())))
    safe = graph.node("Where", some, total, graph.constant(np.ones(())))
    even = graph.constant(np.full(len(each), 1.0 / len(each)))
    return graph.node("Where", some, graph.node("Div", joined, safe), even)


def _log_sigmoid(graph: Graph, scores: str) -> str:
    """Add log 1/(1 + exp(−s)) = min(s, 0) − log(1 + exp(−|s|)), which never overflows."""
    one, zero = graph.constant(np.ones(())), graph.constant(np.zeros(()))
    small = graph.node("Exp", graph.node("Neg", graph.node("Abs", scores)))
    rest = graph.node("Log", graph.node("Add", small, one))
    return graph.node("Sub", graph.node("Min", scores, zero), rest)


def _first(graph: Graph, scores: str) -> str:
    """Add the first column as a vector."""
    return graph.node("Gather", scores, graph.constant(np.array(0)), axis=1)


def _interpolated(graph: Graph, scores: str, place: int, x: Any, y: Any) -> str:
    """Add a column of the function that is linear between points and constant beyond them."""
    s = graph.node("Gather", scores, graph.constant(np.array([place])), axis=1)
    if x.size == 1:
        zero = graph.node("Mul", s, graph.constant(np.zeros(())))
        return graph.node("Add", zero, graph.constant(np.array(y[0])))
    # 1) the interval: how many inner points are at or below the score
    below = graph.node("GreaterOrEqual", s, graph.constant(x[1:-1][None, :].copy()))
    axes = graph.constant(np.array([1]))
    low = graph.node("ReduceSum", graph.node("Cast", below, to=7), axes, keepdims=1)
    # 2) the place within it, cut at the ends
    at = [graph.node("Gather", graph.constant(part.copy()), low) for part in (x, np.diff(x))]
    share = graph.node("Div", graph.node("Sub", s, at[0]), at[1])
    ends = graph.constant(np.zeros(())), graph.constant(np.ones(()))
    share = graph.node("Clip", share, *ends)
    # 3) the value
    value = [graph.node("Gather", graph.constant(part.copy()), low) for part in (y, np.diff(y))]
    return graph.node("Add", value[0], graph.node("Mul", share, value[1]))


@dataclass(eq=False)
class _Nodes:
    """A graph of onnx's own."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, values: NDArray[Any]) -> str:
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        array = values.astype(object) if values.dtype.kind == "U" else np.ascontiguousarray(values)
        self.constants.append(numpy_helper.from_array(array.reshape(values.shape), name))
        return name


def register_onnx_converters() -> None:
    """Teach skl2onnx the linear estimators of this package, alone and in pipelines.

    Afterwards ``skl2onnx.to_onnx(pipeline, X[:1])`` works as for scikit-learn's own. The second
    output has probabilities, or scores for the estimators without them: for two classes −s and s,
    as skl2onnx has it. ``options={"raw_scores": True}`` asks for scores in any case.

    Examples
    --------
    >>> import skl2onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import LogisticRegression, register_onnx_converters
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    >>> register_onnx_converters()
    >>> model = skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False})
    >>> [output.name for output in model.graph.output]
    ['label', 'probabilities']
    """
    from widemargin.model_io._skl2onnx import register

    register(_estimators())


def _estimators() -> Iterable[type]:
    import widemargin

    names = ("LinearSVC", "LogisticRegression", "RobustSVC")
    for name in names:
        yield getattr(widemargin, name)
        yield getattr(widemargin, f"{name}CV")
