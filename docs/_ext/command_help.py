"""The directive ``{command-help}``, which shows the help of ``fcca`` and of each of its commands."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command
from typer.testing import CliRunner

COLUMNS = 100


def help_of(*words: str) -> str:
    """Return the output of ``fcca … --help``."""
    from fcca.cli._app import app

    env = {"COLUMNS": str(COLUMNS), "NO_COLOR": "1", "TERMINAL_WIDTH": str(COLUMNS)}
    result = CliRunner().invoke(app, [*words, "--help"], env=env, prog_name="fcca")
    if result.exit_code != 0:
        raise RuntimeError(f"fcca {' '.join(words)} --help ended with {result.exit_code}: {result.output}")
    return "\n".join(line.rstrip() for line in result.output.strip("\n").splitlines())


def command_names() -> list[str]:
    """List the commands, in the order of the help."""
    from fcca.cli._app import app

    return [name for name, command in get_command(app).commands.items() if not command.hidden]


class CommandHelp(SphinxDirective):
    """Directive that shows the help, with one section per command."""

    def run(self) -> list[nodes.Node]:
        """Return the help of the program, then a section for each command."""
        found: list[nodes.Node] = [nodes.literal_block(help_of(), help_of(), language="text")]
        for name in command_names():
            section = nodes.section(ids=[f"fcca-{name}"], names=[f"fcca {name}"])
            section += nodes.title("", "", nodes.literal("", f"fcca {name}"))
            text = help_of(name)
            section += nodes.literal_block(text, text, language="text")
            self.state.document.note_implicit_target(section, section)
            found.append(section)
        return found


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive with Sphinx."""
    app.add_directive("command-help", CommandHelp)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
