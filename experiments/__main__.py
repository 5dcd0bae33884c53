"""Command line: ``python -m experiments run`` and ``python -m experiments page``."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.study import STUDIES, Study

EXIT_FAILED, EXIT_INVALID, EXIT_INTERRUPTED = 1, 2, 130
DEFAULT_OUT = Path("experiments/out")
# Each study has a separate folder, so that a quick run does not replace the results of the full study.
OUT_BY_STUDY = {"paper": DEFAULT_OUT, "quick": Path("experiments/out-quick")}
# measure.py fits this library's tree on continuous features if the library is installed. It is not listed in METHODS.
CONTINUOUS_TREE = "pycontree"

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Repeat the paper's study: compute the results, check the claims, draw the figures.",
)
Out = Annotated[Path, typer.Option(help="Folder for finished cells, results.parquet, figures, tables and the page.")]


@app.command()
def run(
    study: Annotated[str, typer.Argument(help=f"Name of the study: {', '.join(STUDIES)}.")] = "paper",
    out: Annotated[
        Path | None, typer.Option(help="Folder for all results. Default: experiments/out, or experiments/out-quick.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of parallel processes.")] = 2,
    datasets: Annotated[str, typer.Option(help="Use only these data sets, separated by commas.")] = "",
    methods: Annotated[str, typer.Option(help="Use only these methods, separated by commas.")] = "",
    folds: Annotated[str, typer.Option(help="Use only these folds (0 to 4), separated by commas.")] = "",
) -> None:
    """Compute the cells that are not finished yet, then write figures, tables, verdicts and the page."""
    from experiments import other_targets, page, runner
    from experiments.store import Store
    from fcca.exceptions import FCCAError

    chosen, left_out = _chosen(study, datasets, methods, folds)
    out = OUT_BY_STUDY.get(study, DEFAULT_OUT) if out is None else out
    begun, begin = datetime.now(UTC), time.perf_counter()
    try:
        for line in left_out:
            typer.echo(line)
        names = _feature_names(chosen)
        cells = chosen.cells()
        finished = runner.run(cells, out, jobs)
        Store(out).collect(cells, out / page.RESULTS)
        if other_targets.DATA in chosen.datasets and set(other_targets.FCCA_METHODS.values()) <= set(chosen.methods):
            other_targets.measure_more(chosen.folds, out / page.OTHER_TARGETS)
        else:  # the file is from an earlier run on other rows
            (out / page.OTHER_TARGETS).unlink(missing_ok=True)
    except FCCAError as error:
        _fail(str(error), EXIT_INVALID)
    except runner.CellFailedError as error:
        _fail(f"{error} {_resume(out)}", EXIT_FAILED)
    except BrokenProcessPool:
        _fail(f"A process was killed, perhaps because memory ran out (try --jobs 1). {_resume(out)}", EXIT_FAILED)
    except KeyboardInterrupt:
        _fail(f"Interrupted. {_resume(out)}", EXIT_INTERRUPTED)
    this_run = {
        "begun": begun.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - begin, 1),
        "cells": len(cells) - finished,
        "jobs": jobs,
    }
    _note(out / page.ABOUT, chosen, names, left_out, this_run)
    _page(out)


@app.command("page")
def page_only(out: Out = DEFAULT_OUT) -> None:
    """Write figures, tables, verdicts and the page of a finished run again."""
    _page(out)


def _chosen(study: str, datasets: str, methods: str, folds: str) -> tuple[Study, list[str]]:
    """Return the chosen study without the methods that cannot run, and a message on each of these methods."""
    from experiments.methods import METHODS
    from experiments.study import N_FOLDS

    if study not in STUDIES:
        _fail(f"No study is called {study!r}. Choose one of: {', '.join(STUDIES)}.", EXIT_INVALID)
    chosen = STUDIES[study]
    if datasets:
        chosen = replace(chosen, datasets=tuple(_divided(datasets)))
    if methods:
        unknown = [name for name in _divided(methods) if name not in METHODS]
        if unknown:
            _fail(f"No method is called {unknown[0]!r}. Choose from: {', '.join(METHODS)}.", EXIT_INVALID)
        chosen = replace(chosen, methods=tuple(_divided(methods)))
    if folds:
        numbers = _divided(folds)
        if not numbers or not all(number.isdecimal() and int(number) < N_FOLDS for number in numbers):
            _fail(f"--folds must be numbers from 0 to {N_FOLDS - 1}, separated by commas, got {folds!r}.", EXIT_INVALID)
        chosen = replace(chosen, folds=tuple(map(int, numbers)))
    needed = {name: METHODS[name].requires for name in chosen.methods}
    absent = {name: library for name, library in needed.items() if library is not None and find_spec(library) is None}
    lines = [f"{name} is left out: {library} is not installed." for name, library in absent.items()]
    if "continuous" in chosen.methods and find_spec(CONTINUOUS_TREE) is None:
        lines.append(f"No optimal tree on continuous features: {CONTINUOUS_TREE} is not installed.")
    chosen = chosen.without(set(absent))
    if not chosen.cells():
        _fail(" ".join(["Nothing to run: none of the methods can be run on these data sets.", *lines]), EXIT_INVALID)
    return chosen, lines


def _divided(text: str) -> list[str]:
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _feature_names(study: Study) -> dict[str, list[str]]:
    """Return the feature names by data set. A missing data set raises an error here, before any cell is run."""
    from experiments.data import load_fold

    return {name: list(load_fold(name, study.folds[0]).feature_names) for name in study.datasets}


def _note(path: Path, study: Study, names: dict[str, list[str]], left_out: list[str], this_run: dict[str, Any]) -> None:
    """Write facts about the machine and this run to ``path``, after the earlier runs that this one continued."""
    from fcca.utils import atomic_outputs

    earlier = json.loads(path.read_text(encoding="utf-8")).get("runs", []) if path.is_file() else []
    about = {
        "study": study.name,
        "command": shlex.join(["python", "-m", "experiments", *sys.argv[1:]]),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "memory": _memory(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "runs": [*earlier, this_run] if this_run["cells"] or not earlier else earlier,
        "left out": left_out,
        "feature names": names,
    }
    with atomic_outputs(path.parent) as outputs:
        outputs.path(path.name).write_text(json.dumps(about, indent=1, ensure_ascii=False), encoding="utf-8")


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    return "not known"


def _page(out: Path) -> None:
    from experiments import page
    from experiments.verdicts import WORDS

    try:
        judged = page.build(out)
    except page.NoResultsError as error:
        _fail(str(error), EXIT_INVALID)
    except KeyboardInterrupt:
        _fail(f"Interrupted. To continue, run: python -m experiments page --out {out}", EXIT_INTERRUPTED)
    counts = {word: sum(j.word == word for j in judged) for word in WORDS}
    typer.echo(f"Sentences of the paper: {', '.join(f'{n} {word}' for word, n in counts.items())}.")
    typer.echo(f"{out / page.PAGE}")


def _resume(out: Path) -> str:
    command = shlex.join(["python", "-m", "experiments", *sys.argv[1:]])
    return f"Finished cells are kept in {out / 'cells'}. To continue, run the same command again: {command}"


def _fail(message: str, code: int) -> Any:
    typer.echo(message, err=True)
    raise typer.Exit(code)


def main() -> None:
    """Run the command line."""
    app(prog_name="python -m experiments")


if __name__ == "__main__":
    main()
