"""``fcca export``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcca._files import atomic_outputs
from fcca.cli import _arguments as arguments
from fcca.cli import interrupts_deferred
from fcca.cli._options import check_file
from fcca.cli._running import Output, run_command
from fcca.exceptions import InvalidInputError
from fcca.export import EXPORTERS
from fcca.export._sql_options import ADDITIONS, DIALECTS
from fcca.export._sql_options import FORMS as SQL_FORMS

if TYPE_CHECKING:
    Form = str
    Dialect = str
    SQLForm = str
    Addition = str
else:
    Form = StrEnum("Form", {name: name for name in EXPORTERS})
    Dialect = StrEnum("Dialect", {name: name for name in DIALECTS})
    SQLForm = StrEnum("SQLForm", {name: name for name in SQL_FORMS})
    Addition = StrEnum("Addition", {name: name for name in ADDITIONS})

FORMS = "; ".join(f"{exporter.title} ({name})" for name, exporter in EXPORTERS.items())
EXPECTED = "the tree.json that fcca distill writes"
SQL = "SQL"


def export(
    tree: Annotated[
        Path, typer.Argument(metavar="TREE", help="A tree: the tree.json that fcca distill writes.", show_default=False)
    ],
    to: Annotated[
        Form | None,
        typer.Option(
            "--to",
            help=f"What to write: {FORMS}. Without it: by the ending of --out, or text.",
            show_default=False,
            rich_help_panel=arguments.DATA,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to write it. Without it: to standard output.",
            show_default=False,
            rich_help_panel=arguments.DATA,
        ),
    ] = None,
    dialect: Annotated[
        Dialect | None,
        typer.Option(help="Whose SQL. Without it: duckdb.", show_default=False, rich_help_panel=SQL),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="The table that the query reads. Without it: data. A dot is part of a name; for a schema, give it first: "
            "--table public --table loans. With --form case, it stands before the names of the columns.",
            show_default=False,
            rich_help_panel=SQL,
        ),
    ] = None,
    sql_form: Annotated[
        SQLForm | None,
        typer.Option(
            "--form",
            help="A whole query (select), or the expression alone, for a view (case). Without it: select.",
            show_default=False,
            rich_help_panel=SQL,
        ),
    ] = None,
    add: Annotated[
        list[Addition] | None,
        typer.Option(
            help="What the query adds to the columns of the table; may be given several times. Without it: the prediction.",
            show_default=False,
            rich_help_panel=SQL,
        ),
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="What the names of the added columns begin with.",
            show_default=False,
            rich_help_panel=SQL,
        ),
    ] = None,
    numbered: Annotated[
        bool,
        typer.Option(
            "--numbered",
            help="Name bins and probabilities by number rather than by condition and class.",
            show_default=False,
            rich_help_panel=SQL,
        ),
    ] = False,
) -> None:
    """Run ``fcca export``; its help is in _help."""

    def work(output: Output) -> int:
        form = _form(None if to is None else str(to), out)
        given = {
            "dialect": None if dialect is None else str(dialect),
            "table": table or None,
            "form": None if sql_form is None else str(sql_form),
            "add": [str(one) for one in add] if add else None,
            "prefix": prefix,
            "numbered": numbered or None,
        }
        options = {name: value for name, value in given.items() if value is not None}
        _check_options(form, options)
        check_file(tree, EXPECTED)
        if out is None:
            if EXPORTERS[form].binary and sys.stdout.isatty():
                raise InvalidInputError(f"The form {form} is no text that a terminal could show. Give a file with --out.")
            typer.echo(_content(tree, form, options), nl=False)
            return 0
        with atomic_outputs(out.parent) as outputs:
            path = outputs.path(out.name)
            path.write_bytes(_content(tree, form, options))
        return 0

    run_command(work)


def _form(to: str | None, out: Path | None) -> str:
    """The exporter that is asked for, by name or by how a file's name ends."""
    if to is not None:
        return to
    if out is None:
        return "text"
    for name, exporter in EXPORTERS.items():
        if out.name.lower().endswith(exporter.suffix):
            return name
    endings = ", ".join(exporter.suffix for exporter in EXPORTERS.values())
    raise InvalidInputError(
        f"Cannot tell from {out.name} what to write. Say it with --to, or give a name that ends in {endings}."
    )


def _check_options(form: str, options: dict[str, Any]) -> None:
    """Options of SQL go with SQL, and with the form of it that they say something of."""
    if options and form != "sql":
        named = " and ".join(f"--{name}" for name in options)
        raise InvalidInputError(
            f"{named} can be said of SQL only, and {form} is to be written. Leave out, or give --to sql."
        )
    if options.get("form") == "case":
        several = set(options.get("add", ())) - {"prediction", "leaf"} or len(set(options.get("add", ()))) > 1
        wrong = [name for name in ("prefix", "numbered") if name in options] + ["add"] * bool(several)
        if wrong:
            named = " and ".join(f"--{name}" for name in wrong)
            raise InvalidInputError(
                f"--form case is one expression without names of columns, the prediction or the leaf (--add leaf), so "
                f"{named} cannot go with it. Leave out, or give --form select."
            )


def _content(path: Path, form: str, options: dict[str, Any]) -> bytes:
    """What is written; texts as UTF-8 whatever the terminal, for they may go into a file."""
    with interrupts_deferred():
        from fcca.export import from_json
    try:
        tree = from_json(path.read_bytes())
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    written = EXPORTERS[form].write(tree, **options)
    return written.encode() if isinstance(written, str) else written
