"""``fcca export``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fcca._files import atomic_outputs
from fcca.cli import _arguments as arguments
from fcca.cli import interrupts_deferred
from fcca.cli._options import check_file
from fcca.cli._running import Output, run_command
from fcca.exceptions import InvalidInputError
from fcca.export import EXPORTERS

if TYPE_CHECKING:
    Form = str
else:
    Form = StrEnum("Form", {name: name for name in EXPORTERS})

FORMS = "; ".join(f"{exporter.title} ({name})" for name, exporter in EXPORTERS.items())
EXPECTED = "the tree.json that fcca distill writes"


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
) -> None:
    """Run ``fcca export``; its help is in _help."""

    def work(output: Output) -> int:
        form = _form(None if to is None else str(to), out)
        check_file(tree, EXPECTED)
        if out is None:
            typer.echo(_text(tree, form).encode(), nl=False)  # UTF-8 whatever the terminal: it may go into a file
            return 0
        with atomic_outputs(out.parent) as outputs:
            path = outputs.path(out.name)
            path.write_text(_text(tree, form), encoding="utf-8", newline="\n")
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


def _text(path: Path, form: str) -> str:
    with interrupts_deferred():
        from fcca.export import from_json
    try:
        tree = from_json(path.read_bytes())
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    return EXPORTERS[form].write(tree)
