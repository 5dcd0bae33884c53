"""A program that opens damaged files and says of each what came of it; some might take the process with them."""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np

from fcca.exceptions import FCCAError
from fcca.models import OpenColumn
from fcca.models.files import _trial_load
from hardening.mutations import mutated
from hardening.seeds import KINDS

MOST_ADDRESSES = 12 * 2**30  # libraries reserve far more than they use
SECONDS_PER_FILE = 150  # more is a hang; a trial may take a minute
# Files of models have a process each, because their trials fork once more. It begins with these libraries, but not with
# CatBoost, which starts threads when it is imported.
PRELOADED = {
    "skops": ("skops.io", "sklearn.ensemble"),
    "skops of boosters": ("skops.io", "xgboost", "lightgbm"),
    "XGBoost json": ("xgboost",),
    "XGBoost ubj": ("xgboost",),
    "LightGBM": ("lightgbm",),
    "CatBoost cbm": (),
    "CatBoost json": (),
}


def opened(kind: str, path: Path) -> None:
    """Open a file as the package does, and use what is in it."""
    if kind == "tree.json":
        from fcca.export import EXPORTERS, from_json

        tree = from_json(path.read_bytes())
        for exporter in EXPORTERS.values():
            exporter.write(tree)
    elif kind == "thresholds.json":
        from fcca import ThresholdTable

        table = ThresholdTable.from_json(path.read_bytes().decode(errors="surrogateescape"))
        table.names()
        table.to_json()
    elif kind == "certificate.json":
        verified(path)
    elif kind == "rules.yaml":
        from fcca.constraints import load_rules

        load_rules(path)
    elif kind in ("csv", "parquet"):
        from fcca.cli._read_table import n_values, read_data

        n_values(path)
        read_data(path, None).guessed()
    else:
        used_model(path)


def verified(path: Path) -> None:
    """Read a certificate and check it against the rows and the black box of one of the honest ones."""
    from export.trees import fitted
    from fcca.certificates import read_certificate, verify

    classifier, X = fitted(0)
    rows = classifier.training_data()
    verify(read_certificate(path.read_bytes()), X, rows.y, classifier.discretizer_.estimator_, sample=1, time_limit=5.0)


def in_fork(work: Callable[[], int], seconds: float) -> int:
    """Exit code of some work in a fork of this process; -SIGALRM where the time was not enough.

    A fork begins with all libraries imported, where a new Python would take seconds. Only this program's first process is
    forked from, which has not used any library: their threads do not survive it.
    """
    pid = os.fork()
    if pid == 0:
        signal.alarm(int(seconds) + 1)
        code = 99
        try:
            code = work()
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def trial(arguments: list[str], content: bytes, seconds: float) -> subprocess.CompletedProcess[bytes]:
    """The trial of a model file, in a fork instead of a new Python."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as answer:
        given.write(content)
        given.seek(0)

        def work() -> int:
            os.dup2(given.fileno(), 0)
            os.dup2(answer.fileno(), 1)
            sys.stdin = open(0)  # noqa: SIM115 - until the process ends
            try:
                _trial_load.child(*arguments)
            except SystemExit as leaving:
                return int(leaving.code or 0)

        code = in_fork(work, seconds)
        if code == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(arguments, seconds)
        answer.seek(0)
        return subprocess.CompletedProcess(arguments, code, answer.read())


def used_model(path: Path) -> None:
    """Load a model, read it and let it answer some rows."""
    from fcca import read_model
    from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem
    from fcca.models import load_model

    classifier = load_model(path)
    model = read_model(classifier)
    if model.n_features > 1000:
        return
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, model.n_features)) * 3
    X[:3] = X[:3] * 1e6
    for j, column in enumerate(model.columns or ()):
        if column.categories is not None:
            X[:, j] = rng.integers(len(column.categories), size=len(X))
    scores = model.scores(X)
    model.probabilities(scores)
    if not any(isinstance(column, OpenColumn) for column in model.columns or ()):
        CounterfactualEngine(classifier, CounterfactualProblem(), model=model).predict(X)


def outcome(kind: str, path: Path) -> str:
    try:
        opened(kind, path)
    except FCCAError as error:
        return f"refused {type(error).__name__} {' '.join(str(error).split())[:160]!r}"
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        ours = [f for f in traceback.extract_tb(error.__traceback__) if "/fcca/" in f.filename]
        where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
        text = " ".join(str(error).split())[:200]
        return f"UNTYPED {type(error).__name__} {text!r} at {where} in {Path(last.filename).name}:{last.lineno}"
    return "loaded"


def main(folder: str, *wanted: str) -> None:
    """Open damaged files; ``wanted`` are the kind, the first number and the end, again and again."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    _trial_load._run = trial
    _trial_load.LEAST_MEMORY = 2 * 2**30  # several of these programs may run at once
    for kind, first, end in batched(wanted, 3):
        seeds = [path.read_bytes() for path in sorted(Path(folder).glob(f"{kind}-*.seed"))]
        path = Path(folder) / f"damaged{KINDS[kind][2]}"
        for library in PRELOADED.get(kind, ()):
            import_module(library)
        number, step = int(first), 1 if kind in PRELOADED else int(end)
        while number < int(end):
            last = min(int(end), number + step)
            code = in_fork(partial(told, kind, range(number, last), path, seeds), SECONDS_PER_FILE)
            number = last
            if code:
                begun = int(path.with_suffix(".begun").read_text())
                print(f"{kind}|{begun}|0|ENDED the process with {code}", flush=True)
                number = begun + 1


def told(kind: str, numbers: range, path: Path, seeds: list[bytes]) -> int:
    """Damage and open some files, and print the outcome of each."""
    faulthandler.enable()
    for number in numbers:
        signal.alarm(SECONDS_PER_FILE)
        path.with_suffix(".begun").write_text(str(number))
        path.write_bytes(mutated(seeds[number % len(seeds)], number, structured=KINDS[kind][1]))
        what = outcome(kind, path)
        print(f"{kind}|{number}|{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}|{what}", flush=True)
    return 0


def batched(values: tuple[str, ...], n: int) -> list[tuple[str, ...]]:
    return [values[begin : begin + n] for begin in range(0, len(values), n)]


if __name__ == "__main__":
    main(*sys.argv[1:])
