"""``fcca explain``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fcca._files import atomic_outputs
from fcca.cli import _arguments as arguments
from fcca.cli import interrupts_deferred
from fcca.cli._options import ExplainSettings, check_model_file, table_format
from fcca.cli._running import EXIT_UNVERIFIED, Output, run_command

# What computes is imported once the arguments are known to be good.
if TYPE_CHECKING:
    from fcca.cli._explanation import Explanation


def explain(
    model_file: arguments.ModelArgument,
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
            rich_help_panel=arguments.QUESTION,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="The class to reach. Without it: any other one, whichever is cheapest.",
            show_default=False,
            rich_help_panel=arguments.QUESTION,
        ),
    ] = None,
    target_probability: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Two classes: the probability that the target must have at least.",
            show_default=False,
            rich_help_panel=arguments.QUESTION,
        ),
    ] = None,
    n: Annotated[
        int,
        typer.Option(
            "--n",
            help="Answers per row, the cheapest that change different columns. More than one takes several searches per "
            "row, each as long as the first.",
            rich_help_panel=arguments.QUESTION,
        ),
    ] = 1,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Label column of DATA, which is left out.",
            show_default=False,
            rich_help_panel=arguments.DATA,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write every change to a .csv or .parquet file.",
            show_default=False,
            rich_help_panel=arguments.DATA,
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table whose range and values the changes keep to, such as the training data. Without it: DATA.",
            show_default=False,
            rich_help_panel=arguments.DATA,
        ),
    ] = None,
    as_json: arguments.AsJson = False,
    quiet: arguments.Quiet = False,
    lambda0: arguments.Lambda0 = 0.1,
    lambda1: arguments.Lambda1 = 1.0,
    lambda2: arguments.Lambda2 = 0.0,
    margin: arguments.Margin = 1e-4,
    decision_threshold: arguments.DecisionThreshold = None,
    jobs: arguments.Jobs = -1,
    time_limit: arguments.TimeLimitOfRows = None,
    time_limit_per_row: arguments.TimeLimitPerRow = None,
    rules: arguments.RulesFile = None,
) -> None:
    """Run ``fcca explain``; its help is in _help."""

    def work(output: Output) -> int:
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
        return _explain(model_file, data, settings, output)

    run_command(work, quiet=quiet, as_json=as_json)


def _explain(model_file: Path, data: Path, settings: ExplainSettings, output: Output) -> int:
    """Load, explain, write and print; returns the exit code."""
    check_model_file(model_file)
    table_format(data)
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

            with output.progress():
                explained = explanation(model_file, data, settings)
            if out is not None and outputs is not None:
                explained.write(outputs.path(out.name), out.name)
    except OSError as error:
        if explained is None:
            raise
        failure = error  # what was computed is still worth printing

    written = None if failure else out
    output.result(lambda: explain_summary(explained, written), explained.document, explained.notes)
    if failure is not None:
        assert out is not None
        return output.cannot_write(out, failure)
    if explained.n_unverified:
        output.error(
            f"{explained.n_unverified} of {len(explained.found)} answers are not confirmed by the model's own predict."
        )
        return EXIT_UNVERIFIED
    return 0
