"""``widemargin bench``: benchmark methods and other libraries on the same problems."""

from __future__ import annotations

import argparse
import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from widemargin.cli.options import COUNT, NUMBER, SECONDS, add_output_options, adder
from widemargin.cli.output import Output

if TYPE_CHECKING:
    from widemargin.benchmark.compare import Comparison, Teller

_PROBLEMS = ("hinge", "squared_hinge", "logistic", "crammer_singer", "weston_watkins", "robust")


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "bench",
        help="benchmark methods and other libraries",
        description="Run methods and other libraries on data sets, interleaved, and write how "
        "their gaps fall over time as CSV and figures.",
    )
    add = adder(parser)
    add("--problem", "hinge", "loss, multiclass rule, or robust", choices=_PROBLEMS)
    files = "comma-separated files, or names of sets in the data folder"
    parser.add_argument("--data", required=True, help=files)
    names = "comma-separated names of solvers, or of installed libraries: liblinear, scikit_learn"
    add("--methods", "auto", names)
    add("--until", 1e-6, "relative gap to reach", **NUMBER)
    add("-C", 1.0, "weight of the losses in the objective", **NUMBER)
    add("--intercept", "none", "kind of intercept", choices=("none", "exact", "penalised"))
    add("--kernel", None, "use a kernel", choices=("rbf", "poly", "linear"))
    add("--gamma", None, "coefficient of the kernel", **NUMBER)
    add("--radius", None, "robust: how far the data may move (default: 0.1)", type=float)
    add("--label-cost", None, "robust: cost of flipping a label (default: inf)", type=float)
    add("--norm", None, "robust: norm of the weights, 1, 2 or inf (default: 2)", type=float)
    add("--rounds", 1, "repetitions", **COUNT)
    add("--time-limit", 60.0, "time limit per run", **SECONDS)
    add("--seed", 0, "seed of the solvers", type=int)
    add("--data-folder", None, "folder of the sets (default: $WIDEMARGIN_DATA)", metavar="FOLDER")
    add("--output", "bench", "folder for bench.csv and the figures", metavar="FOLDER")
    parser.add_argument("--no-figures", action="store_true", help="write only the CSV file")
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare, write, report."""
    output = Output(options)
    folder = Path(options.output)
    with _making(folder):
        result = _compare(output, options)
        if not result.measurements:
            if result.interrupted:
                raise KeyboardInterrupt
            raise ValueError("no method ran on any data: there is nothing to compare")
    if result.interrupted:
        output.note("interrupted: the last run is incomplete, later ones are missing")
    _report(output, options, result, _write(output, options, result, folder))
    return 1 if result.interrupted else 0


def _compare(output: Output, options: argparse.Namespace) -> Comparison:
    from widemargin.benchmark import compare

    methods = [name for name in options.methods.split(",") if name]
    data = [name for name in options.data.split(",") if name]
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
            radius=options.radius,
            label_cost=options.label_cost,
            norm=options.norm,
            rounds=options.rounds,
            time_limit=options.time_limit,
            folder=options.data_folder,
            seed=options.seed,
            tell=tell,
        )
    for (name, method), reason in result.failures.items():
        output.note(f"{name}, {method}: {reason}")
    return result


def _write(
    output: Output, options: argparse.Namespace, result: Comparison, folder: Path
) -> list[Path]:
    """Write the curves; return the files."""
    written = [folder / "bench.csv"]
    result.write_csv(written[0])
    if not options.no_figures:
        try:
            written += result.write_figures(folder)
        except ImportError:
            output.note("no figures: matplotlib is not installed")
    return written


def _report(
    output: Output, options: argparse.Namespace, result: Comparison, written: list[Path]
) -> None:
    runs = [
        _summary(result, name, method) for name in result.data for method in result.methods(name)
    ]
    output.table(
        ("data", "method", f"seconds to {options.until:g}", "seconds", "passes", "gap", "P − P*"),
        [_row(run) for run in runs],
        text_columns=2,
    )
    output.text("written: " + ", ".join(str(path) for path in written))
    output.result(
        *("problem", "until"),
        interrupted=result.interrupted,
        written=[str(path) for path in written],
        failures={f"{n}, {m}": text for (n, m), text in result.failures.items()},
        runs=runs,
    )


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


def _row(run: dict[str, Any]) -> list[str]:
    def number(name: str, form: str) -> str:
        return format(run[name], form) if math.isfinite(run[name]) else "-"

    return [
        run["data"],
        run["method"],
        *(number(name, ".3g") for name in ("seconds_to_tolerance", "seconds", "passes")),
        *(number(name, ".1e") for name in ("gap", "suboptimality")),
    ]


@contextlib.contextmanager
def _making(folder: Path) -> Iterator[None]:
    """Create the folder before the work; remove it again if the work fails."""
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
    """Show the current run and its gap."""
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
