"""A fit on the command line: its progress, and what is said about its certificate."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from widemargin.cli.inputs import naming
from widemargin.cli.output import Output
from widemargin.cli.progress import following

if TYPE_CHECKING:
    from widemargin.problems.certificate import Certificate


def timed(
    output: Output,
    options: argparse.Namespace,
    estimator: Any,
    fit: Callable[[], object],
    titled: Callable[[str], str] = str,
) -> float:
    """Train and show the progress; return the seconds spent. `titled` changes titles of runs."""
    began = time.perf_counter()
    with following(output, options.tol, titled) as callback, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report says whether it converged
        estimator.callback = callback
        try:
            with naming(options.data):
                fit()
        except KeyboardInterrupt:
            if not hasattr(estimator, "status_"):  # there is nothing to write
                raise
    estimator.callback = None
    return time.perf_counter() - began


def certificate_rows(
    certificate: Certificate, tol: float, worst: Certificate | None = None
) -> list[tuple[str, str]]:
    """Return the lines of a report on a certificate; the gap is that of the `worst` problem."""
    gap = (worst or certificate).relative_gap
    return [
        ("primal", f"{certificate.primal:.10g}"),
        ("dual", f"{certificate.dual:.10g}"),
        ("relative gap", f"{gap:.2e} (tol {tol:g})"),
    ]


def note_shortfall(output: Output, status: str, gap: float, tol: float) -> None:
    """Say so if a fit has not reached its tolerance."""
    if status != "converged":
        reason = status.replace("_", " ")
        output.note(f"the tolerance was not reached ({reason}): gap {gap:.1e}, tol {tol:g}")
