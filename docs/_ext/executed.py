"""Directives that run the code and the commands on a page, and show them with their output.

``{run}`` shows Python code and its output. With ``:figure: text``, it also shows the figure that the code drew, with this
alternative text. With ``:folded: title``, the code is hidden until the reader opens it. All blocks of a page share their
variables. ``{command}`` shows a command line and its output. All commands of a page run in the same folder. If a block
fails or warns, the build fails.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from page_runner import Page
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class _Executed(SphinxDirective):
    has_content = True

    @property
    def page(self) -> Page:
        if "fcca_page" not in self.env.temp_data:  # Sphinx clears temp_data for every document
            self.env.temp_data["fcca_page"] = Page()
        page: Page = self.env.temp_data["fcca_page"]
        return page

    def output(self, printed: str) -> nodes.literal_block:
        text = printed.strip("\n").rstrip()
        is_table = "  " in text.replace("\n  ", "\n")
        return self.block(text, "text", "fcca-output" if is_table else "fcca-words")

    def block(self, text: str, language: str, kind: str) -> nodes.literal_block:
        node = nodes.literal_block(text, text, language=language, classes=[kind])
        self.set_source_info(node)
        return node


class RunPython(_Executed):
    """Directive that runs Python code and shows the code, its output and its figure."""

    option_spec: ClassVar = {"figure": directives.unchanged, "folded": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the code, its output and its figure."""
        source = "\n".join(self.content)
        source_file, line = self.get_source_info()
        try:
            printed = self.page.run(source, f"{source_file}:{line}")
        except Exception as error:
            raise self.error(f"This block failed: {type(error).__name__}: {error}") from error
        found: list[nodes.Node] = [self.block(source, "python", "fcca-code")]
        if "folded" in self.options:
            opened = f'<details class="fcca-folded"><summary>{escape(self.options["folded"])}</summary>'
            found = [nodes.raw("", opened, format="html"), *found, nodes.raw("", "</details>", format="html")]
        if printed.strip():
            found.append(self.output(printed))
        if "figure" in self.options:
            found.append(self._figure())
        return found

    def _figure(self) -> nodes.Node:
        from matplotlib import pyplot

        folder = Path(self.env.srcdir, "generated", "figures")
        folder.mkdir(parents=True, exist_ok=True)
        serial = self.env.new_serialno(f"figure-{self.env.docname}")
        path = folder / f"{self.env.docname.replace('/', '-')}-{serial}.png"
        pyplot.gcf().savefig(path, dpi=144, bbox_inches="tight", facecolor="white")
        pyplot.close("all")
        uri = "/" + path.relative_to(self.env.srcdir).as_posix()
        return nodes.image(uri=uri, alt=self.options["figure"], classes=["fcca-figure"])


class RunCommand(_Executed):
    """Directive that runs command lines and shows them with their output."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes of each command and of its output."""
        found: list[nodes.Node] = []
        for line in filter(str.strip, self.content):
            try:
                printed = self.page.command(line)
            except Exception as error:
                raise self.error(str(error)) from error
            found.append(self.block(line, "sh", "fcca-code"))
            if printed.strip():
                found.append(self.output(printed))
        return found


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives with Sphinx."""
    app.add_directive("run", RunPython)
    app.add_directive("command", RunCommand)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
