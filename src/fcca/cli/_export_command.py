"""The command ``fcca export``."""

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
    """Convert a tree to text, Markdown, Python, SQL, ONNX or JSON.

    The Python code is a module without dependencies. Its function predict(row) accepts a dictionary that maps columns to
    values. The Python, SQL and ONNX exports predict exactly like the tree, also rows with unknown categories or new missing
    values.

    [bold]Examples[/]

    [dim]# text to read[/]
    [cyan]fcca export fcca-out/tree.json[/]

    [dim]# Python code[/]
    [cyan]fcca export fcca-out/tree.json --to python --out tree.py[/]

    [dim]# Markdown for a document[/]
    [cyan]fcca export fcca-out/tree.json --to markdown >> model-card.md[/]

    [dim]# a query that adds the prediction to the rows of a table[/]
    [cyan]fcca export tree.json --to sql --dialect postgres --table loans[/]

    [dim]# only the expression, for a view[/]
    [cyan]fcca export tree.json --to sql --dialect snowflake --form case[/]

    [dim]# a model for ONNX Runtime[/]
    [cyan]fcca export fcca-out/tree.json --out tree.onnx[/]
    """

    tree: Annotated[
        Path,
        argument(metavar="TREE", help="A tree: tree.json, written by fcca distill."),
        file_of("tree.json, written by fcca distill"),
    ]
    to: Annotated[
        Form | None,
        data_option("--to", help=f"Output format: {FORMS}. Default: chosen by the ending of --out, or text."),
    ] = None
    out: Annotated[Path | None, data_option(metavar="FILE", help="Output file. Default: standard output.")] = None
    dialect: Annotated[Dialect | None, sql_option(help="SQL dialect. Default: duckdb.")] = None
    table: Annotated[
        tuple[str, ...],
        sql_option(
            metavar="NAME",
            help="Table of the query. Default: data. A dot is part of the name. For a schema, give the option twice: "
            "--table public --table loans. With --form case, the table precedes the column names.",
        ),
    ] = ()
    sql_form: Annotated[
        SQLForm | None,
        sql_option("--form", help="A query (select), or only the expression, for a view (case). Default: select."),
    ] = None
    add: Annotated[
        tuple[Addition, ...],
        sql_option(help="Columns that the query adds. May be given several times. Default: prediction."),
    ] = ()
    prefix: Annotated[str | None, sql_option(metavar="TEXT", help="Prefix of the added columns.")] = None
    numbered: Annotated[
        bool, sql_option("--numbered", help="Name bins and probabilities by number instead of condition and class.")
    ] = False

    def run(self, output: Output) -> int:
        """Write the converted tree, and return the exit code.

        It is written to the file of ``--out``, or to standard output.
        """
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
                raise InvalidInputError(f"{form} is a binary format, which a terminal cannot show. Give a file with --out.")
            typer.echo(_content(self.tree, form, sql), nl=False)
            return 0
        with atomic_outputs(self.out.parent) as outputs:
            path = outputs.path(self.out.name)
            path.write_bytes(_content(self.tree, form, sql))
        return 0


def _form(to: str | None, out: Path | None) -> str:
    """Return the output format.

    It is the value of ``--to``, or else the format with the file ending of ``--out``. Without either option, it is text.
    """
    if to is not None:
        return str(to)
    if out is None:
        return "text"
    for name, exporter in EXPORTERS.items():
        if out.name.lower().endswith(exporter.suffix):
            return name
    endings = ", ".join(exporter.suffix for exporter in EXPORTERS.values())
    raise InvalidInputError(
        f"Cannot tell the format from the name {out.name}. Choose one with --to, or use a name that ends in {endings}."
    )


def _check_options(form: str, options: dict[str, Any]) -> None:
    """Check that SQL options are given only for SQL, and that they suit ``--form``."""
    if options and form != "sql":
        named = " and ".join(f"--{name}" for name in options)
        raise InvalidInputError(f"{named} was given for the format {form}, but is for SQL only. Omit it, or use --to sql.")
    if options.get("form") == "case":
        several = set(options.get("add", ())) - {"prediction", "leaf"} or len(set(options.get("add", ()))) > 1
        wrong = [name for name in ("prefix", "numbered") if name in options] + ["add"] * bool(several)
        if wrong:
            named = " and ".join(f"--{name}" for name in wrong)
            raise InvalidInputError(
                f"{named} was given with --form case, which is a single expression: the prediction, or the leaf (--add "
                "leaf). Omit it, or use --form select."
            )


def _content(path: Path, form: str, options: dict[str, Any]) -> bytes:
    """Read a tree from a file, and return it in another format, as bytes.

    Text formats are encoded in UTF-8. ``options`` are passed to the exporter.
    """
    with interrupts_deferred():
        from fcca.export import from_json
    try:
        tree = from_json(path.read_bytes())
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    written = EXPORTERS[form].write(tree, **options)
    return written.encode() if isinstance(written, str) else written
