"""What ``fcca verify`` computes: a certificate's checks against a table and a model from files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from fcca._progress import step
from fcca.cli._columns import as_known, listed
from fcca.cli._data import Dataset, bundled_data, read_data
from fcca.cli._distillation import collected_notes, training_table
from fcca.cli._models import described, model_from_file
from fcca.cli._options import VerifySettings
from fcca.exceptions import InvalidInputError
from fcca.export import CertificateDocument, data_fingerprint, from_json, read_certificate, to_json
from fcca.export._certificate_fingerprints import positions_of_categories
from fcca.verification import Check, Verification, verify
from fcca.verification._result import FAILED, PASSED


@dataclass(frozen=True)
class Verified:
    """All that ``fcca verify`` found."""

    certificate: Path
    data: str
    model: Path
    described: str
    stated: CertificateDocument
    result: Verification
    seconds: float
    notes: tuple[str, ...]


def verification(certificate: Path, data: Path | None, model: Path, tree: Path | None, settings: VerifySettings) -> Verified:
    """Read, and check all that the certificate says."""
    began = perf_counter()
    try:
        stated = read_certificate(certificate.read_bytes())
    except InvalidInputError as error:
        raise InvalidInputError(f"{certificate}: {error}") from error
    with step("Loading the black box"):
        black_box = model_from_file(model)
    table = _table(stated, data, settings.label)
    rows = np.arange(len(table.y))
    if stated.read is not None:
        rows = np.setdiff1d(rows, stated.read.left_out)
    if len(rows) == 0:
        raise InvalidInputError(f"{table.name} has no row that the certificate is about.")
    with collected_notes() as notes, step("Checks; --time-limit bounds the longest"):
        result = verify(
            stated,
            training_table(table.X.iloc[rows]),
            table.y[rows],
            black_box,
            rows=rows,
            sample=settings.sample,
            seed=settings.seed,
            time_limit=settings.time_limit,
            n_jobs=settings.jobs,
        )
    result = Verification((*_of_file(stated, table), *_of_tree(stated, tree), *result.checks))
    return Verified(
        certificate,
        table.name if data is None else str(data),
        model,
        described(black_box),
        stated,
        result,
        perf_counter() - began,
        tuple(notes),
    )


def _table(stated: CertificateDocument, path: Path | None, label: str | None) -> Dataset:
    """The table, the bundled one where no file is named, with the certificate's columns and the kinds that it knows."""
    read = stated.read
    named = label if label is not None or read is None else read.label
    if path is None:
        table = bundled_data()
    else:
        table = read_data(path, named, () if read is None else read.categorical, to_learn_from=False)
    missing = [name for name in stated.columns if name not in table.X.columns]
    if missing and len(table.X.columns) == len(stated.columns) and stated.columns == _without_names(len(missing)):
        missing = []  # nobody had named the columns of the array
        chosen = table.X
    elif missing:
        raise InvalidInputError(
            f"{table.name} has no column {missing[0]!r}, which the certificate is about. The columns beside the label are "
            f"{listed(list(table.X.columns))}.{' Name another table with --data.' if path is None else ''}"
        )
    else:
        chosen = table.X[list(stated.columns)]
    return Dataset(table.name, as_known(chosen, stated.found.columns), table.y, table.label, table.from_text)


def _without_names(n: int) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(n))


def _of_tree(stated: CertificateDocument, path: Path | None) -> list[Check]:
    """Whether the tree in a file, which may be in use somewhere, is the one that everything is claimed of."""
    if path is None:
        return []
    try:
        same = stated.tree is not None and to_json(from_json(path.read_bytes())) == to_json(stated.tree)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    words = f"{path.name} holds the tree of the certificate." if same else f"{path.name} holds another tree."
    return [Check("tree file", PASSED if same else FAILED, words)]


def _of_file(stated: CertificateDocument, table: Dataset) -> list[Check]:
    """Whether all rows of the file are those that there were, whether or not anything is claimed of them."""
    read = stated.read
    if read is None or read.fingerprint is None:
        return []
    if len(table.y) != read.n_rows:
        words = f"{table.name} has {len(table.y):,} rows, and the certificate was made from a file with {read.n_rows:,}."
        return [Check("file", FAILED, words)]
    categories = positions_of_categories(stated.found.columns)
    if data_fingerprint(table.X, table.y, categories=categories) != read.fingerprint:
        words = (
            f"{table.name} is not the table that the certificate was made from: a value, a label, a name or the order of "
            "its rows is another one."
        )
        return [Check("file", FAILED, words)]
    return [Check("file", PASSED, f"{table.name} has the rows that the certificate was made from, all {read.n_rows:,}.")]
