"""``widemargin bench``: methods and rivals on the same problems, as CSV and figures."""

from __future__ import annotations

import argparse
import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from widemargin.cli.inputs import positive_integer, positive_number
from widemargin.cli.output import Output, add_output_arguments

if TYPE_CHECKING:
    from widemargin.laboratory.compare import Comparison, Teller

_PROBLEMS = ("hinge", "squared_hinge", "logistic", "crammer_singer", "weston_watkins")


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "bench",
        help="compare methods and rivals",
        description="Run methods and rivals on data sets, taking turns, and write their curves.",
    )
    parser.add_argument("--problem", choices=_PROBLEMS, default="hinge", help="(%(default)s)")
    parser.add_argument(
        "--data",
        required=True,
        help="files, or names of sets in the data folder, separated by commas",
    )
    parser.add_argument(
        "--methods",
        default="auto",
        help="names as solver= takes them, or rivals that are installed (liblinear, "
        "scikit_learn), separated by commas (%(default)s)",
    )
    parser.add_argument(
        "--until", type=positive_number, default=1e-6, help="relative gap to reach (%(default)s)"
    )
    parser.add_argument("-C", type=positive_number, default=1.0, help="cost of the losses (1)")
    parser.add_argument(
        "--intercept",
        choices=("none", "exact", "penalised"),
        default="none",
        help="(%(default)s)",
    )
    parser.add_argument("--kernel", choices=("rbf", "poly", "linear"), help="a kernel problem")
    parser.add_argument("--gamma", type=positive_number, help="of the kernel")
    parser.add_argument(
        "--rounds", type=positive_integer, default=1, help="repetitions (%(default)s)"
    )
    parser.add_argument(
        "--time-limit",
        type=positive_number,
        default=60.0,
        metavar="SECONDS",
        help="for each run (%(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    parser.add_argument(
        "--data-folder", metavar="FOLDER", help="where sets are looked for ($WIDEMARGIN_DATA)"
    )
    parser.add_argument(
        "--output",
        default="bench",
        metavar="FOLDER",
        help="where bench.csv and the figures go (%(default)s)",
    )
    parser.add_argument("--no-figures", action="store_true", help="write the CSV file only")
    add_output_arguments(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare, write, report."""
    from widemargin.laboratory import compare

    output = Output(options)
    folder = Path(options.output)
    methods = [name for name in options.methods.split(",") if name]
    data = [name for name in options.data.split(",") if name]
    with _making(folder):
        with _display(output, options.until, len(data) * len(methods) * options.rounds) as tell:
            result = compare(
                options.problem,
                data,
                methods,
                until=options.until,
                C=options.C,
                intercept=options.intercept,
                kernel=options.kernel,
                gamma=options.gamma,
                rounds=options.rounds,
                time_limit=options.time_limit,
                folder=options.data_folder,
                seed=options.seed,
                tell=tell,
            )
        for (name, method), reason in result.failures.items():
            output.note(f"{name}, {method}: {reason}")
        if not result.measurements:
            if result.interrupted:
                raise KeyboardInterrupt
            raise ValueError("no method ran on any data: there is nothing to compare")
    if result.interrupted:
        output.note("interrupted: the last run is kept as far as it came, later ones are missing")
    result.write_csv(folder / "bench.csv")
    written = [folder / "bench.csv"]
    if not options.no_figures:
        try:
            written += result.write_figures(folder)
        except ImportError:
            output.note("no figures: matplotlib is not installed")
    rows = [_row(result, name, method) for name in result.data for method in result.methods(name)]
    output.table(
        ("data", "method", f"seconds to {options.until:g}", "seconds", "passes", "gap", "P − P*"),
        rows,
        text_columns=2,
    )
    output.text("written: " + ", ".join(str(path) for path in written))
    output.result(
        {
            "command": "bench",
            "problem": options.problem,
            "until": options.until,
            "interrupted": result.interrupted,
            "written": [str(path) for path in written],
            "failures": {f"{n}, {m}": text for (n, m), text in result.failures.items()},
            "runs": [_summary(result, n, m) for n in result.data for m in result.methods(n)],
        }
    )
    return 1 if result.interrupted else 0


def _summary(result: Comparison, name: str, method: str) -> dict[str, Any]:
    last = result.curve(name, method)[-1]
    return {
        "data": name,
        "method": method,
        "seconds_to_tolerance": result.seconds_to(name, method),
        "seconds": last.seconds,
        "passes": last.passes,
        "gap": last.gap,
        "suboptimality": last.suboptimality,
        "accuracy": last.accuracy,
    }


def _row(result: Comparison, name: str, method: str) -> list[str]:
    summary = _summary(result, name, method)

    def number(value: float, form: str) -> str:
        return format(value, form) if math.isfinite(value) else "-"

    return [
        name,
        method,
        number(summary["seconds_to_tolerance"], ".3g"),
        number(summary["seconds"], ".3g"),
        number(summary["passes"], ".3g"),
        number(summary["gap"], ".1e"),
        number(summary["suboptimality"], ".1e"),
    ]


@contextlib.contextmanager
def _making(folder: Path) -> Iterator[None]:
    """Make the folder before the work, lest it be for nothing; if that fails, leave no trace."""
    there = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if not there:
            folder.rmdir()
        raise


@contextlib.contextmanager
def _display(output: Output, until: float, runs: int) -> Iterator[Teller | None]:
    """Show which run is under way and how far its gap has fallen."""
    if not output.shows_progress:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    ) as progress:
        bar = progress.add_task("starting", total=runs)
        begun = 0

        def tell(data: str, method: str, round: int, record: Any) -> None:
            nonlocal begun
            if record is None:
                progress.update(bar, completed=begun, description=f"{data}: {method}")
                begun += 1
            else:
                gap = f"gap {record.relative_gap:.1e} -> {until:.0e}"
                progress.update(bar, description=f"{data}: {method}, {gap}")

        yield tell
        progress.update(bar, completed=runs)
