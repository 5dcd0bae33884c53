"""Definition of the study: data sets × folds × methods.

A cell is one method on one fold of a data set, with all granularities of the method.
"""

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
#: Source files of the study, and packages, on which the results depend.
CODE = ("datasets/*.py", "data.py", "measure.py", "methods.py")
PACKAGES = ("fcca", "numpy", "scipy", "scikit-learn", "pandas", "optbinning", "pycontree")


@dataclass(frozen=True)
class Cell:
    """One method on one fold of a data set."""

    dataset: str
    fold: int
    method: str

    @property
    def key(self) -> str:
        """Name of the cell, also used as the file name."""
        return f"{self.dataset}-{self.fold}-{self.method}"


@dataclass(frozen=True)
class Study:
    """The data sets, folds and methods of a study."""

    name: str
    datasets: tuple[str, ...] = PAPER_DATASETS
    folds: tuple[int, ...] = tuple(range(N_FOLDS))
    methods: tuple[str, ...] = tuple(METHODS)

    def cells(self) -> list[Cell]:
        """Return all cells, in the order of the results."""
        return [
            Cell(dataset, fold, method)
            for dataset in self.datasets
            for fold in self.folds
            for method in self.methods
            if METHODS[method].datasets is None or dataset in METHODS[method].datasets
        ]

    def without(self, methods: set[str]) -> Study:
        """Return the same study without some methods."""
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
    """Return the versions of the packages on which the results depend. Packages that are not installed are left out."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@lru_cache
def code_digest() -> str:
    """Return a digest of the code of the study and of fcca, including the compiled core."""
    package = Path(fcca.__file__).parent
    files = [file for pattern in CODE for file in sorted(Path(__file__).parent.glob(pattern))]
    files += sorted(package.rglob("*.py"))
    files.append(Path(_core.__file__))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def fingerprint(cell: Cell) -> str:
    """Return a digest of everything that the results of a cell depend on: settings, data, code and versions."""
    settings = METHODS[cell.method].settings
    parts = [cell.key, settings, data_digest(cell.dataset), code_digest(), sorted(versions().items())]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]
