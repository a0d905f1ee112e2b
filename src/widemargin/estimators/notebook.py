"""What a notebook shows of a fitted classifier: its certificate, above scikit-learn's diagram."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from widemargin.problems.certificate import Certificate, percentage

if TYPE_CHECKING:
    from widemargin.estimators.certified import CertifiedClassifier


def with_certificate(estimator: CertifiedClassifier, diagram: str) -> str:
    """Return the diagram, with the certificate above it if there is one."""
    if not hasattr(estimator, "primal_"):
        return diagram
    bounds = zip(estimator.primal_, estimator.dual_, strict=True)
    certificate = Certificate.of_sum([Certificate(float(p), float(d)) for p, d in bounds])
    if not certificate.relative_gap >= 0.0:  # a model from a file without dual values
        return diagram
    short = [s for s in estimator.status_ if s not in ("converged", "loaded")]
    sign, colour = ("!", "#b26a00") if short else ("✓", "#0f8a5f")
    within = percentage(min(certificate.relative_gap, 1.0))
    words = "tolerance not reached" if short else "certified"
    box = (
        f'<div style="display:inline-block;border:1px solid {colour};border-left-width:5px;'
        'border-radius:5px;padding:5px 10px;margin:4px 0;font-family:sans-serif;font-size:13px">'
        f'<b style="color:{colour}">{sign} {words}: within {within} % of the optimum</b><br>'
        f"primal {certificate.primal:.8g}, dual {certificate.dual:.8g}, relative gap "
        f"{certificate.relative_gap:.1e}, tol {estimator.tol:g}<br>"
        f"solver: {escape(_shortened(estimator.solver_))}</div>"
    )
    return f"{box}{diagram}"


def _shortened(text: str, most: int = 240) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
