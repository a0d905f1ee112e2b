"""widemargin: large-margin linear classifiers, trained fast and returned with a certificate.

Names are imported when first used, so that ``import widemargin`` and the command are quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from widemargin.data.conll import load_conll as load_conll
    from widemargin.data.conll import load_letters as load_letters
    from widemargin.data.disk_data import DiskData as DiskData
    from widemargin.data.errors import DataFormatError as DataFormatError
    from widemargin.data.spans import span_f1 as span_f1
    from widemargin.data.svmlight import dump_svmlight as dump_svmlight
    from widemargin.data.svmlight import load_svmlight as load_svmlight
    from widemargin.estimators.kernel_svc import KernelSVC as KernelSVC
    from widemargin.estimators.linear_one_class_svm import LinearOneClassSVM as LinearOneClassSVM
    from widemargin.estimators.linear_svc import LinearSVC as LinearSVC
    from widemargin.estimators.linear_svc_cv import LinearSVCCV as LinearSVCCV
    from widemargin.estimators.linear_svr import LinearSVR as LinearSVR
    from widemargin.estimators.linear_svr_cv import LinearSVRCV as LinearSVRCV
    from widemargin.estimators.logistic_regression import LogisticRegression as LogisticRegression
    from widemargin.estimators.logistic_regression_cv import (
        LogisticRegressionCV as LogisticRegressionCV,
    )
    from widemargin.estimators.robust_svc import RobustSVC as RobustSVC
    from widemargin.estimators.robust_svc_cv import RobustSVCCV as RobustSVCCV
    from widemargin.estimators.scikit_learn_arguments import (
        IgnoredArgumentWarning as IgnoredArgumentWarning,
    )
    from widemargin.estimators.sequence_crf import SequenceCRF as SequenceCRF
    from widemargin.estimators.sequence_svc import SequenceSVC as SequenceSVC
    from widemargin.estimators.sequence_svc_cv import SequenceSVCCV as SequenceSVCCV
    from widemargin.estimators.structured_svc import StructuredSVC as StructuredSVC
    from widemargin.estimators.worst_case import WorstCase as WorstCase
    from widemargin.estimators.worst_case import worst_case as worst_case
    from widemargin.exact.verdict import ExactCertificate as ExactCertificate
    from widemargin.exact.verdict import ExactReport as ExactReport
    from widemargin.exact.verify import verify_exactly as verify_exactly
    from widemargin.instruction_sets import available_instruction_sets as available_instruction_sets
    from widemargin.instruction_sets import instruction_set_in_use as instruction_set_in_use
    from widemargin.model_io.errors import ModelFormatError as ModelFormatError
    from widemargin.model_io.liblinear import load_liblinear as load_liblinear
    from widemargin.model_io.liblinear import save_liblinear as save_liblinear
    from widemargin.model_io.model import LinearModel as LinearModel
    from widemargin.model_io.model import model_of as model_of
    from widemargin.model_io.onnx import register_onnx_converters as register_onnx_converters
    from widemargin.model_io.onnx import save_onnx as save_onnx
    from widemargin.model_io.own import load_model as load_model
    from widemargin.model_io.own import save_model as save_model
    from widemargin.model_io.score_model import ScoreModel as ScoreModel
    from widemargin.model_io.score_model import score_model_of as score_model_of
    from widemargin.model_io.sequence_model import SequenceModel as SequenceModel
    from widemargin.model_io.sequence_model import sequence_model_of as sequence_model_of
    from widemargin.problems.certificate import Certificate as Certificate
    from widemargin.report.make import Report as Report
    from widemargin.report.make import report as report
    from widemargin.selection.path import Path as Path
    from widemargin.selection.path import path as path
    from widemargin.selection.path import smallest_C as smallest_C

__version__ = "0.2.0"

_HOMES = {
    "LinearSVC": "estimators.linear_svc",
    "LogisticRegression": "estimators.logistic_regression",
    "LinearSVR": "estimators.linear_svr",
    "LinearSVRCV": "estimators.linear_svr_cv",
    "LinearOneClassSVM": "estimators.linear_one_class_svm",
    "KernelSVC": "estimators.kernel_svc",
    "RobustSVC": "estimators.robust_svc",
    "RobustSVCCV": "estimators.robust_svc_cv",
    "worst_case": "estimators.worst_case",
    "WorstCase": "estimators.worst_case",
    "LinearSVCCV": "estimators.linear_svc_cv",
    "LogisticRegressionCV": "estimators.logistic_regression_cv",
    "SequenceSVC": "estimators.sequence_svc",
    "SequenceCRF": "estimators.sequence_crf",
    "SequenceSVCCV": "estimators.sequence_svc_cv",
    "StructuredSVC": "estimators.structured_svc",
    "load_conll": "data.conll",
    "load_letters": "data.conll",
    "span_f1": "data.spans",
    "path": "selection.path",
    "Path": "selection.path",
    "smallest_C": "selection.path",
    "report": "report.make",
    "Report": "report.make",
    "Certificate": "problems.certificate",
    "verify_exactly": "exact.verify",
    "ExactReport": "exact.verdict",
    "ExactCertificate": "exact.verdict",
    "IgnoredArgumentWarning": "estimators.scikit_learn_arguments",
    "DiskData": "data.disk_data",
    "load_svmlight": "data.svmlight",
    "dump_svmlight": "data.svmlight",
    "DataFormatError": "data.errors",
    "LinearModel": "model_io.model",
    "model_of": "model_io.model",
    "ScoreModel": "model_io.score_model",
    "score_model_of": "model_io.score_model",
    "save_model": "model_io.own",
    "load_model": "model_io.own",
    "SequenceModel": "model_io.sequence_model",
    "sequence_model_of": "model_io.sequence_model",
    "save_liblinear": "model_io.liblinear",
    "save_onnx": "model_io.onnx",
    "register_onnx_converters": "model_io.onnx",
    "load_liblinear": "model_io.liblinear",
    "ModelFormatError": "model_io.errors",
    "available_instruction_sets": "instruction_sets",
    "instruction_set_in_use": "instruction_sets",
}
"""The public names, in reading order, and the module each lives in."""

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"widemargin.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'widemargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES} - {"Any", "TYPE_CHECKING", "import_module"})
