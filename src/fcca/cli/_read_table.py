"""Read and check a table and its labels, from CSV or Parquet."""

from __future__ import annotations

import warnings
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from fcca.cli import check_memory, memory_is_scarce
from fcca.cli._checks import INPUT_FORMATS, table_format
from fcca.cli._column_types import ColumnOptions, as_known, guessed, listed
from fcca.cli._ragged_lines import check_fields
from fcca.cli._table_labels import LABEL_NAMES, check_classes, counts_of, label_among, label_name, labels_of
from fcca.exceptions import InvalidInputError
from fcca.streaming import decimals_as_numbers, names_in
from fcca.tables import Columns, check_columns
from fcca.utils import close_to, similar, step

# Errors of pandas and pyarrow for damaged files. Wrong type metadata in a Parquet file can raise any of them.
DAMAGED = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, NotImplementedError, zlib.error,
    pd.errors.ParserWarning,
)  # fmt: skip
COLUMNS_IN_ORDER = 100  # enough to copy the order from the message
OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
#: The default missing values of pandas, without None, which is often the name of a category.
MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"]
PANDAS_VERSION = tuple(int(part) for part in pd.__version__.split(".")[:2])
# While a Parquet file is read, its numbers are in memory several times: for Arrow, for pandas and for the searches.
COPIES_WHILE_READING, ROOM_WHILE_READING = 4, 48 * 2**20


@dataclass(frozen=True)
class TableFacts:
    """Facts about a table that the summary shows.

    Attributes
    ----------
    name : str
        Name of the file.
    label : str
        Name of the label column.
    n_rows, n_columns : int
        Number of rows, and number of feature columns that are used.
    class_counts : dict
        Number of rows of each class.
    has_missing : tuple of bool
        True for feature columns with missing values.
    """

    name: str
    label: str
    n_rows: int
    n_columns: int
    class_counts: dict[Any, int]
    has_missing: tuple[bool, ...]


@dataclass(frozen=True)
class Dataset:
    """A table and its labels, with the rows in the order of the file.

    Attributes
    ----------
    name : str
        Name of the file.
    X : DataFrame
        Raw feature columns. :meth:`guessed` and :meth:`as_known` determine their types.
    y : ndarray
        The labels.
    label : str
        Name of the label column.
    from_text : bool
        True for file formats without column types, such as CSV.
    notes : tuple of str
        Notes on the inferred column types, for the user.
    """

    name: str
    X: pd.DataFrame
    y: NDArray[np.generic]
    label: str
    from_text: bool = False
    notes: tuple[str, ...] = ()

    def facts(self) -> TableFacts:
        """Return the facts about this table that the summary shows."""
        return TableFacts(
            self.name, self.label, len(self.y), self.X.shape[1], self.class_counts(), tuple(self.X.isna().any().tolist())
        )

    def guessed(self, chosen: ColumnOptions | None = None) -> Dataset:
        """Return a copy whose column types are inferred, without columns that are no features."""
        X, notes = guessed(self.X, self.y, chosen or ColumnOptions(), from_text=self.from_text)
        return replace(self, X=X, notes=notes)

    def as_known(self, columns: Columns | None) -> Dataset:
        """Return a copy with the column types that a fitted model expects."""
        return replace(self, X=as_known(self.X, columns))

    def class_counts(self) -> dict[Any, int]:
        """Return the number of rows of each class."""
        return counts_of(self.y)


def bundled_data() -> Dataset:
    """Return scikit-learn's breast-cancer table, the default if no file is given."""
    bunch = load_breast_cancer(as_frame=True)
    return Dataset(
        "breast cancer (scikit-learn)", bunch.data, bunch.target_names[bunch.target.to_numpy()].astype(str), "class"
    )


def read_data(path: Path, label: str | None, as_text: Sequence[str] = (), *, to_learn_from: bool = True) -> Dataset:
    """Read a CSV or Parquet file, without inferring column types.

    Parameters
    ----------
    path : Path
    label : str or None
        The label column. With None, it is found by its name.
    as_text : sequence of str
        Columns to read as text, for codes such as 01.
    to_learn_from : bool, default=True
        If True, check that the table has at least two classes and enough rows.
    """
    with step("Reading the data"):
        frame = _read_frame(path, as_text)
    name = label_among(list(frame.columns), label, path.name, len(frame))
    from_text = table_format(path) != ".parquet"
    data = Dataset(path.name, frame.drop(columns=name), labels_of(frame[name]), name, from_text=from_text)
    if to_learn_from:
        check_classes(data.class_counts(), name)
    return data


@dataclass(frozen=True)
class ModelColumns:
    """The columns that a model, loaded from a file, was fitted on.

    Attributes
    ----------
    file : str
        Name of the model file.
    names : list of str or None
        None if the model was fitted without column names.
    n : int
        Number of columns.
    columns : Columns or None
        Categories and missing values. None if all columns are numeric.
    """

    file: str
    names: list[str] | None
    n: int
    columns: Columns | None

    def check(self, given: list[str], table: str) -> None:
        """Check that a table has the columns of the model, in the same order.

        Parameters
        ----------
        given : list of str
            Feature columns of the table.
        table : str
            Name of the table, for error messages.
        """
        names = self.names
        if names is not None and given != names and sorted(given) == sorted(names):
            at = next(j for j, (name, expected) in enumerate(zip(given, names, strict=True)) if name != expected)
            raise InvalidInputError(
                f"{table} has the right columns in another order: column {at + 1} is {given[at]!r}, but the model in "
                f"{self.file} was fitted with {names[at]!r} there. Write {table} with its columns in this order (the label "
                f"may be anywhere): {listed(names, most=COLUMNS_IN_ORDER)}."
            )
        check_columns(given, len(given), names, self.n, table=table, knower=f"the model in {self.file} was fitted on")


def read_features(
    path: Path, label: str | None, model: ModelColumns, *, has_label: bool
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read the feature columns that a model was fitted on, in its order.

    Also returns a note if the table has other columns. They are not used.

    Parameters
    ----------
    path : Path
    label : str or None
        The label column, which is left out. With None, it is found by its name if the table has one column more than the
        model.
    model : ModelColumns
    has_label : bool
        If True, a given ``label`` must be a column of the table. If False, the column may be missing.
    """
    frame = _read_frame(path)
    given = list(frame.columns)
    if label is not None:
        frame = frame.drop(columns=[label_name(given, label)] if has_label or label in given else [])
    elif len(given) == model.n + 1:
        found = [name for name in given if name.strip().lower() in LABEL_NAMES and name not in (model.names or ())]
        frame = frame.drop(columns=found if len(found) == 1 else [])
    names = list(frame.columns)
    unused: list[str] = []
    if model.names is not None and set(model.names) <= set(names):
        unused = [name for name in names if name not in set(model.names)]
        if label is not None and label not in given and similar(label, unused):
            raise InvalidInputError(f"There is no label column {label!r}. {close_to(label, unused)}")
        names, frame = model.names, frame[model.names]
    try:
        model.check(names, path.name)
    except InvalidInputError as error:
        hint = " Is one of them the label? Pass its name with --label." if label is None and len(names) > model.n else ""
        if label is not None and label not in given:
            hint = f" There is no label column {label!r}. {close_to(label, given)}"
        raise InvalidInputError(f"{error}{hint}") from error
    if len(frame) == 0:
        raise InvalidInputError(f"{path.name} has column names but no rows. Expected at least one row.")
    notes = (f"The model does not use these columns of {path.name}: {listed(unused)}.",) if unused else ()
    return as_known(frame, model.columns), notes


def n_values(path: Path) -> int:
    """Return the number of values in a Parquet file: rows times columns.

    Return 0 for other formats and for files that cannot be read.
    """
    if table_format(path) != ".parquet":
        return 0
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        known = pq.read_metadata(path)
    except (pa.ArrowException, *DAMAGED):
        return 0
    return int(known.num_rows) * int(known.num_columns)


# --- files --------------------------------------------------------------------------------------------------------------


def _read_frame(path: Path, as_text: Sequence[str] = ()) -> pd.DataFrame:
    suffix = table_format(path)
    try:
        frame = _read_parquet(path) if suffix == ".parquet" else _read_csv(path, INPUT_FORMATS[suffix], as_text)
    except pd.errors.EmptyDataError as error:
        raise InvalidInputError(f"{path} is empty. Expected a header line with column names, and rows.") from error
    except InvalidInputError:
        raise
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path} is not UTF-8 text ({error.reason} at byte {error.start}). Save it as UTF-8."
        ) from error
    except DAMAGED as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInputError(f"Cannot read {path} as {suffix[1:]}: {reason}") from error
    frame.columns = pd.Index([str(name) for name in frame.columns], dtype=object)
    return frame


def _read_parquet(path: Path) -> pd.DataFrame:
    schema = pq.read_schema(path)
    check_header(names_in(schema))  # pandas does not read repeated names
    check_memory(COPIES_WHILE_READING * 8 * n_values(path) + ROOM_WHILE_READING)
    in_one_thread: dict[str, Any] = {}
    if memory_is_scarce():
        in_one_thread = {"use_threads": False, "pre_buffer": False}
        if PANDAS_VERSION >= (3, 0):
            in_one_thread["to_pandas_kwargs"] = {"use_threads": False}
    return decimals_as_numbers(pd.read_parquet(path, **in_one_thread).reset_index(drop=True), schema)


def _read_csv(path: Path, compression: Any, as_text: Sequence[str]) -> pd.DataFrame:
    # utf-8-sig reads files with and without Excel's byte order mark.
    options: dict[str, Any] = {"compression": compression, "encoding": "utf-8-sig"}
    # Check the names first, because read_csv renames repeated and empty names.
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
    names = [str(name) for name in header.iloc[0]]
    _check_separator(names, path)
    check_header(names)
    if PANDAS_VERSION < (3, 1):  # the default of older versions may be off by one ulp
        options["float_precision"] = "round_trip"
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            # Without index_col=False, extra fields would silently become an index.
            frame: pd.DataFrame = pd.read_csv(
                path,
                index_col=False,
                low_memory=False,
                keep_default_na=False,
                na_values=MISSING,
                dtype={at: str for at, name in enumerate(names) if name in as_text} or None,
                **options,
            )
        except (pd.errors.ParserWarning, pd.errors.ParserError):
            check_fields(path, compression, len(names))
            raise
    if len(names) > 1 and frame.iloc[:, -1].isna().any():  # pandas fills short lines with missing values
        check_fields(path, compression, len(names))
    frame.columns = pd.Index(names, dtype=object)
    return frame


def _check_separator(names: Sequence[str], path: Path) -> None:
    between = next((sign for sign in OTHER_SEPARATORS if len(names) == 1 and sign in names[0]), None)
    if between is not None:
        raise InvalidInputError(
            f"{path.name} seems to have {OTHER_SEPARATORS[between]} between its fields. Expected commas, and decimal "
            f"points. Convert it with pandas: read_csv(…, sep={between!r}, decimal=',').to_csv(…, index=False)."
        )


def check_header(names: Sequence[str]) -> None:
    """Check that every column has a name, and that no name is repeated."""
    nameless = [at for at, name in enumerate(names, start=1) if not name.strip()]
    if nameless:
        raise InvalidInputError(
            f"Column {nameless[0]} of {len(names)} has no name. It may be a saved row index. Name it or remove it. "
            "pandas omits the index with to_csv(…, index=False)."
        )
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InvalidInputError(f"Column names must be unique; repeated: {listed(repeated)}. Rename or remove them.")
