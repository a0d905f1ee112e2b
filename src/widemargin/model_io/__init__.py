"""Models as files: the package's own safe format, LIBLINEAR's text, and ONNX."""

from widemargin.model_io.errors import ModelFormatError
from widemargin.model_io.liblinear import load_liblinear, save_liblinear
from widemargin.model_io.model import LinearModel, model_of
from widemargin.model_io.onnx import register_onnx_converters, save_onnx
from widemargin.model_io.own import load_model, save_model
from widemargin.model_io.score_model import ScoreModel, score_model_of
from widemargin.model_io.sequence_model import SequenceModel, sequence_model_of

__all__ = [
    "LinearModel",
    "ModelFormatError",
    "ScoreModel",
    "SequenceModel",
    "load_liblinear",
    "load_model",
    "model_of",
    "register_onnx_converters",
    "save_liblinear",
    "save_model",
    "save_onnx",
    "score_model_of",
    "sequence_model_of",
]
