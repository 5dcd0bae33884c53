"""The result of ``fcca distill``, and how it is written to files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.certificates import data_fingerprint, positions_of_categories, written_certificate
from fcca.classifier import FCCAClassifier
from fcca.cli._class_names import ClassNames
from fcca.cli._column_types import as_json, one_type_per_column
from fcca.cli._options import CERTIFICATE, COUNTERFACTUALS, SAVED_MODEL, THRESHOLDS_CSV, THRESHOLDS_JSON, TREE
from fcca.cli._read_table import TableFacts
from fcca.cli._timing import Stopwatch
from fcca.counterfactuals import Counterfactuals
from fcca.discretizers import BinaryRows, FCCADiscretizer
from fcca.export import as_distilled, to_json
from fcca.metrics import compression_rate, inconsistency_rate
from fcca.models import DecidedAt
from fcca.quality import Quality, TriedTree
from fcca.tables import Columns
from fcca.utils import AtomicOutputs

RowNumbers = NDArray[np.int64]
Labels = NDArray[Any]


@dataclass(frozen=True)
class Scores:
    """Rates on the training rows or on the held-out rows.

    ``compression`` and ``inconsistency`` describe the binary columns, see :mod:`fcca.metrics`. ``tree_fidelity`` is the
    share of rows where the tree and the black box predict the same class. ``target_accuracy`` is the accuracy of the
    black box.
    """

    rows: int
    target_accuracy: float
    compression: float
    inconsistency: float
    tree_accuracy: float
    tree_fidelity: float
    baseline_accuracy: float  # of always predicting the most frequent class of the training rows

    @classmethod
    def of(cls, rows: BinaryRows, classifier: FCCAClassifier, commonest: Any) -> Scores:
        """Compute the rates on rows that are given as binary columns.

        Parameters
        ----------
        rows : BinaryRows
        classifier : FCCAClassifier
            A fitted classifier.
        commonest : label
            The most frequent class of the training rows.
        """
        y, n_rows = rows.y, rows.n_rows
        weight = np.ones(len(y), dtype=np.int64) if n_rows is None else n_rows
        predicted = classifier.tree_.predict(rows.B)

        def share(hits: Any) -> float:
            return float(weight[hits].sum() / weight.sum())

        return cls(
            rows=int(weight.sum()),
            target_accuracy=share(y == rows.predictions),
            compression=compression_rate(rows.B, n_rows),
            inconsistency=inconsistency_rate(rows.B, y, n_rows),
            tree_accuracy=share(y == predicted),
            tree_fidelity=share(predicted == rows.predictions),
            baseline_accuracy=share(y == commonest),
        )


@dataclass(frozen=True)
class RowsInMemory:
    """The rows of a table that was not read in chunks."""

    table: pd.DataFrame  # all rows of the file
    labels: Labels
    categorical: tuple[str, ...]  # columns of --categorical
    training_rows: RowNumbers  # positions in the file
    test: tuple[pd.DataFrame, NDArray[np.generic]] | None  # held-out rows


@dataclass(frozen=True)
class Distillation:
    """The results of ``fcca distill``: black box, thresholds, tree, figures and notes."""

    data: TableFacts
    model_file: Path | None
    in_memory: RowsInMemory | None  # None if the table was streamed
    sample: int | None  # number of rows for fitting the black box; None for all
    n_to_learn_from: int  # number of training rows, including rows that are left out
    target: Any
    classifier: FCCAClassifier
    median_cost: float  # of the proven counterfactuals
    quality: Quality
    advice: list[TriedTree] | None  # better settings for a small tree; None if trees cannot be judged
    training: Scores
    held_out: Scores | None
    stopwatch: Stopwatch  # seconds of each step
    notes: tuple[str, ...]
    class_names: ClassNames  # ``data`` and ``quality`` already have the names

    @property
    def classes(self) -> list[Any]:
        """The names of the classes of the tree."""
        return self.class_names.all(self.classifier.classes_.tolist())

    @property
    def streamed(self) -> bool:
        """True if the rows were read in chunks."""
        return self.in_memory is None

    @property
    def discretizer(self) -> FCCADiscretizer:
        """The fitted discretizer, which has the thresholds and the counterfactuals."""
        discretizer: FCCADiscretizer = self.classifier.discretizer_
        return discretizer

    @property
    def statuses(self) -> dict[str, int]:
        """Number of counterfactuals with each status, such as ``optimal`` or ``infeasible``."""
        return self.discretizer.statuses_

    def shown_columns(self) -> Columns | None:
        """Return descriptions of the columns, for texts about the tree.

        With these columns, a condition contains "or missing" only if its column has missing values in the file. Return None
        if all columns are numeric.
        """
        columns = self.discretizer.thresholds_.columns
        if columns is None:
            return None
        return Columns(
            tuple(
                replace(column, missing=column.missing and has_missing)
                for column, has_missing in zip(columns, self.data.has_missing, strict=True)
            )
        )

    def write(self, outputs: AtomicOutputs, *, counterfactuals: bool, save_model: bool = False) -> None:
        """Write the output files, except for the report.

        If the table was read in chunks, the counterfactuals were already written during the search, and there is no
        certificate.

        Parameters
        ----------
        outputs : AtomicOutputs
        counterfactuals : bool
            If True, write the counterfactuals and the certificate.
        save_model : bool, default=False
            If True, write the black box.
        """
        table = self.discretizer.thresholds_
        frame = table.to_frame()
        frame["categories"] = [None if labels is None else as_json(labels) for labels in table.labels]
        frame.to_csv(outputs.path(THRESHOLDS_CSV), index=False, lineterminator="\n")
        outputs.path(THRESHOLDS_JSON).write_text(table.to_json(), encoding="utf-8", newline="\n")
        tree = self.class_names.of_tree(as_distilled(self.classifier))
        outputs.path(TREE).write_text(to_json(tree), encoding="utf-8", newline="\n")
        if counterfactuals and self.in_memory is not None:
            lines = lines_of(self.discretizer.counterfactuals_, self.in_memory.training_rows)
            lines.to_parquet(outputs.path(COUNTERFACTUALS), index=False)
            outputs.path(CERTIFICATE).write_text(self._certificate(self.in_memory), encoding="utf-8", newline="\n")
        if save_model:
            # The certificate has the decision threshold.
            target = self.target.estimator if isinstance(self.target, DecidedAt) else self.target
            import_module("skops.io").dump(target, outputs.path(SAVED_MODEL))

    def _certificate(self, rows: RowsInMemory) -> str:
        """Return the text of the certificate.

        Its row numbers are those of the input file. For ``fcca verify``, it also stores how the file was read.
        """
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
    """Return the counterfactuals as a table, with one line per changed column.

    The column ``row`` is the row number in the input file, counted from 0.

    Parameters
    ----------
    found : Counterfactuals
    rows : ndarray
        Row numbers of the explained rows in the input file. ``found.rows`` are indices into this array.
    """
    of_file = replace(found, rows=rows[found.rows])
    return one_type_per_column(of_file.to_frame().sort_values("row", kind="stable", ignore_index=True))
