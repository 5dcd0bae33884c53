"""The commands under one roof."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from fcca import __version__
from fcca.cli import _help
from fcca.cli._benchmark import benchmark
from fcca.cli._distill import distill
from fcca.cli._explain import explain
from fcca.cli._export import export
from fcca.cli._report import report
from fcca.cli._running import leave_streams_whole
from fcca.cli._verify import verify


def _flags_without_type(params: list[Any]) -> list[Any]:
    """The same, the type of flags left out of the help: they take no value."""
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _flags_without_type(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _flags_without_type(super().get_params(ctx))


app = typer.Typer(
    cls=_Group,
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


app.command(cls=_Command, help=_help.DISTILL, short_help=_help.first_line(_help.DISTILL), epilog=_help.EPILOG)(distill)
app.command(cls=_Command, help=_help.EXPLAIN, short_help=_help.first_line(_help.EXPLAIN), epilog=_help.EPILOG)(explain)
app.command(cls=_Command, help=_help.REPORT, short_help=_help.first_line(_help.REPORT), epilog=_help.EPILOG)(report)
app.command(cls=_Command, help=_help.EXPORT, short_help=_help.first_line(_help.EXPORT), epilog=_help.PLAIN_EPILOG)(export)
app.command(cls=_Command, help=_help.VERIFY, short_help=_help.first_line(_help.VERIFY), epilog=_help.VERIFY_EPILOG)(verify)
app.command(cls=_Command, help=_help.BENCHMARK, short_help=_help.first_line(_help.BENCHMARK), epilog=_help.PLAIN_EPILOG)(
    benchmark
)


def run() -> None:
    """Run the command that the arguments name."""
    leave_streams_whole()
    app()
