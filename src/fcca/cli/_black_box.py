"""The black box of ``fcca distill``, fitted or loaded from a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.cli._column_types import ColumnOptions, guessed
from fcca.cli._models import target_model
from fcca.cli._notes import collected_notes
from fcca.cli._options import DistillSettings
from fcca.cli._timing import Stopwatch
from fcca.constraints import Constraint, compile_rules
from fcca.exceptions import InvalidInputError
from fcca.models import decide_at, labelled, read_model
from fcca.tables import Columns
from fcca.utils import step

Labels = NDArray[np.generic]
RowNumbers = NDArray[np.int64]
Rules = tuple[Constraint, ...]

LARGEST_NUMBER = 1e300


@dataclass(frozen=True)
class BlackBox:
    """The classifier to explain, fitted or loaded, and the columns that it uses.

    Attributes
    ----------
    classifier : fitted classifier
    names : list of str
        Names of the feature columns that the classifier uses.
    X : DataFrame or None
        The rows that the classifier was fitted on. None for a classifier loaded from a file.
    table : DataFrame or None
        All rows of the file, converted to numbers and categories. None if the classifier was loaded, or fitted on a sample.
    loaded_columns : Columns or None
        Columns of a classifier loaded from a file.
    notes : tuple of str
        Notes on column types and on the fit, printed with the result.
    """

    classifier: Any
    names: list[str]
    X: pd.DataFrame | None = None
    table: pd.DataFrame | None = None
    loaded_columns: Columns | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def columns(self) -> Columns | None:
        """Types and categories of the feature columns; None if all columns are numeric."""
        return self.loaded_columns if self.X is None else labelled(read_model(self.classifier), self.X).columns


def fitted_black_box(
    frame: pd.DataFrame,
    y: Labels,
    rows: RowNumbers | None,
    settings: DistillSettings,
    rules: Rules,
    *,
    from_text: bool,
    stopwatch: Stopwatch,
) -> BlackBox:
    """Infer the column types of a table, and fit a black box on it.

    Parameters
    ----------
    frame : DataFrame
        Raw rows of the file. The index contains their row numbers in the file, counted from 0.
    y : ndarray
        Labels of the rows of ``frame``.
    rows : ndarray or None
        Positions in ``frame`` of the rows to fit on. With None, ``frame`` is a sample, and all of its rows are used.
    settings : DistillSettings
    rules : tuple of Constraint
        The rules for changes. They are checked before the fit, so that a wrong rule is reported early.
    from_text : bool
        True for file formats without column types, such as CSV.
    stopwatch : Stopwatch
    """
    if rows is None and len(np.unique(y)) == 1:
        raise InvalidInputError(f"All {len(y):,} rows of the sample have class {y[0]!s}. Use a larger --sample.")
    chosen = ColumnOptions(settings.categorical, settings.drop, settings.keep)
    table, table_notes = guessed(frame, y, chosen, from_text=from_text, of=" of the sample" if rows is None else "")
    check_range(table)
    assert settings.model is not None
    at = np.arange(len(y)) if rows is None else rows
    X = training_table(table.iloc[at])
    check_rules(rules, X)
    with collected_notes() as notes, step("Fitting the black box"), stopwatch.time("target"):
        classifier = decided(target_model(settings.model, settings.random_state, X, settings.preset).fit(X, y[at]), settings)
    whole = None if rows is None else table
    return BlackBox(classifier, [str(name) for name in X.columns], X, whole, notes=(*table_notes, *notes))


def decided(classifier: Any, settings: DistillSettings) -> Any:
    """Return the classifier with the decision threshold of ``--decision-threshold``, if given."""
    return classifier if settings.decision_threshold is None else decide_at(classifier, settings.decision_threshold)


# --- checks of rows -----------------------------------------------------------------------------------------------------


def training_table(X: pd.DataFrame) -> pd.DataFrame:
    """Remove unused categories from the categorical columns of ``X``."""
    listed = {name: X[name].cat.remove_unused_categories() for name in X.columns if X[name].dtype == "category"}
    return X.assign(**listed) if listed else X


def check_range(X: pd.DataFrame) -> None:
    """Check that no number exceeds ``LARGEST_NUMBER`` in absolute value.

    Differences between larger numbers could overflow.
    """
    largest = X.select_dtypes("float64").abs().max()
    if largest.max() > LARGEST_NUMBER:
        raise InvalidInputError(
            f"Column {largest.idxmax()!r} has numbers as large as {largest.max():g}. Expected numbers up to "
            f"{LARGEST_NUMBER:g}. Rescale the column."
        )


def check_rules(rules: Rules, X: pd.DataFrame) -> None:
    """Check that the rules suit the columns of ``X``.

    Raise an error for unknown columns, and for rules that contradict each other.
    """
    if not rules:
        return
    columns = Columns.of_table(X)
    table = columns.encode(X)
    is_binary = np.array([np.isin(values[~np.isnan(values)], (0, 1)).all() for values in table.T])
    compile_rules(rules, columns, np.nanmin(table, axis=0), np.nanmax(table, axis=0), table[:0], is_binary=is_binary)
