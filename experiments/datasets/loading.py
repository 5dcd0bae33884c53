"""Find a data set by its name and load it."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

import numpy as np
from sklearn import datasets as bundled

from experiments.datasets.catalog import CATALOG, Entry
from experiments.datasets.csv_tables import LAYOUT, SUFFIXES, read_table
from experiments.datasets.dataset import Dataset
from experiments.datasets.openml import DownloadError, load_openml
from fcca.exceptions import FCCAError, InvalidInputError

NAME = re.compile(r"\w[\w.-]*")
#: Tables that come with scikit-learn.
BUNDLED = {
    "breast_cancer": bundled.load_breast_cancer,
    "digits": bundled.load_digits,
    "iris": bundled.load_iris,
    "wine": bundled.load_wine,
}


class DatasetNotFoundError(FCCAError, FileNotFoundError):
    """Raised if no file contains the data set and it cannot be downloaded."""


def names() -> list[str]:
    """Return the names of all data sets in FCCA_DATA, scikit-learn or OpenML."""
    online = [name for name, entry in CATALOG.items() if entry.openml is not None]
    folder = data_folder()
    stems = [] if folder is None else [_stem(path) for path in folder.iterdir() if path.is_file()]
    return sorted({*online, *BUNDLED, *filter(NAME.fullmatch, stems)})


def load(name: str, *, download: bool = True) -> Dataset:
    """Load a data set by name.

    The sources are tried in this order: ``<name>.csv`` or ``<name>.csv.gz`` in the folder given by the environment
    variable FCCA_DATA, the tables of scikit-learn, and OpenML. :func:`sklearn.datasets.fetch_openml` stores downloads
    in scikit-learn's data folder.

    Parameters
    ----------
    name : str
        One of :func:`names`, or the name of any CSV file in FCCA_DATA.
    download : bool, default=True
        True if the data set may be downloaded from OpenML.

    Raises
    ------
    DatasetNotFoundError
        If no source has the data set. The message names the file to provide and its folder.
    InvalidInputError
        If a file is damaged or does not have the expected layout.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidInputError(
            f"The name of a data set may contain only letters, digits, _, - and ., got {name!r}. FCCA_DATA sets the folder."
        )
    folder = data_folder()
    entry = CATALOG.get(name)
    path = _file(folder, name)
    if path is not None:
        return _from_file(name, path, entry)
    if name in BUNDLED:
        bunch = BUNDLED[name](as_frame=True)
        return Dataset(name, bunch.data, bunch.target.astype(np.int64), "scikit-learn")
    if entry is None:
        known = sorted({*CATALOG, *names()})
        near = difflib.get_close_matches(name, known, n=1)
        raise DatasetNotFoundError(
            f"Unknown data set {name!r}. {f'Did you mean {near[0]!r}? ' if near else ''}"
            f"Known data sets: {', '.join(known)}. {_advice(name, folder, None)}"
        )
    if entry.openml is None or not download:
        where = "it is not on OpenML" if entry.openml is None else "downloads are switched off"
        raise DatasetNotFoundError(f"No file contains {name}, and {where}. {_advice(name, folder, entry)}")
    try:
        return load_openml(name, entry, entry.openml)
    except DownloadError as error:
        raise DatasetNotFoundError(f"No file contains {name}. {error} {_advice(name, folder, entry)}") from error


def data_folder() -> Path | None:
    """Return the folder given by FCCA_DATA, or None if FCCA_DATA is not set."""
    named = os.environ.get("FCCA_DATA")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise InvalidInputError(f"FCCA_DATA={named} is not a folder. Set it to the folder with the CSV files, or unset it.")
    return folder


def _stem(path: Path) -> str:
    """Return the name of the data set in a file, or an empty string for other kinds of files."""
    return next((path.name.removesuffix(suffix) for suffix in SUFFIXES if path.name.endswith(suffix)), "")


def _file(folder: Path | None, name: str) -> Path | None:
    if folder is None:
        return None
    return next((path for suffix in SUFFIXES if (path := folder / f"{name}{suffix}").is_file()), None)


def _from_file(name: str, path: Path, entry: Entry | None) -> Dataset:
    X, y = read_table(path, entry.categorical if entry else ())
    if entry is None:
        return Dataset(name, X, y, str(path))
    remarks = []
    complete = len(X) >= entry.rows
    if not complete:
        known = entry.parts.get(len(X))
        remarks.append(f"{len(X):,} of the original's {entry.rows:,} rows{f' ({known})' if known else ''}")
    return Dataset(name, X, y, str(path), complete, entry.note(X, remarks), entry.paper)


def _advice(name: str, folder: Path | None, entry: Entry | None) -> str:
    """Return advice on how to provide a missing data set."""
    place = f"into {folder}" if folder else "into a folder and set the environment variable FCCA_DATA to that folder"
    original = f" ({entry.description}: {entry.rows:,} rows, {entry.features} features)" if entry else ""
    meaning = f" Label 1 means: {entry.positive}." if entry and entry.positive else ""
    return f"To use a file, put {name}.csv or {name}.csv.gz{original} {place}. {LAYOUT}{meaning}"
