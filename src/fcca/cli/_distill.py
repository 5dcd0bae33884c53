"""``fcca distill``."""

from __future__ import annotations

import errno
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from fcca._files import atomic_outputs
from fcca.cli import _arguments as arguments
from fcca.cli import interrupts_deferred
from fcca.cli._options import (
    CERTIFICATE,
    COUNTERFACTUALS,
    OUTPUT_NAMES,
    REPORT,
    SAVED_MODEL,
    STREAMED_FROM,
    DistillSettings,
    FitTo,
    TargetModel,
    check_streamable,
    table_format,
)
from fcca.cli._running import EXIT_CANNOT_WRITE, EXIT_UNVERIFIED, Output, open_in_browser, run_command
from fcca.exceptions import InvalidInputError

# What computes is imported once the arguments are known to be good.
if TYPE_CHECKING:
    from fcca.cli._found import Distillation


def distill(
    data: arguments.Table = None,
    label: arguments.Label = None,
    categorical: arguments.Categorical = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Where the files go; older ones of their names are replaced.",
            rich_help_panel=arguments.DATA,
        ),
    ] = Path("fcca-out"),
    test_size: Annotated[
        float, typer.Option(help="Share of rows held out; 0 holds out none.", rich_help_panel=arguments.DATA)
    ] = 0.2,
    no_report: Annotated[
        bool, typer.Option("--no-report", help=f"Do not write {REPORT}.", rich_help_panel=arguments.DATA)
    ] = False,
    open_report: arguments.Open = False,
    title: arguments.Title = None,
    as_json: arguments.AsJson = False,
    quiet: arguments.Quiet = False,
    stream: arguments.Stream = None,
    sample: arguments.Sample = None,
    no_counterfactuals: arguments.NoCounterfactuals = False,
    model: arguments.Model = None,
    model_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"A fitted model to distill as it is: {arguments.MODEL_FILES}",
            show_default=False,
            rich_help_panel=arguments.MODEL,
        ),
    ] = None,
    save_model: Annotated[
        bool,
        typer.Option(
            "--save-model",
            help=f"Write the black box to {SAVED_MODEL}, so that fcca verify can be given it. Needs skops.",
            rich_help_panel=arguments.MODEL,
        ),
    ] = False,
    depth: arguments.Depth = 3,
    regularization: arguments.Regularization = None,
    fit_to: arguments.Fit = FitTo.labels,
    seed: arguments.Seed = 0,
    q: arguments.Granularity = 0.0,
    thresholds: arguments.Thresholds = None,
    p0: arguments.P0 = 0.5,
    p1: arguments.P1 = 1.0,
    lambda0: arguments.Lambda0 = 0.1,
    lambda1: arguments.Lambda1 = 1.0,
    lambda2: arguments.Lambda2 = 0.0,
    margin: arguments.Margin = 1e-4,
    decision_threshold: arguments.DecisionThreshold = None,
    merge_tolerance: arguments.MergeTolerance = "auto",
    no_round: arguments.NoRound = False,
    jobs: arguments.Jobs = -1,
    time_limit: arguments.TimeLimit = None,
    time_limit_per_row: arguments.TimeLimitPerRow = None,
    rules: arguments.RulesFile = None,
) -> None:
    """Run ``fcca distill``; its help is in _help."""

    def work(output: Output) -> int:
        if model is not None and model_file is not None:
            raise InvalidInputError(f"Both --model {model} and --model-file {model_file} were given. Expected one of them.")
        if categorical and model_file is not None:
            raise InvalidInputError("--categorical was given with --model-file. The model knows what its columns are.")
        if no_report and open_report:
            raise InvalidInputError("--open was given with --no-report. There would be no report to open.")
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
            thresholds=thresholds,
            jobs=jobs,
            time_limit=time_limit,
            time_limit_per_row=time_limit_per_row,
            rules=rules,
            stream=stream,
            sample=sample,
            counterfactuals=not no_counterfactuals,
            save_model=save_model,
        )
        code = _distill(data, label, settings, out, output, with_report=not no_report, open_report=open_report, title=title)
        if open_report and code != EXIT_CANNOT_WRITE:
            open_in_browser(out / REPORT, output)
        return code

    run_command(work, quiet=quiet, as_json=as_json)


def _distill(
    path: Path | None,
    label: str | None,
    settings: DistillSettings,
    out: Path,
    output: Output,
    *,
    with_report: bool,
    open_report: bool,
    title: str | None,
) -> int:
    """Read, compute, write and print; returns the exit code."""
    if path is None and label is not None:
        raise InvalidInputError(f"--label {label} was given without a file. Expected fcca distill DATA --label {label}.")
    if path is not None:
        table_format(path)
    streamed = settings.stream or False
    if streamed:
        check_streamable(path)
        _check_no_page(open_report, title, "with --stream")
    names = tuple(name for name in OUTPUT_NAMES if settings.counterfactuals or name not in (CERTIFICATE, COUNTERFACTUALS))
    found: Distillation | None = None
    failure: OSError | None = None
    try:
        with atomic_outputs(out) as outputs:
            with interrupts_deferred():
                from fcca.cli._data import bundled_data, n_values, read_data
                from fcca.cli._distillation import distillation
                from fcca.cli._document import distill_document
                from fcca.cli._page import write_page
                from fcca.cli._summary import summary

            if path is not None and settings.stream is None and n_values(path) >= STREAMED_FROM:
                streamed, reason = True, f"for {path.name}, which is so large that it is read in pieces"
                settings.check_streamed(reason)
                _check_no_page(open_report, title, reason)
            with_page = with_report and not streamed
            names = (REPORT, *names) if with_page else names
            names = tuple(name for name in names if name != CERTIFICATE) if streamed else names
            names = (*names, SAVED_MODEL) if settings.save_model else names
            for name in names:
                outputs.path(name)  # refuses a name that is taken by a directory, before any work
            with output.progress():
                if streamed and path is not None:
                    with interrupts_deferred():
                        from fcca.cli._streamed import streamed_distillation

                    found = streamed_distillation(path, label, settings, outputs)
                else:
                    data = bundled_data() if path is None else read_data(path, label, settings.categorical)
                    found = distillation(data, settings)
                began = perf_counter()
                found.write(outputs, counterfactuals=settings.counterfactuals, save_model=settings.save_model)
                found = found.with_seconds(files=perf_counter() - began, report=0.0)
                if with_page:
                    found = found.with_seconds(report=write_page(found, settings, outputs.path(REPORT), title=title))
            found = _with_notes_on_files(found, out, with_report=with_report, settings=settings)
    except OSError as error:
        if found is None:
            if error.errno != errno.ENOSPC:
                raise
            return output.cannot_write(out, error)  # counterfactuals go to their file while they are computed
        failure = error  # what was computed is still worth printing

    written = [] if failure else [out / name for name in names]
    output.result(lambda: summary(found, written), lambda: distill_document(found, written), found.notes)
    if failure is not None:
        return output.cannot_write(out, failure)
    if found.n_unverified:
        output.error(found.on_unverified(where=COUNTERFACTUALS if settings.counterfactuals else ""))
        return EXIT_UNVERIFIED
    return 0


def _check_no_page(open_report: bool, title: str | None, reason: str) -> None:
    """Refuse to open, or to name, a report that is not written."""
    for option, given in (("--open", open_report), ("--title", title is not None)):
        if given:
            raise InvalidInputError(
                f"{option} was given {reason}. A report shows single rows, so a table that is read in pieces gets none: "
                f"leave {option} out, or read all rows with --no-stream."
            )


def _with_notes_on_files(found: Distillation, out: Path, *, with_report: bool, settings: DistillSettings) -> Distillation:
    """What was found, with notes on files that are not written."""
    earlier = (out / REPORT).exists()
    if found.streamed and with_report:
        found = found.with_note(
            f"A table that is read in pieces gets no {REPORT}, which shows single rows. For one, use --no-stream, or fcca "
            f"report with a model and some of the rows. Nor does it get a {CERTIFICATE}, which has every counterfactual."
            + (f" {out / REPORT} is of an earlier run." if earlier else "")
        )
    elif earlier and not with_report:
        found = found.with_note(f"{out / REPORT} is of an earlier run: --no-report leaves it as it is.")
    if not settings.counterfactuals and (out / COUNTERFACTUALS).exists():
        found = found.with_note(f"{out / COUNTERFACTUALS} is of an earlier run: --no-counterfactuals leaves it as it is.")
    if (found.streamed or not settings.counterfactuals) and (out / CERTIFICATE).exists():
        found = found.with_note(f"{out / CERTIFICATE} is of an earlier run: this one wrote none.")
    return found
