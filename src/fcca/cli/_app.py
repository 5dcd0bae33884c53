"""The commands, their options and their exit codes."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from fcca import __version__
from fcca._files import atomic_outputs
from fcca.cli import EXIT_INTERRUPTED, _help, interrupts_deferred
from fcca.cli._options import (
    DEPTH,
    FOREST_DEPTH,
    OUTPUT_NAMES,
    ROUNDS,
    DistillSettings,
    ExplainSettings,
    FitTo,
    Step,
    TargetModel,
    check_model_file,
    table_format,
)
from fcca.cli._words import printable
from fcca.exceptions import FCCAError, InvalidInputError

# What computes is imported by the commands themselves, once their arguments are known to be good.
if TYPE_CHECKING:
    from fcca.cli._distillation import Distillation
    from fcca.cli._explanation import Explanation

EXIT_CANNOT_WRITE = 1
EXIT_INVALID = 2
EXIT_UNVERIFIED = 3

DATA, MODEL, SEARCH, QUESTION = "Data and files", "Model and tree", "Counterfactuals and thresholds", "What to ask"

Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.", rich_help_panel=DATA)]
Lambda0 = Annotated[float, typer.Option("--lambda0", help="Cost of a change, per column moved.", rich_help_panel=SEARCH)]
Lambda1 = Annotated[
    float, typer.Option("--lambda1", help="Cost per distance, in units of the column's range.", rich_help_panel=SEARCH)
]
Lambda2 = Annotated[float, typer.Option("--lambda2", help="Cost per squared distance.", rich_help_panel=SEARCH)]
Margin = Annotated[float, typer.Option(help="Score by which the model must answer the other class.", rich_help_panel=SEARCH)]
DecisionThreshold = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="Two classes: answer the second from this probability on, instead of the model's own decision.",
        show_default=False,
        rich_help_panel=SEARCH,
    ),
]
Jobs = Annotated[
    int, typer.Option(help="Threads, -1 for all cores; the result does not depend on it.", rich_help_panel=SEARCH)
]
TimeLimit = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Time for all searches together.", show_default=False, rich_help_panel=SEARCH),
]
TimeLimitPerRow = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Time for each search of a row.", show_default=False, rich_help_panel=SEARCH),
]

RulesFile = Annotated[
    Path | None,
    typer.Option(
        "--rules",
        metavar="FILE",
        help="Rules that the changes keep, in YAML: what may not change, bounds, steps, which columns hang together.",
        show_default=False,
        rich_help_panel=SEARCH,
    ),
]

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


@app.command(help=_help.DISTILL, epilog=_help.EPILOG)
def distill(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="Table to learn from: .csv, .csv.gz or .parquet, with one label column. Texts are categories, empty fields "
            "are missing values. Without it: scikit-learn's breast-cancer data.",
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
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL",
            help="Column that holds categories although they look like numbers; may be given several times.",
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
    quiet: Quiet = False,
    model: Annotated[
        TargetModel | None,
        typer.Option(
            help=f"What to fit and distill: {ROUNDS} boosted stumps (gb, the default); a random forest of {ROUNDS} trees of "
            f"depth {FOREST_DEPTH} (rf); boosting with {ROUNDS} rounds of trees of depth {DEPTH} by scikit-learn (hgb), "
            "XGBoost (xgb), LightGBM (lgbm) or CatBoost (catboost); a linear SVM (svm) or logistic regression (logistic).",
            show_default=False,
            rich_help_panel=MODEL,
        ),
    ] = None,
    model_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A fitted model to distill as it is: .skops; .json or .ubj of XGBoost; .txt of LightGBM; .cbm or .json "
            "of CatBoost.",
            show_default=False,
            rich_help_panel=MODEL,
        ),
    ] = None,
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
    lambda0: Lambda0 = 0.1,
    lambda1: Lambda1 = 1.0,
    lambda2: Lambda2 = 0.0,
    margin: Margin = 1e-4,
    decision_threshold: DecisionThreshold = None,
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
    jobs: Jobs = -1,
    time_limit: TimeLimit = None,
    time_limit_per_row: TimeLimitPerRow = None,
    rules: RulesFile = None,
) -> None:
    """Run ``fcca distill``; its help is in _help."""

    def work(console: Console, errors: Console) -> int:
        if model is not None and model_file is not None:
            raise InvalidInputError(f"Both --model {model} and --model-file {model_file} were given. Expected one of them.")
        if categorical and model_file is not None:
            raise InvalidInputError("--categorical was given with --model-file. The model knows what its columns are.")
        settings = DistillSettings(
            model=(model or TargetModel.gb) if model_file is None else None,
            model_file=model_file,
            categorical=tuple(categorical or ()),
            q=q,
            p0=p0,
            p1=p1,
            lambda0=lambda0,
            lambda1=lambda1,
            lambda2=lambda2,
            margin=margin,
            decision_threshold=decision_threshold,
            merge_tolerance=merge_tolerance,
            round_thresholds=not no_round,
            test_size=test_size,
            seed=seed,
            depth=depth,
            regularization=regularization,
            fit_to=fit_to,
            jobs=jobs,
            time_limit=time_limit,
            time_limit_per_row=time_limit_per_row,
            rules=rules,
        )
        return _distill(data, label, settings, out, console, errors, quiet)

    _run(work)


@app.command(help=_help.EXPLAIN, epilog=_help.EPILOG)
def explain(
    model_file: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="The fitted classifier: .skops; .json or .ubj of XGBoost; .txt of LightGBM; .cbm or .json of CatBoost.",
            show_default=False,
        ),
    ],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Table with the columns that the model was fitted on: .csv, .csv.gz or .parquet.",
            show_default=False,
        ),
    ],
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="ROWS",
            help="Rows of DATA to explain, the first is 0, such as 0,5,10-20. Without it: all.",
            show_default=False,
            rich_help_panel=QUESTION,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="The class to reach. Without it: any other one, whichever is cheapest.",
            show_default=False,
            rich_help_panel=QUESTION,
        ),
    ] = None,
    target_probability: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Two classes: the probability that the target must have at least.",
            show_default=False,
            rich_help_panel=QUESTION,
        ),
    ] = None,
    n: Annotated[
        int,
        typer.Option(
            "--n",
            help="Answers per row, the cheapest that change different columns. More than one takes several searches per "
            "row, each as long as the first.",
            rich_help_panel=QUESTION,
        ),
    ] = 1,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COL", help="Label column of DATA, which is left out.", show_default=False, rich_help_panel=DATA
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write every change to a .csv or .parquet file.", show_default=False, rich_help_panel=DATA
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table whose range and values the changes keep to, such as the training data. Without it: DATA.",
            show_default=False,
            rich_help_panel=DATA,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.", rich_help_panel=DATA)] = False,
    quiet: Quiet = False,
    lambda0: Lambda0 = 0.1,
    lambda1: Lambda1 = 1.0,
    lambda2: Lambda2 = 0.0,
    margin: Margin = 1e-4,
    decision_threshold: DecisionThreshold = None,
    jobs: Jobs = -1,
    time_limit: TimeLimit = None,
    time_limit_per_row: TimeLimitPerRow = None,
    rules: RulesFile = None,
) -> None:
    """Run ``fcca explain``; its help is in _help."""

    def work(console: Console, errors: Console) -> int:
        settings = ExplainSettings(
            reference=reference,
            rows=rows,
            label=label,
            target=target,
            target_probability=target_probability,
            n=n,
            out=out,
            lambda0=lambda0,
            lambda1=lambda1,
            lambda2=lambda2,
            margin=margin,
            decision_threshold=decision_threshold,
            jobs=jobs,
            time_limit=time_limit,
            time_limit_per_row=time_limit_per_row,
            rules=rules,
        )
        return _explain(model_file, data, settings, console, errors, quiet=quiet, as_json=as_json)

    _run(work)


def _run(work: Callable[[Console, Console], int]) -> None:
    """Do the work of a command and leave with its exit code, or with that of what went wrong."""
    console, errors = _console(stderr=False), _console(stderr=True)
    try:
        code = work(console, errors)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED  # main says so
    except (FCCAError, ValueError) as error:  # ValueError: scikit-learn's on data and parameters
        _print_message(errors, "Error", str(error), "bold red")
        code = EXIT_INVALID
    except OSError as error:
        _print_message(errors, "Error", str(error), "bold red")
        code = EXIT_CANNOT_WRITE
    raise typer.Exit(code)


def _distill(
    path: Path | None,
    label: str | None,
    settings: DistillSettings,
    out: Path,
    console: Console,
    errors: Console,
    quiet: bool,
) -> int:
    """Read, compute, write and print; returns the exit code."""
    if path is None and label is not None:
        raise InvalidInputError(f"--label {label} was given without a file. Expected fcca distill DATA --label {label}.")
    if path is not None:
        table_format(path)
    show_progress = not quiet and console.is_terminal
    step: Step = console.status if show_progress else nullcontext
    found: Distillation | None = None
    failure: OSError | None = None
    try:
        with atomic_outputs(out) as outputs:
            for name in OUTPUT_NAMES:
                outputs.path(name)  # refuses a name that is taken by a directory, before any work
            with interrupts_deferred():
                from fcca.cli._data import bundled_data, read_data
                from fcca.cli._distillation import distillation
                from fcca.cli._summary import summary

            with step("Reading the data …"):
                data = bundled_data() if path is None else read_data(path, label, settings.categorical)
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


def _explain(
    model_file: Path,
    data: Path,
    settings: ExplainSettings,
    console: Console,
    errors: Console,
    *,
    quiet: bool,
    as_json: bool,
) -> int:
    """Load, explain, write and print; returns the exit code."""
    check_model_file(model_file)
    table_format(data)
    show_progress = not quiet and not as_json and console.is_terminal
    step: Step = console.status if show_progress else nullcontext
    explained: Explanation | None = None
    failure: OSError | None = None
    out = settings.out
    try:
        with nullcontext() if out is None else atomic_outputs(out.parent) as outputs:
            if out is not None and outputs is not None:
                outputs.path(out.name)  # refuses a name that is taken by a directory, before any work
            with interrupts_deferred():
                from fcca.cli._explain_summary import explain_summary
                from fcca.cli._explanation import explanation

            explained = explanation(model_file, data, settings, step, show_progress=show_progress)
            if out is not None and outputs is not None:
                explained.write(outputs.path(out.name), out.name)
    except OSError as error:
        if explained is None:
            raise
        failure = error  # what was computed is still worth printing

    if as_json:
        console.print(explained.to_json(), soft_wrap=True)
    elif not quiet:
        for note in explained.notes:
            _print_message(errors, "Note", note, "yellow")
        console.print(explain_summary(explained, None if failure else out))
    if failure is not None:
        reason = failure.strerror or str(failure)
        _print_message(errors, "Error", f"Cannot write to {out}: {reason}. Nothing was left half-written there.", "bold red")
        return EXIT_CANNOT_WRITE
    if explained.n_unverified:
        message = f"{explained.n_unverified} of {len(explained.found)} answers are not confirmed by the model's own predict."
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
