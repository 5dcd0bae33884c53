"""What ``fcca distill`` found, in memory or in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca._columns import Columns
from fcca._files import AtomicOutputs
from fcca._frames import ROWS_SHOWN, listed_rows
from fcca.classifier import FCCAClassifier
from fcca.cli._columns import as_json, one_type_per_column
from fcca.cli._data import TableFacts
from fcca.cli._options import CERTIFICATE, COUNTERFACTUALS, SAVED_MODEL, THRESHOLDS_CSV, THRESHOLDS_JSON, TREE
from fcca.counterfactuals import Counterfactuals
from fcca.discretizers import FCCADiscretizer
from fcca.export import data_fingerprint, to_json
from fcca.export._certificate import written_certificate
from fcca.export._certificate_fingerprints import positions_of_categories
from fcca.metrics import compression_rate, inconsistency_rate
from fcca.models import DecidedAt

RowNumbers = NDArray[np.int64]
Labels = NDArray[Any]


@dataclass(frozen=True)
class Scores:
    """How the model, the binary rows and the tree do on some rows."""

    rows: int
    target_accuracy: float
    compression: float
    inconsistency: float
    tree_accuracy: float
    tree_fidelity: float
    baseline_accuracy: float  # of always answering the commonest class of the training rows

    @classmethod
    def of(
        cls,
        B: NDArray[Any],
        y: Labels,
        answers: Labels,
        tree_answers: Labels,
        commonest: Any,
        n_rows: RowNumbers | None = None,
    ) -> Scores:
        """Measure binary rows.

        Parameters
        ----------
        B : ndarray of shape (n, n_conditions)
        y, answers, tree_answers : ndarray of shape (n,)
            Labels, and what the black box and the tree answer.
        commonest : label
        n_rows : ndarray of shape (n,), optional
            How many rows each stands for; 1 where None.
        """
        weight = np.ones(len(y), dtype=np.int64) if n_rows is None else n_rows

        def share(hits: Any) -> float:
            return float(weight[hits].sum() / weight.sum())

        return cls(
            rows=int(weight.sum()),
            target_accuracy=share(y == answers),
            compression=compression_rate(B, n_rows),
            inconsistency=inconsistency_rate(B, y, n_rows),
            tree_accuracy=share(y == tree_answers),
            tree_fidelity=share(tree_answers == answers),
            baseline_accuracy=share(y == commonest),
        )


@dataclass(frozen=True)
class InMemory:
    """The rows, where they are in memory."""

    table: pd.DataFrame  # all rows of the file
    labels: Labels
    categorical: tuple[str, ...]  # columns that were said to hold categories
    training_rows: RowNumbers  # rows of the file
    test: tuple[pd.DataFrame, NDArray[np.generic]] | None  # rows held out, those that the black box can answer


@dataclass(frozen=True)
class Distillation:
    """All that ``fcca distill`` found."""

    data: TableFacts
    model_file: Path | None
    in_memory: InMemory | None  # None where the table was streamed
    sample: int | None  # rows that the black box was fitted on; None for all
    n_to_learn_from: int  # rows that are not held out, whether or not the black box can answer them
    target: Any
    classifier: FCCAClassifier
    median_cost: float  # of the proven counterfactuals
    commonest: Any  # class of the training rows
    training: Scores
    held_out: Scores | None
    seconds: dict[str, float]  # of each step
    notes: tuple[str, ...]

    @property
    def streamed(self) -> bool:
        """Whether the rows were read in pieces."""
        return self.in_memory is None

    @property
    def discretizer(self) -> FCCADiscretizer:
        """The fitted discretizer."""
        discretizer: FCCADiscretizer = self.classifier.discretizer_
        return discretizer

    @property
    def statuses(self) -> dict[str, int]:
        """How many counterfactuals there are of each status."""
        return self.discretizer.statuses_

    @property
    def n_unverified(self) -> int:
        """Counterfactuals that the black box's own predict does not agree with."""
        return self.statuses.get("unverified", 0)

    def with_note(self, note: str) -> Distillation:
        """The same, with something more to know."""
        return replace(self, notes=(*self.notes, note))

    def with_seconds(self, **seconds: float) -> Distillation:
        """The same, with more times."""
        return replace(self, seconds=self.seconds | seconds)

    def on_unverified(self, *, where: str = "") -> str:
        """What to say of them."""
        marked = f"marked 'unverified' in {where} and " if where else ""
        return (
            f"{self.n_unverified} of {sum(self.statuses.values())} counterfactuals do not flip the model's own "
            f"predict; they are {marked}left out of all counts."
        )

    def shown_columns(self) -> Columns | None:
        """The columns, gaps only where the file has any: some models take them everywhere."""
        columns = self.discretizer.thresholds_.columns
        if columns is None:
            return None
        return Columns(
            tuple(
                replace(column, missing=column.missing and gap) for column, gap in zip(columns, self.data.gaps, strict=True)
            )
        )

    def write(self, outputs: AtomicOutputs, *, counterfactuals: bool, save_model: bool = False) -> None:
        """Write the files beside the report; the counterfactuals of a streamed table are written already."""
        table = self.discretizer.thresholds_
        frame = table.to_frame()
        frame["categories"] = [None if labels is None else as_json(labels) for labels in table.labels]
        frame.to_csv(outputs.path(THRESHOLDS_CSV), index=False, lineterminator="\n")
        outputs.path(THRESHOLDS_JSON).write_text(table.to_json(), encoding="utf-8", newline="\n")
        outputs.path(TREE).write_text(to_json(self.classifier), encoding="utf-8", newline="\n")
        if counterfactuals and self.in_memory is not None:
            lines = lines_of(self.discretizer.counterfactuals_, self.in_memory.training_rows)
            lines.to_parquet(outputs.path(COUNTERFACTUALS), index=False)
            outputs.path(CERTIFICATE).write_text(self._certificate(self.in_memory), encoding="utf-8", newline="\n")
        if save_model:
            # Where to decide is in the certificate.
            target = self.target.estimator if isinstance(self.target, DecidedAt) else self.target
            import_module("skops.io").dump(target, outputs.path(SAVED_MODEL))

    def _certificate(self, rows: InMemory) -> str:
        """All that is claimed, about rows that are called by their numbers in the file."""
        held_out = np.setdiff1d(np.arange(self.data.n_rows), rows.training_rows)
        categories = positions_of_categories(self.discretizer.all_thresholds_.columns)
        read = {
            "label": self.data.label,
            "categorical": list(rows.categorical),
            "rows": self.data.n_rows,
            "left_out": held_out.tolist(),
            "fingerprint": data_fingerprint(rows.table, rows.labels, categories=categories),
        }
        return written_certificate(
            self.classifier, self.classifier.training_data(), row_numbers=rows.training_rows, read=read
        )


def lines_of(found: Counterfactuals, rows: RowNumbers) -> pd.DataFrame:
    """One line per move; ``row`` is the row of the file, the first is 0.

    Parameters
    ----------
    found : Counterfactuals
    rows : ndarray
        The rows of the file that they are about the rows of.
    """
    of_file = replace(found, rows=rows[found.rows])
    return one_type_per_column(of_file.to_frame().sort_values("row", kind="stable", ignore_index=True))


# --- rows that the black box cannot answer ------------------------------------------------------------------------------


@dataclass
class LeftOut:
    """Rows that are left out: how many, and the first of them."""

    n: int = 0
    first: Sequence[int] = ()

    def add(self, rows: RowNumbers) -> None:
        """Leave more rows out, of a higher number."""
        self.n += len(rows)
        self.first = [*self.first, *rows[:ROWS_SHOWN].tolist()][:ROWS_SHOWN]

    def in_words(self) -> str:
        """Their numbers."""
        shown = listed_rows(np.array(self.first), None)
        return (shown if self.n <= ROWS_SHOWN else f"{shown}, … ({self.n} rows)") + " (the first is 0)"


def notes_on_unknown(training: LeftOut, held_out: LeftOut, *, by: str) -> tuple[str, ...]:
    """What to say of rows that the black box cannot answer.

    Parameters
    ----------
    training, held_out : LeftOut
    by : str
        What it is about their categories and gaps, such as "that the black box does not know".
    """
    notes = []
    if training.n:
        have, they = ("row to learn from has a category or a gap", "is")
        if training.n > 1:
            have, they = "rows to learn from have categories or gaps", "are"
        notes.append(f"{training.n:,} {have} {by}, and {they} left out: {training.in_words()}.")
    if held_out.n:
        one = held_out.n == 1
        have, count = ("row has a category or a gap", "counts") if one else ("rows have categories or gaps", "count")
        notes.append(f"{held_out.n:,} held-out {have} {by}, and {count} for no rate: {held_out.in_words()}.")
    return tuple(notes)
