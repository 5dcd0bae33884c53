"""``fcca export``."""

import sys
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcca.cli import interrupts_deferred
from fcca.cli._checks import file_of
from fcca.cli._command import Command
from fcca.cli._options import argument, data_option
from fcca.cli._running import Output
from fcca.exceptions import InvalidInputError
from fcca.export import ADDITIONS, DIALECTS, EXPORTERS, FORMS as SQL_FORMS
from fcca.utils import atomic_outputs

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

sql_option = partial(typer.Option, rich_help_panel="SQL")


@dataclass(frozen=True, kw_only=True)
class Export(Command):
    """Turn the tree that distill found into text, Markdown, plain Python, SQL, ONNX or JSON.

    The Python is a module without dependencies whose predict(row) answers as the tree does, to the last bit; a row is
    a dictionary of columns and values. SQL and ONNX answer alike; rows that the tree refuses get NULL in SQL.

    [bold]Examples[/]

    [dim]# to read[/]
    [cyan]fcca export fcca-out/tree.json[/]

    [dim]# to run elsewhere[/]
    [cyan]fcca export fcca-out/tree.json --to python --out tree.py[/]

    [dim]# for a document[/]
    [cyan]fcca export fcca-out/tree.json --to markdown >> model-card.md[/]

    [dim]# a query that adds the prediction to the rows of a table[/]
    [cyan]fcca export tree.json --to sql --dialect postgres --table loans[/]

    [dim]# the expression alone, for a view[/]
    [cyan]fcca export tree.json --to sql --dialect snowflake --form case[/]

    [dim]# a model for ONNX Runtime[/]
    [cyan]fcca export fcca-out/tree.json --out tree.onnx[/]
    """

    tree: Annotated[
        Path,
        argument(metavar="TREE", help="A tree: the tree.json that fcca distill writes."),
        file_of("the tree.json that fcca distill writes"),
    ]
    to: Annotated[
        Form | None,
        data_option("--to", help=f"What to write: {FORMS}. Without it: by the ending of --out, or text."),
    ] = None
    out: Annotated[Path | None, data_option(metavar="FILE", help="Where to write it. Without it: to standard output.")] = (
        None
    )
    dialect: Annotated[Dialect | None, sql_option(help="Whose SQL. Without it: duckdb.")] = None
    table: Annotated[
        tuple[str, ...],
        sql_option(
            metavar="NAME",
            help="The table that the query reads. Without it: data. A dot is part of a name; for a schema, give it first: "
            "--table public --table loans. With --form case, it stands before the names of the columns.",
        ),
    ] = ()
    sql_form: Annotated[
        SQLForm | None,
        sql_option("--form", help="A whole query (select), or the expression alone, for a view (case). Without it: select."),
    ] = None
    add: Annotated[
        tuple[Addition, ...],
        sql_option(
            help="What the query adds to the columns of the table; may be given several times. Without it: the prediction."
        ),
    ] = ()
    prefix: Annotated[str | None, sql_option(metavar="TEXT", help="What the names of the added columns begin with.")] = None
    numbered: Annotated[
        bool, sql_option("--numbered", help="Name bins and probabilities by number rather than by condition and class.")
    ] = False

    def run(self, output: Output) -> int:
        """Write the tree; returns the exit code."""
        form = _form(self.to, self.out)
        given = {
            "dialect": self.dialect,
            "table": list(self.table) or None,
            "form": self.sql_form,
            "add": [str(one) for one in self.add] or None,
            "prefix": self.prefix,
            "numbered": self.numbered or None,
        }
        sql = {name: str(value) if isinstance(value, str) else value for name, value in given.items() if value is not None}
        _check_options(form, sql)
        if self.out is None:
            if EXPORTERS[form].binary and sys.stdout.isatty():
                raise InvalidInputError(f"The form {form} is no text that a terminal could show. Give a file with --out.")
            typer.echo(_content(self.tree, form, sql), nl=False)
            return 0
        with atomic_outputs(self.out.parent) as outputs:
            path = outputs.path(self.out.name)
            path.write_bytes(_content(self.tree, form, sql))
        return 0


def _form(to: str | None, out: Path | None) -> str:
    """The exporter that is asked for, by name or by how a file's name ends."""
    if to is not None:
        return str(to)
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
    """The exported tree; texts as UTF-8, because they may go into a file."""
    with interrupts_deferred():
        from fcca.export import from_json
    try:
        tree = from_json(path.read_bytes())
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    written = EXPORTERS[form].write(tree, **options)
    return written.encode() if isinstance(written, str) else written
