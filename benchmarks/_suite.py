"""Run all comparisons, each in a separate process, because highspy and ortools cannot be imported together.

A script that fails or exceeds its time limit is stopped and reported. Its results so far are kept, and the other scripts
still run.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import _results
import _summary

HERE = Path(__file__).parent
#: Seconds for all scripts together. On a busy or slow machine, scripts that would take longer are stopped.
TOTAL_LIMIT, QUICK_TOTAL_LIMIT = 1740.0, 300.0
HEARTBEAT_SECONDS = 30.0
LAST_WORDS_SECONDS = 5.0


@dataclass(frozen=True)
class Size:
    """The arguments of a script, and its time limit in seconds."""

    arguments: str
    limit: float


@dataclass(frozen=True)
class Script:
    """One comparison in two sizes.

    ``quick`` is None if no part of it is quick enough. ``program`` is a program that must be installed.
    """

    name: str
    bench: Size
    quick: Size | None
    program: str = ""
    has_record: bool = True

    @property
    def path(self) -> Path:
        return HERE / f"{self.name}.py"


#: In this order, the peers first. The limits leave room: on a quiet machine a script takes half of its limit, or less.
SCRIPTS = (
    Script("speed", Size("--limit 5", 120), Size("--data boston --points 5 --highs-points 2 --limit 2", 25)),
    Script(
        "ensembles",
        Size("--points 100 --peer-points 10 --limit 3 --budget 3", 420),
        Size(
            "--data 'breast cancer' --models 'GB 100×1' 'GB 100×3' --points 30 "
            "--peer-points 2 --limit 1 --budget 1 --one-core",
            40,
        ),
    ),
    Script(
        "forests",
        Size("--data 'breast cancer' magic --models RF LightGBM --rows 30 --limit 5", 60),
        Size("--data 'breast cancer' --models RF --rows 5 --limit 2", 20),
    ),
    Script(
        "row_samples",
        Size("--part fits orders --data 'breast cancer' magic --max-rows 250 --orders 50 --jobs 1", 90),
        Size("--part fits --data 'breast cancer' --max-rows 60 --jobs 1", 20),
    ),
    Script("authors", Size("", 240), Size("--quick --rows 120", 30)),
    Script("paper_milp", Size("--points 20", 150), Size("boston --points 5 --gap-shares 1", 25)),
    Script("paper_figures", Size("", 200), Size("--data boston", 30)),
    Script(
        "trees",
        Size("--limit 4 --own-limit 20 --rows 300000", 480),
        Size("--data boston --depths 3 --limit 1 --rows 0", 60),
    ),
    Script(
        "raw_trees",
        Size("--data boston ionosphere bank pima page room --depths 3 --peer-limit 15", 90),
        Size("--quick --data boston --peer-limit 5", 30),
    ),
    Script(
        "deep_trees",
        Size("--depths 4 --limit 20", 120),
        Size("--quick --limit 5", 40),
    ),
    Script("selection", Size("--short", 300), Size("--tiny", 30)),
    Script("overhead", Size("--quick", 120), Size("--quick --data boston", 20)),
    Script("rules", Size("--points 100 --rounds 3", 60), Size("--data 'breast cancer' --points 30 --rounds 2", 20)),
    Script("categories", Size("", 120), Size("--data titanic", 30)),
    Script("tables", Size("--quick", 90), Size("--data titanic --models gb --rows 300", 30)),
    Script(
        "quality",
        Size("--fresh --tables boston pima titanic --splits 1 --budget 2 --limit 20", 150),
        Size(
            "--fresh --tables titanic --splits 1 --budget 0.4 "
            "--methods 'fcca default' deciles 'CART depth 3' 'CART 8 leaves'",
            35,
        ),
    ),
    Script("scorecard", Size("", 900), Size("--quick", 60)),
    Script("million", Size("", 180), Size("--rows 20000 --target-rows 2000", 40)),
    Script("streaming", Size("--quick", 180), None),
    Script("dask_cluster", Size("", 400), None),
    Script("workers", Size("--quick", 120), None, has_record=False),
    Script("instructions", Size("", 300), None, program="valgrind", has_record=False),
)


class Outcome(NamedTuple):
    """The outcome of one script: done, failed, stopped by its time limit, or skipped."""

    name: str
    command: str
    outcome: str
    reason: str
    seconds: float
    cpu_seconds: float  # of the script and what it started; on a machine that others use, less than the seconds
    date: str
    met: int = 0
    missed: int = 0
    recorded: bool = False  # whether there is a record of this very run


class Ended(NamedTuple):
    """How a process ended; ``code`` is None if it reached its time limit."""

    code: int | None
    seconds: float
    last_line: str


def run_all(scripts: Sequence[Script], quick: bool, folder: Path, say: Callable[[str], None] = print) -> list[Outcome]:
    """Run the scripts and leave their records in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    begin, outcomes = time.monotonic(), []
    for number, script in enumerate(scripts, start=1):
        size = (script.quick or Size("", 0)) if quick else script.bench
        left = begin + (QUICK_TOTAL_LIMIT if quick else TOTAL_LIMIT) - time.monotonic()
        size = replace(size, limit=max(min(size.limit, round(left)), 0))
        command = " ".join(["python", f"benchmarks/{script.path.name}", size.arguments]).strip()
        elapsed = clock(time.monotonic() - begin)
        say(f"[{number}/{len(scripts)}] {command}   ({elapsed} elapsed; this one at most {clock(size.limit)})")
        is_left_out = quick and script.quick is None
        outcome = left_out(script, command) if is_left_out else run_one(script, size, command, folder, say)
        outcomes.append(outcome)
        say(f"[{number}/{len(scripts)}] {outcome_text(outcome)}")
    return outcomes


def run_one(script: Script, size: Size, command: str, folder: Path, say: Callable[[str], None]) -> Outcome:
    """Run one script. Its record replaces an earlier record, unless it is empty."""
    if size.limit == 0:
        reason = "the time for the whole run was up before its turn"
        return Outcome(script.name, command, "timeout", reason, 0.0, 0.0, today())
    reason = absence(script)
    if reason:
        say(f"  {_results.SKIPPED} {reason}")
        return Outcome(script.name, command, "skipped", reason, 0.0, 0.0, today())
    new = folder / f".{script.name}.json"
    new.unlink(missing_ok=True)
    arguments = [sys.executable, str(script.path), *shlex.split(size.arguments)]
    arguments += ["--json", str(new)] if script.has_record else []
    lines: list[str] = []

    def hear(line: str) -> None:
        lines.append(line)
        say(f"  {line}")

    cpu = cpu_of_children()
    ended = followed(arguments, size.limit, hear, script.name)
    record = kept(new, folder / f"{script.name}.json", ended, size.limit)
    verdicts = _results.verdicts("\n".join(lines))
    met = sum(one["passed"] for one in verdicts)
    how, why = judged(ended, size.limit, record) if script.has_record else judged_alone(ended, size.limit)
    return Outcome(
        script.name,
        command,
        how,
        why,
        round(ended.seconds, 1),
        round(cpu_of_children() - cpu, 1),
        today(),
        met,
        len(verdicts) - met,
        record is not None,
    )


def left_out(script: Script, command: str) -> Outcome:
    """Return the outcome of a script that is not part of the quick run."""
    return Outcome(script.name, command, "skipped", "not part of the quick run", 0.0, 0.0, today())


def today() -> str:
    """Return the current date in UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def absence(script: Script) -> str:
    """Return the reason why a script cannot run here; empty if it can."""
    if not script.path.is_file():
        return f"benchmarks/{script.path.name} is not there"
    if script.program and shutil.which(script.program) is None:
        return f"{script.program} is not installed"
    return ""


def kept(new: Path, path: Path, ended: Ended, limit: float) -> dict[str, Any] | None:
    """Move the record of a run to its place, and return it; None if the script wrote none."""
    if not new.is_file():
        return None
    record: dict[str, Any] = json.loads(new.read_text(encoding="utf-8"))
    if ended.code is None:
        record["ended"] = f"ended after {limit:g} s, its limit in the suite"
    new.unlink()
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return record


def judged(ended: Ended, limit: float, record: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return the outcome of a script, and the reason if it is not done."""
    n_lines = sum(map(len, record["tables"].values())) if record else 0
    if ended.code is None:
        return "timeout", f"ended after {limit:g} s, its limit in the suite; {n_lines} lines of its tables are kept"
    if ended.code != 0:
        return "failed", f"ended with {ended.code}: {ended.last_line or 'no message'}"
    if record is None:
        return "failed", "it wrote no record"
    if not n_lines:
        return "skipped", "; ".join(record.get("skipped", ())) or "it compared nothing"
    return "done", ""


def judged_alone(ended: Ended, limit: float) -> tuple[str, str]:
    """Return outcome and reason for a script that writes no record."""
    if ended.code is None:
        return "timeout", f"ended after {limit:g} s, its limit in the suite"
    return ("failed", f"ended with {ended.code}: {ended.last_line or 'no message'}") if ended.code else ("done", "")


def followed(arguments: Sequence[str], limit: float, say: Callable[[str], None], name: str) -> Ended:
    """Run a command and pass its lines on. At the time limit, stop it and all its child processes."""
    begin = time.monotonic()
    process = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env=os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"},
        start_new_session=True,
    )
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=read_lines, args=(process, lines), daemon=True).start()
    last, is_open = "", True
    try:
        while is_open:
            left = begin + limit - time.monotonic()
            if left <= 0:
                return Ended(None, time.monotonic() - begin, last)
            try:
                line = lines.get(timeout=min(left, HEARTBEAT_SECONDS))
            except queue.Empty:
                say(f"… {name}: {clock(time.monotonic() - begin)} of at most {clock(limit)}")
                continue
            is_open = line is not None
            if line is not None:
                say(line)
                last = line.strip() if any(letter.isalnum() for letter in line) else last
        try:
            code = process.wait(max(begin + limit - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            return Ended(None, time.monotonic() - begin, last)
        return Ended(code, time.monotonic() - begin, last)
    finally:
        end_group(process)


def read_lines(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    """Put every line into the queue, and None after the last line."""
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line.rstrip("\n"))
    lines.put(None)


def end_group(process: subprocess.Popen[str]) -> None:
    """Stop a process and its child processes: first ask them to end, then kill them."""
    if not hasattr(os, "killpg"):
        process.kill()
    for sign in (signal.SIGTERM, signal.SIGKILL) if hasattr(os, "killpg") else ():
        try:
            os.killpg(process.pid, sign)
        except (ProcessLookupError, PermissionError):
            break  # nothing is left of it
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LAST_WORDS_SECONDS)
    process.wait()


def cpu_of_children() -> float:
    """Return the CPU seconds of ended processes; 0 if the system does not report them."""
    times = os.times()
    return times.children_user + times.children_system


def clock(seconds: float) -> str:
    """Format seconds as minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


def outcome_text(outcome: Outcome) -> str:
    """Describe the outcome of a script in one line."""
    if outcome.outcome == "skipped":
        return f"{outcome.name}: skipped, {outcome.reason}"
    text = f"{outcome.name}: {outcome.outcome} in {clock(outcome.seconds)}, {outcome.met} bars met, {outcome.missed} missed"
    return f"{text}; {outcome.reason}" if outcome.reason else text


# --- what it came to --------------------------------------------------------------------------------------------------


def summarised(outcomes: Sequence[Outcome], quick: bool, folder: Path, load_before: float) -> dict[str, Any]:
    """Write the summary of a run to the folder. For scripts that did not run now, use earlier results."""
    path = folder / "summary.json"
    now = {outcome.name: outcome._asdict() for outcome in outcomes}
    before = json.loads(path.read_text(encoding="utf-8"))["scripts"] if path.is_file() else []
    merged = {one["name"]: one for one in before} | now
    ordered = [merged[name] for name in dict.fromkeys([*(s.name for s in SCRIPTS), *merged]) if name in merged]
    records = {}
    for one in ordered:
        file = folder / f"{one['name']}.json"
        if one["recorded"] and file.is_file():
            records[one["name"]] = json.loads(file.read_text(encoding="utf-8"))
    dates = sorted({one["date"] for one in ordered})
    about = {
        "size": "quick" if quick else "bench",
        "command": "python -m benchmarks --quick" if quick else "python -m benchmarks",
        "date": dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}",
        "seconds": round(sum(one["seconds"] for one in ordered), 1),
        "machine": _results.machine() | {"load before": round(load_before, 2), "load after": round(_results.load(), 2)},
        "versions": _results.versions(),
    }
    found = _summary.summary(records, ordered, about)
    path.write_text(json.dumps(_results.plain(found), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return found
