"""The Typer application ``fcca``, with all commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fcca import __version__
from fcca.cli._benchmark_command import Benchmark
from fcca.cli._command import Command, add_command, flags_without_type
from fcca.cli._distill_command import Distill
from fcca.cli._explain_command import Explain
from fcca.cli._export_command import Export
from fcca.cli._predict_command import Predict
from fcca.cli._report_command import Report
from fcca.cli._running import leave_streams_whole
from fcca.cli._scorecard_command import Scorecard
from fcca.cli._verify_command import Verify

#: The commands, in the order of the help.
COMMANDS: tuple[type[Command], ...] = (Distill, Scorecard, Explain, Predict, Report, Export, Verify, Benchmark)


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return flags_without_type(super().get_params(ctx))


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: fcca distill. Every command has examples: fcca distill --help.",
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
    """Explain classifiers with exact counterfactuals, and replace them with provably optimal trees."""


for command in COMMANDS:
    add_command(app, command)


def run() -> None:
    """Parse the command line arguments, and run the command."""
    leave_streams_whole()
    app()
