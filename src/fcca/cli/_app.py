"""The commands, their options and their exit codes."""

from __future__ import annotations

import io
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from fcca import __version__
from fcca._files import atomic_outputs
from fcca.cli import EXIT_INTERRUPTED
from fcca.cli._data import bundled_data, read_data
from fcca.cli._distillation import OUTPUT_NAMES, Distillation, FitTo, Settings, Step, TargetModel, distillation
from fcca.cli._summary import printable, summary
from fcca.exceptions import FCCAError, InvalidInputError

EXIT_CANNOT_WRITE = 1
EXIT_INVALID = 2
EXIT_UNVERIFIED = 3

HELP = """Find the few thresholds that a classifier's decisions hang on, and the provably best small tree on them.

A target model is fitted; for every training row that it gets right, the cheapest change that makes it answer otherwise is \
computed exactly; the thresholds those changes cross are counted.

Writes thresholds.csv, thresholds.json and counterfactuals.parquet, whose column [italic]row[/] is the row of the input \
table, counted from 0.

[bold]Examples[/]

[dim]# scikit-learn's breast-cancer data, the most frequent third of the thresholds[/]
[cyan]fcca distill --q 0.7[/]

[dim]# a table of your own[/]
[cyan]fcca distill loans.csv --label default --q 0.9 --out results[/]

[dim]# another target model, all rows for training[/]
[cyan]fcca distill loans.parquet --model logistic --test-size 0[/]
"""
EPILOG = (
    "Exit codes: 0 done; 1 the files could not be written; 2 data or options cannot be used; 3 done, but some "
    "counterfactuals do not flip the model's own predict; 130 interrupted."
)
DATA, MODEL, SEARCH = "Data and files", "Model and tree", "Counterfactuals and thresholds"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fcca {__version__}")
        raise typer.Exit


@app.callback()
def _fcca(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Exact counterfactuals of fitted classifiers, and the few thresholds their decisions hang on."""


@app.command(help=HELP, epilog=EPILOG)
def distill(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="Table to learn from: .csv, .csv.gz or .parquet, numeric columns and one label column. "
            "Without it: scikit-learn's breast-cancer data.",
            show_default=False,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Label column. Without it: the column named label, target, class or y.",
            show_default=False,
            rich_help_panel=DATA,
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Where the files go; older ones of their names are replaced.", rich_help_panel=DATA
        ),
    ] = Path("fcca-out"),
    test_size: Annotated[float, typer.Option(help="Share of rows held out; 0 holds out none.", rich_help_panel=DATA)] = 0.2,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.", rich_help_panel=DATA)] = False,
    model: Annotated[
        TargetModel,
        typer.Option(help="100 boosted stumps, a linear SVM or logistic regression.", rich_help_panel=MODEL),
    ] = TargetModel.gb,
    depth: Annotated[int, typer.Option(help="Depth of the decision tree.", rich_help_panel=MODEL)] = 3,
    regularization: Annotated[
        float | None,
        typer.Option(help="Cost of a leaf, as a share of the rows; default: 10 / rows.", rich_help_panel=MODEL),
    ] = None,
    fit_to: Annotated[
        FitTo, typer.Option(help="Whether the tree learns the labels or the target model's answers.", rich_help_panel=MODEL)
    ] = FitTo.labels,
    seed: Annotated[int, typer.Option(help="Seed of the split, the model and the tree.", rich_help_panel=MODEL)] = 0,
    q: Annotated[
        float,
        typer.Option(
            "--q", help="Keep thresholds crossed at least as often as this quantile of all counts.", rich_help_panel=SEARCH
        ),
    ] = 0.0,
    p0: Annotated[
        float,
        typer.Option("--p0", help="Ask for rows predicted with at least this probability.", rich_help_panel=SEARCH),
    ] = 0.5,
    p1: Annotated[
        float,
        typer.Option("--p1", help="Ask for rows predicted with at most this probability.", rich_help_panel=SEARCH),
    ] = 1.0,
    lambda0: Annotated[
        float, typer.Option("--lambda0", help="Cost of a change, per column moved.", rich_help_panel=SEARCH)
    ] = 0.1,
    lambda1: Annotated[
        float,
        typer.Option("--lambda1", help="Cost per distance, in units of the column's range.", rich_help_panel=SEARCH),
    ] = 1.0,
    lambda2: Annotated[float, typer.Option("--lambda2", help="Cost per squared distance.", rich_help_panel=SEARCH)] = 0.0,
    margin: Annotated[
        float, typer.Option(help="Score by which the model must answer the other class.", rich_help_panel=SEARCH)
    ] = 1e-4,
    merge_tolerance: Annotated[
        str,
        typer.Option(
            metavar="auto|FLOAT",
            help="Merge thresholds closer than this share of the column's range.",
            rich_help_panel=SEARCH,
        ),
    ] = "auto",
    no_round: Annotated[
        bool, typer.Option("--no-round", help="Keep the model's own numbers as thresholds.", rich_help_panel=SEARCH)
    ] = False,
    jobs: Annotated[
        int, typer.Option(help="Threads, -1 for all cores; the result does not depend on it.", rich_help_panel=SEARCH)
    ] = -1,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time for all searches together.", show_default=False, rich_help_panel=SEARCH),
    ] = None,
) -> None:
    """Run ``fcca distill``; the help is in HELP."""
    console, errors = _console(stderr=False), _console(stderr=True)
    try:
        settings = Settings(
            model=model,
            q=q,
            p0=p0,
            p1=p1,
            lambda0=lambda0,
            lambda1=lambda1,
            lambda2=lambda2,
            margin=margin,
            merge_tolerance=merge_tolerance,
            round_thresholds=not no_round,
            test_size=test_size,
            seed=seed,
            depth=depth,
            regularization=regularization,
            fit_to=fit_to,
            jobs=jobs,
            time_limit=time_limit,
        )
        code = _distill(data, label, settings, out, console, errors, quiet)
    except KeyboardInterrupt:
        errors.print("Interrupted.")
        code = EXIT_INTERRUPTED
    except (FCCAError, ValueError) as error:  # ValueError: scikit-learn's on data and parameters
        _print_message(errors, "Error", str(error), "bold red")
        code = EXIT_INVALID
    except OSError as error:
        _print_message(errors, "Error", str(error), "bold red")
        code = EXIT_CANNOT_WRITE
    raise typer.Exit(code)


def _distill(
    path: Path | None, label: str | None, settings: Settings, out: Path, console: Console, errors: Console, quiet: bool
) -> int:
    """Read, compute, write and print; returns the exit code."""
    if path is None and label is not None:
        raise InvalidInputError(f"--label {label} was given without a file. Expected fcca distill DATA --label {label}.")
    show_progress = not quiet and console.is_terminal
    step: Step = console.status if show_progress else nullcontext
    found: Distillation | None = None
    failure: OSError | None = None
    try:
        with atomic_outputs(out) as outputs:
            for name in OUTPUT_NAMES:
                outputs.path(name)  # refuses a name that is taken by a directory, before any work
            with step("Reading the data …"):
                data = bundled_data() if path is None else read_data(path, label)
            found = distillation(data, settings, step, show_progress=show_progress)
            found.write(outputs)
    except OSError as error:
        if found is None:
            raise
        failure = error  # what was computed is still worth printing

    if not quiet:
        for note in found.notes:
            _print_message(errors, "Note", note, "yellow")
        console.print(summary(found, None if failure else out))
    if failure is not None:
        reason = failure.strerror or str(failure)
        _print_message(errors, "Error", f"Cannot write to {out}: {reason}. Nothing was left half-written there.", "bold red")
        return EXIT_CANNOT_WRITE
    if found.n_unverified:
        message = (
            f"{found.n_unverified} of {len(found.discretizer.counterfactuals_)} counterfactuals do not flip the model's own "
            "predict; they are marked 'unverified' in counterfactuals.parquet and left out of all counts."
        )
        _print_message(errors, "Error", message, "bold red")
        return EXIT_UNVERIFIED
    return 0


def _console(*, stderr: bool) -> Console:
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def _print_message(console: Console, kind: str, message: str, style: str) -> None:
    text = Text(f"{kind}: ", style=style).append(printable(message), style="not bold default")
    console.print(text, soft_wrap=not console.is_terminal)


def run() -> None:
    """Run the command that the arguments name."""
    if sys.stdout is None:  # closed by the caller
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ≤ shows a question mark
    app()
