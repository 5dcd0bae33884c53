"""Run ``fcca verify``: check a certificate against a table and a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from fcca.certificates import (
    FAILED,
    PASSED,
    CertificateDocument,
    Check,
    Verification,
    data_fingerprint,
    positions_of_categories,
    read_certificate,
    verify,
)
from fcca.cli._black_box import training_table
from fcca.cli._class_names import ClassNames
from fcca.cli._column_types import as_known, listed
from fcca.cli._command import Result
from fcca.cli._console_text import number, panel, plain_table, printable, seconds, status_counts
from fcca.cli._models import described, model_from_file
from fcca.cli._notes import collected_notes
from fcca.cli._read_table import Dataset, bundled_data, read_data
from fcca.cli._verify_command import Verify
from fcca.exceptions import InvalidInputError
from fcca.export import from_json, to_json
from fcca.utils import proof_in_words, step

EXIT_REJECTED = 1
STYLES = {"passed": "green", "failed": "bold red", "not checked": "yellow"}


@dataclass(frozen=True)
class VerifyResult(Result):
    """The result of ``fcca verify``: the claims of a certificate and their checks."""

    settings: Verify
    data: str  # name of the table
    model: str  # description of the black box
    stated: CertificateDocument
    result: Verification
    seconds: float
    notes: tuple[str, ...]

    def summary(self, written: Sequence[Path]) -> RenderableType:
        """Return a summary: the claims of the certificate, the checks, and the verdict."""
        stated, result = self.stated, self.result
        proof = stated.proof
        version = stated.versions.get("fcca", "?")
        proof_text = proof_in_words(proof.objective, proof.lower_bound, proof.optimal)
        facts = [
            ("Certificate", f"{printable(self.settings.certificate)}, stated version: fcca {printable(version)}"),
            ("Data", printable(self.data)),
            ("Black box", f"{printable(self.settings.model)}: {printable(self.model)}"),
            ("Counterfactuals", status_counts(stated.statuses)),
            ("Thresholds", f"{number(len(stated.kept))} kept of {number(len(stated.found))} found"),
            ("Tree", f"cost {proof.objective:.4g}, {proof_text}"),
            ("Time", seconds(self.seconds)),
        ]
        table = plain_table()
        table.add_column("", no_wrap=True)
        table.add_column("Check", no_wrap=True)
        table.add_column("Result", overflow="fold")
        for check in result.checks:
            style = STYLES[check.outcome]
            table.add_row(Text(check.sign, style=style), Text(check.name), Text(printable(check.words)))
        verdict = Text(printable(result.in_words()), style="bold green" if result.accepted else "bold red")
        return Group(panel("fcca verify", facts), table, Text(), verdict)

    def document(self, written: Sequence[Path]) -> dict[str, Any]:
        """Return the checks and the verdict as a dictionary, for ``--json``."""
        files = {"certificate": str(self.settings.certificate), "data": self.data, "model": str(self.settings.model)}
        return files | self.result.to_dict() | {"seconds": self.seconds, "notes": list(self.notes)}

    def verdict(self) -> tuple[int, str]:
        """Return the exit code: 0 if all claims are accepted, otherwise 1.

        The error message is empty, because the summary shows which checks failed.
        """
        return (0 if self.result.accepted else EXIT_REJECTED), ""


def run_verify(settings: Verify) -> VerifyResult:
    """Read the files and check all claims of the certificate."""
    began = perf_counter()
    try:
        stated = read_certificate(settings.certificate.read_bytes())
    except InvalidInputError as error:
        raise InvalidInputError(f"{settings.certificate}: {error}") from error
    with step("Loading the black box"):
        black_box = model_from_file(settings.model, trusted=settings.trust_model_file)
    table = _table(stated, settings.data, settings.label)
    rows = np.arange(len(table.y))
    if stated.read is not None:
        rows = np.setdiff1d(rows, stated.read.left_out)
    if len(rows) == 0:
        raise InvalidInputError(
            f"{table.name} contains none of the rows that the certificate covers: the certificate lists all rows of this "
            "table as left out. Use --data with the table from which the certificate was made."
        )
    with collected_notes() as notes, step("Checks; --time-limit bounds the longest"):
        result = verify(
            stated,
            training_table(table.X.iloc[rows]),
            table.y[rows],
            black_box,
            rows=rows,
            sample=None if settings.sample == "all" else int(settings.sample),
            random_state=settings.random_state,
            time_limit=settings.time_limit,
            n_jobs=settings.jobs,
        )
    result = Verification((*_of_file(stated, table), *_of_tree(stated, settings.tree, settings.class_names), *result.checks))
    name = table.name if settings.data is None else str(settings.data)
    return VerifyResult(settings, name, described(black_box), stated, result, perf_counter() - began, tuple(notes))


def _table(stated: CertificateDocument, path: Path | None, label: str | None) -> Dataset:
    """Read the table that the certificate was made from.

    Only the columns of the certificate are kept, in its order. Without a path, scikit-learn's breast-cancer data is used.
    """
    read = stated.read
    named = label if label is not None or read is None else read.label
    if path is None:
        table = bundled_data()
    else:
        table = read_data(path, named, () if read is None else read.categorical, to_learn_from=False)
    missing = [name for name in stated.columns if name not in table.X.columns]
    if not missing:
        chosen = table.X[list(stated.columns)]
    elif list(stated.columns) == missing == [f"x{j}" for j in range(table.X.shape[1])]:
        chosen = table.X  # the columns of the array had no names
    else:
        raise InvalidInputError(
            f"{table.name} has no column {missing[0]!r}, which the certificate uses. The feature columns are "
            f"{listed(list(table.X.columns))}.{' Choose another table with --data.' if path is None else ''}"
        )
    return Dataset(table.name, as_known(chosen, stated.found.columns), table.y, table.label, table.from_text)


def _of_tree(stated: CertificateDocument, path: Path | None, class_names: str | None) -> list[Check]:
    """Compare the tree in the file of ``--tree`` with the tree of the certificate.

    Return a list with one check, or an empty list without a file. ``class_names`` is the value of ``--class-names``.
    """
    if path is None:
        return []
    expected = stated.tree
    if expected is not None:
        expected = ClassNames(class_names, expected.classes, "the certificate").of_tree(expected)
    try:
        same = expected is not None and to_json(from_json(path.read_bytes())) == to_json(expected)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    words = f"{path.name} contains {'the tree of the certificate' if same else 'a different tree than the certificate'}."
    return [Check("tree file", PASSED if same else FAILED, words)]


def _of_file(stated: CertificateDocument, table: Dataset) -> list[Check]:
    """Check that the table is the one that the certificate describes.

    Return a list with one check, or an empty list if the certificate does not describe a file.
    """
    read = stated.read
    if read is None or read.fingerprint is None:
        return []
    outcome, categories = FAILED, positions_of_categories(stated.found.columns)
    if len(table.y) != read.n_rows:
        words = f"{table.name} has {len(table.y):,} rows, but the certificate was made from a file with {read.n_rows:,}."
    elif data_fingerprint(table.X, table.y, categories=categories) != read.fingerprint:
        words = (
            f"{table.name} is not the table of the certificate: a value, a label, a name or the order of its rows is "
            "different."
        )
    else:
        outcome, words = PASSED, f"{table.name} has all {read.n_rows:,} rows of the certificate."
    return [Check("file", outcome, words)]
