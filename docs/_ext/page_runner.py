"""Run the code and the commands of a page. The directives and the tests use this module. It does not need Sphinx."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

COLUMNS = 96
FENCE = re.compile(
    r"^(?P<indent> *)```\{?(?P<kind>run|command|python)\}?\n(?P<body>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE
)
OPTION = re.compile(r"^:[a-z-]+:.*\n?", re.MULTILINE)


class Block(NamedTuple):
    """One block of code or commands on a page, with the line where it begins."""

    kind: str
    source: str
    line: int


def blocks_of(text: str) -> Iterator[Block]:
    """Find the blocks to run in the text of a page, in their order."""
    for found in FENCE.finditer(text):
        body = textwrap.dedent(found["body"])
        yield Block(found["kind"], OPTION.sub("", body), text[: found.start()].count("\n") + 2)


def says_something(value: Any) -> bool:
    """Return whether to print the value of a block's last expression.

    None is not printed, and neither are plots, because the page shows their picture.
    """
    is_plot = type(value).__module__.split(".")[0] == "matplotlib" or type(value).__name__.endswith("Display")
    return value is not None and not is_plot


class Page:
    """The variables and the folder that all blocks of one page share."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__page__"}
        self.folder = tempfile.TemporaryDirectory(prefix="fcca-docs-")

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Return a context that changes to the folder of the page and turns warnings into errors."""
        before = Path.cwd()
        os.chdir(self.folder.name)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                # Warnings of other libraries, which do not concern the reader.
                warnings.filterwarnings("ignore", category=DeprecationWarning)
                warnings.filterwarnings("ignore", category=FutureWarning)
                warnings.filterwarnings("ignore", category=ResourceWarning)
                yield
        finally:
            os.chdir(before)

    def run(self, source: str, where: str = "<page>") -> str:
        """Run Python code and return its output.

        As at a Python prompt, the value of the last expression is printed, too.
        """
        tree = ast.parse(source, where)
        last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed = io.StringIO()
        with self.inside(), contextlib.redirect_stdout(printed):
            exec(compile(tree, where, "exec"), self.names)
            if last is not None:
                value = eval(compile(last, where, "eval"), self.names)
                if says_something(value):
                    print(value if isinstance(value, str) else repr(value))
        return printed.getvalue()

    def command(self, line: str) -> str:
        """Run a command line, ``fcca …`` or ``ls …``, and return its output."""
        first, *rest = shlex.split(line, comments=True)
        if first == "ls":
            return "\n".join(sorted(path.name for path in Path(self.folder.name, *rest).iterdir())) + "\n"
        if first != "fcca":
            raise ValueError(f"Pages run fcca and ls, not {first!r}.")
        words = [sys.executable, "-c", "from fcca.cli import main; main()", *rest]
        env = os.environ | {"COLUMNS": str(COLUMNS), "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
        env.pop("FORCE_COLOR", None)
        done = subprocess.run(words, cwd=self.folder.name, env=env, capture_output=True, text=True, encoding="utf-8")
        if done.returncode != 0:
            raise RuntimeError(f"{line} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return "\n".join(text.rstrip() for text in done.stdout.splitlines()) + "\n"
