"""The commands under one roof."""

from __future__ import annotations

from typing import Annotated

import typer

from fcca import __version__
from fcca.cli import _help
from fcca.cli._benchmark import benchmark
from fcca.cli._distill import distill
from fcca.cli._explain import explain
from fcca.cli._export import export
from fcca.cli._report import report
from fcca.cli._running import leave_streams_whole

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_help.MORE,
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


app.command(help=_help.DISTILL, short_help=_help.first_line(_help.DISTILL), epilog=_help.EPILOG)(distill)
app.command(help=_help.EXPLAIN, short_help=_help.first_line(_help.EXPLAIN), epilog=_help.EPILOG)(explain)
app.command(help=_help.REPORT, short_help=_help.first_line(_help.REPORT), epilog=_help.EPILOG)(report)
app.command(help=_help.EXPORT, short_help=_help.first_line(_help.EXPORT), epilog=_help.PLAIN_EPILOG)(export)
app.command(help=_help.BENCHMARK, short_help=_help.first_line(_help.BENCHMARK), epilog=_help.PLAIN_EPILOG)(benchmark)


def run() -> None:
    """Run the command that the arguments name."""
    leave_streams_whole()
    app()
