"""Records of benchmark results: ``--json FILE`` of every script.

A script calls :func:`recorded` with its ``main``. When it prints a line of a table, it calls :func:`row` with the same
figures. The printed output is kept too: lines that begin with PASS or MISS are verdicts, and lines that begin with
``skipped:`` name what was left out. The file is rewritten with every row, so that a script that is stopped early loses
nothing. The suite (``python -m benchmarks``) and the documentation build their tables from these files.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import importlib.util
import io
import json
import math
import os
import platform
import shlex
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO

#: Named in the record where they are installed.
LIBRARIES = (
    *("fcca", "numpy", "scipy", "scikit-learn", "xgboost", "lightgbm", "catboost"),
    *("gurobipy", "highspy", "ortools", "treecf", "pystreed", "gosdt", "pycontree", "SupervisedDiscretization"),
    *("licketysplit", "imodels", "interpret-core", "optbinning"),
    *("pandas", "pyarrow", "dask", "distributed"),
)

SKIPPED = "skipped:"
RUNNING = "ended before its end"

_tables: dict[str, list[dict[str, Any]]] = {}
_shortfalls: list[dict[str, str]] = []
_record: _Record | None = None


def row(table: str, /, **figures: Any) -> None:
    """Record one line of a table.

    A column named "times faster" is the time of the program in the column ``who``, divided by the time of fcca. A column
    named "times faster than X" is the same ratio for the program X. Below 1, the documentation says that fcca is slower. If
    the ratio is a lower bound, the column "is at least" or "is at least than X" is true.
    """
    _tables.setdefault(table, []).append({name: plain(value) for name, value in figures.items()})
    if _record is not None:
        _record.write(RUNNING)


def short(who: str, text: str) -> None:
    """Print and record an advantage of a peer over fcca other than time."""
    print(f"----  {who}: {text}", flush=True)
    _shortfalls.append({"who": who, "text": text})


def skipped(text: str) -> None:
    """Print which part is left out, and why."""
    print(f"{SKIPPED} {text}", flush=True)


def is_installed(module: str, name: str = "") -> bool:
    """Check without an import whether a peer is installed. If not, print that it is skipped."""
    if importlib.util.find_spec(module) is not None:
        return True
    skipped(f"{name or module} is not installed (pip install 'fcca[bench]')")
    return False


def recorded(main: Callable[[], None]) -> None:
    """Run a script. With ``--json FILE`` in its arguments, write its results there, even if it fails midway."""
    global _record
    path = _taken_from(sys.argv)
    if path is None:
        return main()
    _record = _Record(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with redirect_stdout(_record.kept):
            main()
    except SystemExit as stopped:
        _record.write(None if stopped.code in (None, 0) else str(stopped.code))
        raise
    except BaseException as error:
        _record.write(f"{type(error).__name__}: {error}")
        raise
    else:
        _record.write(None)
    finally:
        _record = None


class _Record:
    """The JSON file with the record of one run."""

    def __init__(self, path: Path) -> None:
        self.path, self.kept = path, _Kept(sys.stdout, lambda: self.write(RUNNING))
        self.began, self.load = datetime.datetime.now(datetime.UTC), load()
        # Folders of this machine by their last name: records are read elsewhere.
        given = [Path(word).name if Path(word).is_absolute() else word for word in sys.argv[1:]]
        self.command = " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *map(shlex.quote, given)])
        self.machine, self.versions = machine(), versions()

    def write(self, ended: str | None) -> None:
        """Write all results so far. ``ended`` is the reason why the run is incomplete, or None."""
        text = self.kept.text.getvalue()
        record = {
            "version": 1,
            "name": Path(sys.argv[0]).stem,
            "command": self.command,
            "date": self.began.date().isoformat(),
            "seconds": round((datetime.datetime.now(datetime.UTC) - self.began).total_seconds(), 1),
            "ended": ended,
            "machine": self.machine | {"load before": round(self.load, 2), "load after": round(load(), 2)},
            "versions": self.versions,
            "tables": _tables,
            "verdicts": verdicts(text),
            "shortfalls": _shortfalls,
            "skipped": [line.removeprefix(SKIPPED).strip() for line in text.splitlines() if line.startswith(SKIPPED)],
            "text": text,
        }
        whole = self.path.with_name(self.path.name + ".new")
        whole.write_text(json.dumps(plain(record), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        whole.replace(self.path)


def _taken_from(arguments: list[str]) -> Path | None:
    """Remove ``--json`` and its file from the arguments, and return the file."""
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
    """A stream that also keeps the printed output, and calls a function at most once per second."""

    def __init__(self, stream: TextIO, call: Callable[[], None]) -> None:
        self.stream, self.text, self.call, self.last = stream, io.StringIO(), call, time.monotonic()

    def write(self, text: str) -> int:
        self.text.write(text)
        if time.monotonic() - self.last > 1:
            self.call()
            self.last = time.monotonic()
        return self.stream.write(text)

    def flush(self) -> None:
        self.stream.flush()

    def fileno(self) -> int:
        return self.stream.fileno()


def verdicts(text: str) -> list[dict[str, Any]]:
    """Return the lines that begin with PASS or MISS, each with the indented lines below it."""
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
    """Describe the machine of the measurement."""
    return {"cpu": _cpu(), "cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()}


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def load() -> float:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan


def versions() -> dict[str, str]:
    """Return the versions of the installed libraries."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def plain(value: Any) -> Any:
    """Convert a value for JSON: no numpy types, and null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    elif hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
