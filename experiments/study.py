"""What is computed: data sets × folds × methods. A cell is one method on one fold; all its granularities come from it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import fcca
from experiments.data import data_digest
from experiments.methods import METHODS
from fcca import _core

PAPER_DATASETS = ("boston", "arrhythmia", "ionosphere", "magic", "particle", "vehicle")
N_FOLDS = 5
#: Files of the study and packages that the numbers depend on.
CODE = ("datasets/*.py", "data.py", "measure.py", "methods.py")
PACKAGES = ("fcca", "numpy", "scipy", "scikit-learn", "pandas", "optbinning", "pycontree")


@dataclass(frozen=True)
class Cell:
    """One unit of work."""

    dataset: str
    fold: int
    method: str

    @property
    def key(self) -> str:
        """A name that is a file name too."""
        return f"{self.dataset}-{self.fold}-{self.method}"


@dataclass(frozen=True)
class Study:
    """A declared study; ``cells`` lists its work, the long cells of each fold first."""

    name: str
    datasets: tuple[str, ...] = PAPER_DATASETS
    folds: tuple[int, ...] = tuple(range(N_FOLDS))
    methods: tuple[str, ...] = tuple(METHODS)

    def cells(self) -> list[Cell]:
        """All cells, in the order of the results."""
        return [
            Cell(dataset, fold, method)
            for dataset in self.datasets
            for fold in self.folds
            for method in self.methods
            if METHODS[method].datasets is None or dataset in METHODS[method].datasets
        ]

    def without(self, methods: set[str]) -> Study:
        """The same study, less some methods."""
        return replace(self, methods=tuple(method for method in self.methods if method not in methods))


STUDIES = {
    "paper": Study("paper"),
    "quick": Study(
        "quick",
        datasets=("boston", "ionosphere"),
        folds=(0, 1),
        methods=("continuous", "gtre", "fcca", "fcca-forest", "fcca-svm", "kbins", "lambda0-path"),
    ),
}


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on; absent packages are left out."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@lru_cache
def code_digest() -> str:
    """Digest of the study's own code and of the package's, the compiled core included."""
    package = Path(fcca.__file__).parent
    files = [file for pattern in CODE for file in sorted(Path(__file__).parent.glob(pattern))]
    files += sorted(package.rglob("*.py"))
    files.append(Path(_core.__file__))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def fingerprint(cell: Cell) -> str:
    """Changes with whatever would change the cell's numbers: settings, data, code and versions of packages."""
    settings = METHODS[cell.method].settings
    parts = [cell.key, settings, data_digest(cell.dataset), code_digest(), sorted(versions().items())]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]
