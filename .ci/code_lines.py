"""Count the lines of code per room, without docstrings, comments and blank lines.

python .ci/code_lines.py [REVISION] prints one line per room of src/fcca, of the working tree or of a revision.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/fcca/"
SKIPPED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def code_lines(source: str) -> int:
    """Count the lines of a module that hold code.

    Parameters
    ----------
    source : str
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SKIPPED:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node) is not None
        ):
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    return len(lines)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def lines_per_room(revision: str | None) -> Counter[str]:
    """Count the lines of each room of the package.

    Parameters
    ----------
    revision : str or None
        A commit; None for the working tree.
    """
    if revision is None:
        sources = {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / PACKAGE).rglob("*.py")}
    else:
        names = _git("ls-tree", "-r", "--name-only", revision, PACKAGE).split()
        sources = {name: _git("show", f"{revision}:{name}") for name in names if name.endswith(".py")}
    counts: Counter[str] = Counter()
    for name, source in sources.items():
        first, *rest = name.removeprefix(PACKAGE).split("/")
        counts[first if rest else "(root)"] += code_lines(source)
    return counts


def main() -> None:
    """Print the counts."""
    counts = lines_per_room(sys.argv[1] if len(sys.argv) > 1 else None)
    for room, n in sorted(counts.items()):
        print(f"{room:18} {n:6,}")
    print(f"{'total':18} {counts.total():6,}")


if __name__ == "__main__":
    main()
