"""``fcca report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fcca._files import atomic_outputs
from fcca.cli import _arguments as arguments
from fcca.cli import interrupts_deferred
from fcca.cli._options import STREAMED_FROM, DistillSettings, FitTo, check, check_model_file, chosen_levels, table_format
from fcca.cli._running import EXIT_UNVERIFIED, Output, open_in_browser, run_command

PAGE_SUFFIXES = (".html", ".htm")


def report(
    model_file: arguments.ModelArgument,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Table with the columns that the model was fitted on, and the label: .csv, .csv.gz or .parquet.",
            show_default=False,
        ),
    ],
    label: arguments.Label = None,
    test: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table of rows to test on, which neither thresholds nor tree are made from. Without it: none.",
            show_default=False,
            rich_help_panel=arguments.DATA,
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="The page; an older one of that name is replaced.", rich_help_panel=arguments.DATA
        ),
    ] = Path("report.html"),
    open_report: arguments.Open = False,
    title: arguments.Title = None,
    quiet: arguments.Quiet = False,
    depth: arguments.Depth = 3,
    regularization: arguments.Regularization = None,
    fit_to: arguments.Fit = FitTo.labels,
    q: Annotated[
        float,
        typer.Option(
            "--q",
            help="Where the slider of frequency stands at first: thresholds crossed at least as often as this quantile of "
            "all counts.",
            rich_help_panel=arguments.SEARCH,
        ),
    ] = 0.0,
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="Q,Q,…",
            help="The steps of the slider of frequency, such as 0,0.5,0.9. Without it: 0, 0.1, … 0.9, 0.95.",
            show_default=False,
            rich_help_panel=arguments.SEARCH,
        ),
    ] = None,
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
    """Run ``fcca report``; its help is in _help."""

    def work(output: Output) -> int:
        check_model_file(model_file)
        table_format(data)
        if test is not None:
            table_format(test)
        fits = out.name.lower().endswith(PAGE_SUFFIXES)
        check("--out", out, fits, f"a file name that ends in {' or '.join(PAGE_SUFFIXES)}")
        steps = None if levels is None else chosen_levels("--levels", levels)
        settings = DistillSettings(
            model=None,
            model_file=model_file,
            categorical=(),
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
            test_size=0.0,
            seed=0,
            depth=depth,
            regularization=regularization,
            fit_to=fit_to,
            thresholds=thresholds,
            jobs=jobs,
            time_limit=time_limit,
            time_limit_per_row=time_limit_per_row,
            rules=rules,
        )
        code = _report(data, label, test, settings, steps, out, title, output)
        if open_report:
            open_in_browser(out, output)
        return code

    run_command(work, quiet=quiet)


def _report(
    path: Path,
    label: str | None,
    test: Path | None,
    settings: DistillSettings,
    levels: tuple[float, ...] | None,
    out: Path,
    title: str | None,
    output: Output,
) -> int:
    """Read, compute, write and print; returns the exit code."""
    with atomic_outputs(out.parent) as outputs:
        outputs.path(out.name)  # refuses a name that is taken by a directory, before any work
        with interrupts_deferred():
            from fcca.cli._data import n_values, read_data
            from fcca.cli._distillation import distillation
            from fcca.cli._page import write_page
            from fcca.cli._summary import report_summary

        if n_values(path) >= STREAMED_FROM:
            output.note(
                f"A report needs all of {path.name} in memory, and a tree for every step of the slider. A sample "
                "of the rows, in a file of its own, makes a page that is as good to look at."
            )
        with output.progress():
            data = read_data(path, label)
            held_out = None if test is None else read_data(test, data.label, to_learn_from=False)
            found = distillation(data, settings, held_out)
            write_page(found, settings, outputs.path(out.name), title=title, levels=levels)

    output.result(lambda: report_summary(found, out), dict, found.notes)
    if found.n_unverified:
        output.error(found.on_unverified())
        return EXIT_UNVERIFIED
    return 0
