"""A program that opens damaged files and says of each what came of it; some might take the process with them."""

from __future__ import annotations

import faulthandler
import resource
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np

from fcca.exceptions import FCCAError
from hardening.mutations import mutated
from hardening.seeds import KINDS

MOST_ADDRESSES = 12 * 2**30  # libraries reserve far more than they use


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
        from fcca.cli._data import n_values, read_data

        n_values(path)
        read_data(path, None).guessed()
    else:
        used_model(path)


def verified(path: Path) -> None:
    """Read a certificate and check it against the rows and the black box of one of the honest ones."""
    from export.trees import fitted
    from fcca.export import read_certificate
    from fcca.verification import verify

    classifier, X = fitted(0)
    rows = classifier.training_data()
    verify(read_certificate(path.read_bytes()), X, rows.y, classifier.discretizer_.estimator_, sample=1, time_limit=5.0)


def used_model(path: Path) -> None:
    """Load a model, read it and let it answer some rows."""
    from fcca import read_model
    from fcca.models import load_model

    classifier = load_model(path)
    model = read_model(classifier)
    if model.columns is not None and model.columns.has_categories:
        return
    if model.n_features > 1000:
        return
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, model.n_features)) * 3
    X[:3] = X[:3] * 1e6
    scores = model.scores(X)
    model.probabilities(scores)
    classifier.predict(X)


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
    faulthandler.enable()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    for kind, first, end in batched(wanted, 3):
        _, structured, suffix = KINDS[kind]
        seeds = [path.read_bytes() for path in sorted(Path(folder).glob(f"{kind}-*.seed"))]
        path = Path(folder) / f"damaged{suffix}"
        for number in range(int(first), int(end)):
            path.write_bytes(mutated(seeds[number % len(seeds)], number, structured=structured))
            print(f"{kind}|{number}|begins", flush=True)
            print(f"{kind}|{number}|{outcome(kind, path)}", flush=True)
    print(f"memory|0|{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}", flush=True)


def batched(values: tuple[str, ...], n: int) -> list[tuple[str, ...]]:
    return [values[begin : begin + n] for begin in range(0, len(values), n)]


if __name__ == "__main__":
    main(*sys.argv[1:])
