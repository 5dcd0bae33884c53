"""Commands as processes, interrupted or killed at a moment of their own time, whatever else the machine does."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from command_line import COMMAND

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes
    ----------
    code : int
    signalled : bool
        Whether it was still at work when the signal came.
    seconds, own_seconds : float
        From the signal to the end, by the clock and by the processor time that the command has used.
    """

    code: int
    out: str
    err: str
    signalled: bool
    seconds: float
    own_seconds: float


def run_until(moment: float, sent: signal.Signals, *args: object, cwd: Path | None = None) -> Ended:
    """Run a command, and send it a signal when it has used so many seconds of processor time."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, encoding="utf-8"
    )
    used = wait_until_used(process, moment)
    signalled = process.poll() is None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    if signalled:
        process.send_signal(sent)
    out, err = process.communicate(timeout=300)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ended(process.returncode, out, err, signalled, seconds, total - used if signalled else 0.0)


def wait_until_used(process: subprocess.Popen[str], moment: float) -> float:
    """Wait until a process has used so many seconds of processor time or has ended; the seconds it has used."""
    used = 0.0
    while process.poll() is None and (used := own_seconds(process.pid)) < moment:
        time.sleep(0.005)
    return used


def own_seconds(pid: int) -> float:
    """Processor time that a process and its subprocesses have used, all of their threads together."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except (FileNotFoundError, ProcessLookupError):
        return float("inf")
    running = [used for child in chain(*children) if (used := own_seconds(int(child))) < float("inf")]
    return sum(map(int, fields[11:15])) / TICKS + sum(running)  # those that have ended are in the process's own fields
