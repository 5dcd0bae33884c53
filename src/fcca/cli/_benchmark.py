"""``fcca benchmark``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fcca._files import atomic_outputs
from fcca.cli import _arguments as arguments
from fcca.cli import interrupts_deferred
from fcca.cli._options import METHODS, BenchmarkSettings, TargetModel, chosen_levels, table_format
from fcca.cli._running import Output, run_command
from fcca.exceptions import InvalidInputError

# What computes is imported once the arguments are known to be good.
if TYPE_CHECKING:
    from fcca.cli._comparison import Comparison


def benchmark(
    data: arguments.Table = None,
    label: arguments.Label = None,
    categorical: arguments.Categorical = None,
    folds: Annotated[
        int, typer.Option(help="Parts that the rows are split into; each is held out once.", rich_help_panel=arguments.DATA)
    ] = 5,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the table to a .csv file.", show_default=False, rich_help_panel=arguments.DATA
        ),
    ] = None,
    as_json: arguments.AsJson = False,
    quiet: arguments.Quiet = False,
    model: arguments.Model = None,
    methods: Annotated[
        str, typer.Option(metavar="NAME,…", help="What to compare, beside the black box.", rich_help_panel=arguments.MODEL)
    ] = ",".join(METHODS),
    depth: arguments.Depth = 3,
    seed: arguments.Seed = 0,
    q: Annotated[
        str,
        typer.Option(
            "--q",
            metavar="Q,Q,…",
            help="Levels of granularity: thresholds crossed at least as often as this quantile of all counts.",
            rich_help_panel=arguments.SEARCH,
        ),
    ] = "0,0.7,0.9",
    jobs: arguments.Jobs = -1,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Time for the searches of a fold, and for each tree.",
            show_default=False,
            rich_help_panel=arguments.SEARCH,
        ),
    ] = None,
) -> None:
    """Run ``fcca benchmark``; its help is in _help."""

    def work(output: Output) -> int:
        settings = BenchmarkSettings(
            model=model or TargetModel.gb,
            categorical=tuple(categorical or ()),
            levels=chosen_levels("--q", q),
            folds=folds,
            depth=depth,
            seed=seed,
            jobs=jobs,
            time_limit=time_limit,
            methods=tuple(dict.fromkeys(name.strip() for name in methods.split(","))),
            out=out,
        )
        return _benchmark(data, label, settings, output)

    run_command(work, quiet=quiet, as_json=as_json)


def _benchmark(path: Path | None, label: str | None, settings: BenchmarkSettings, output: Output) -> int:
    """Read, compute, write and print; returns the exit code."""
    if path is None and label is not None:
        raise InvalidInputError(f"--label {label} was given without a file. Expected fcca benchmark DATA --label {label}.")
    if path is not None:
        table_format(path)
    out = settings.out
    compared: Comparison | None = None
    failure: OSError | None = None
    try:
        with nullcontext() if out is None else atomic_outputs(out.parent) as outputs:
            if out is not None and outputs is not None:
                outputs.path(out.name)  # refuses a name that is taken by a directory, before any work
            with interrupts_deferred():
                from fcca.cli._comparison import comparison
                from fcca.cli._comparison_summary import comparison_summary
                from fcca.cli._data import bundled_data, read_data

            with output.progress():
                data = bundled_data() if path is None else read_data(path, label, settings.categorical)
                compared = comparison(data, settings)
            if out is not None and outputs is not None:
                compared.frame().to_csv(outputs.path(out.name), index=False, lineterminator="\n")
    except OSError as error:
        if compared is None:
            raise
        failure = error  # what was computed is still worth printing

    written = None if failure else out
    output.result(lambda: comparison_summary(compared, written), compared.document, compared.notes)
    if failure is not None:
        assert out is not None
        return output.cannot_write(out, failure)
    return 0
