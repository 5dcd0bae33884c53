"""What a benchmark found, as a file: ``--json FILE`` of every script.

A script calls :func:`recorded` with its ``main`` and, where it prints a line of a table, :func:`row` with the same figures.
What it prints is kept too; its lines that begin with PASS or MISS are the verdicts. The documentation makes its tables of
these files.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import io
import json
import math
import os
import platform
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO

#: Named in the record where they are installed.
LIBRARIES = (
    *("fcca", "numpy", "scipy", "scikit-learn", "xgboost", "lightgbm", "catboost"),
    *("gurobipy", "highspy", "ortools", "treecf", "pystreed", "gosdt", "pycontree"),
)

_tables: dict[str, list[dict[str, Any]]] = {}


def row(table: str, /, **figures: Any) -> None:
    """Keep one line of a table.

    A column named "times faster", or "times faster than X", says how many times faster fcca is than the line's ``who``, or
    X; below 1 the documentation says that fcca is slower.
    """
    _tables.setdefault(table, []).append({name: plain(value) for name, value in figures.items()})


def recorded(main: Callable[[], None]) -> None:
    """Run a script; with ``--json FILE`` among its arguments, write what it found there."""
    path = _taken_from(sys.argv)
    if path is None:
        return main()
    began = datetime.datetime.now(datetime.UTC)
    load = os.getloadavg() if hasattr(os, "getloadavg") else (math.nan,) * 3
    kept = _Kept(sys.stdout)
    with redirect_stdout(kept):
        main()
    text = kept.text.getvalue()
    record = {
        "version": 1,
        "name": Path(sys.argv[0]).stem,
        "command": " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "date": began.date().isoformat(),
        "seconds": round((datetime.datetime.now(datetime.UTC) - began).total_seconds(), 1),
        "machine": machine() | {"load before": round(load[0], 2), "load after": round(_load(), 2)},
        "versions": versions(),
        "tables": _tables,
        "verdicts": verdicts(text),
        "text": text,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(plain(record), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _taken_from(arguments: list[str]) -> Path | None:
    """The file after ``--json``, with both taken out of the arguments."""
    for at, word in enumerate(arguments):
        if word == "--json":
            if at + 1 == len(arguments):
                sys.exit("--json needs the name of a file.")
            path = Path(arguments[at + 1])
            del arguments[at : at + 2]
            return path
        if word.startswith("--json="):
            del arguments[at]
            return Path(word.removeprefix("--json="))
    return None


class _Kept(io.TextIOBase):
    """Prints to a stream and keeps what was printed."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.text = stream, io.StringIO()

    def write(self, text: str) -> int:
        self.text.write(text)
        return self.stream.write(text)

    def flush(self) -> None:
        self.stream.flush()

    def fileno(self) -> int:
        return self.stream.fileno()


def verdicts(text: str) -> list[dict[str, Any]]:
    """The lines that begin with PASS or MISS, with the indented lines below each."""
    found: list[dict[str, Any]] = []
    for line in text.splitlines():
        if line.startswith(("PASS", "MISS")):
            found.append({"passed": line.startswith("PASS"), "text": line[4:].lstrip(": ").rstrip()})
        elif found and line.startswith("      ") and found[-1].get("open", True):
            found[-1]["text"] += f"; {line.strip()}"
        elif found:
            found[-1]["open"] = False
    return [{"passed": one["passed"], "text": one["text"]} for one in found]


def machine() -> dict[str, Any]:
    """What it was measured on."""
    return {"cpu": _cpu(), "cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()}


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _load() -> float:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan


def versions() -> dict[str, str]:
    """Of the libraries that are installed."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def plain(value: Any) -> Any:
    """The same as JSON can hold it: no numpy, and null for what it has no number for."""
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    elif hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
