"""The black box of ``fcca distill``: fitted on rows of the table, or loaded from a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.cli._column_types import guessed
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
    """A fitted classifier, and the columns that it knows.

    Attributes
    ----------
    classifier : fitted classifier
    names : list of str
        The columns to learn from.
    X : DataFrame or None
        The rows that it was fitted on; None where it was loaded.
    table : DataFrame or None
        All rows of the file as numbers and categories, where it was fitted on all training rows.
    loaded_columns : Columns or None
        What a loaded classifier knows of its columns.
    notes : tuple of str
    """

    classifier: Any
    names: list[str]
    X: pd.DataFrame | None = None
    table: pd.DataFrame | None = None
    loaded_columns: Columns | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def columns(self) -> Columns | None:
        """Its columns, with the categories of the rows that it was fitted on."""
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
    """Fit a black box on rows of a table, which also tell what its columns are.

    Parameters
    ----------
    frame : DataFrame
        Rows as they were read; its index has their numbers in the file.
    y : ndarray
        Their labels.
    rows : ndarray or None
        Which of them to fit on; None is all, which are a sample of the table.
    settings : DistillSettings
    rules : tuple of Constraint
        Checked before anything is fitted.
    from_text : bool
        Whether the file has no types.
    stopwatch : Stopwatch
    """
    if rows is None and len(np.unique(y)) == 1:
        raise InvalidInputError(f"All {len(y):,} rows of the sample are of class {y[0]!s}. Take a larger --sample.")
    table, table_notes = guessed(
        frame, settings.categorical, from_text=from_text, of=" of the sample" if rows is None else ""
    )
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
    """The black box, deciding at ``--decision-threshold``."""
    return classifier if settings.decision_threshold is None else decide_at(classifier, settings.decision_threshold)


# --- checks of rows -----------------------------------------------------------------------------------------------------


def training_table(X: pd.DataFrame) -> pd.DataFrame:
    """Rows to train on, without categories that none of them has."""
    listed = {name: X[name].cat.remove_unused_categories() for name in X.columns if X[name].dtype == "category"}
    return X.assign(**listed) if listed else X


def check_range(X: pd.DataFrame) -> None:
    """Check that the difference of two numbers of a column does not overflow."""
    largest = X.select_dtypes("float64").abs().max()
    if largest.max() > LARGEST_NUMBER:
        raise InvalidInputError(
            f"Column {largest.idxmax()!r} holds numbers as large as {largest.max():g}. Expected numbers up to "
            f"{LARGEST_NUMBER:g}: rescale the column."
        )


def check_rules(rules: Rules, X: pd.DataFrame) -> None:
    """Check that rules name columns of a table and do not contradict each other."""
    if not rules:
        return
    columns = Columns.of_table(X)
    table = columns.encode(X)
    is_binary = np.array([np.isin(values[~np.isnan(values)], (0, 1)).all() for values in table.T])
    compile_rules(rules, columns, np.nanmin(table, axis=0), np.nanmax(table, axis=0), table[:0], is_binary=is_binary)
