"""Fill in category labels that classifiers did not keep, and align category codes.

Some classifiers keep only codes or hashes of labels. The models of an ensemble must use the same codes.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models._model import Model, TreeEnsemble
from fcca.tables import Column, Columns

Codes = NDArray[np.int64]
AnyModel = TypeVar("AnyModel", bound=Model)


class Other(Enum):
    """The category for all labels that an :class:`OpenColumn` does not list."""

    OTHER = "any other category"

    def __repr__(self) -> str:
        return self.value


OTHER = Other.OTHER


class ColumnLabels(NamedTuple):
    """The category labels in a column of a table, matched with those of its OpenColumn.

    Attributes
    ----------
    labels : tuple
        The distinct labels in this column of the table.
    positions : ndarray
        The position of each label in the categories of the OpenColumn.
    as_category : bool
        Whether the classifier expects the column as pandas' category dtype.
    """

    labels: tuple[Any, ...]
    positions: Codes
    as_category: bool


@dataclass(frozen=True)
class OpenColumn(Column):
    """A column of categories whose labels the classifier did not keep.

    Its ``categories`` are the codes, hashes or strings that the classifier kept instead. If they are codes or hashes,
    the last category is ``OTHER``, which stands for all other labels. :func:`labelled` replaces the column with one that has
    the labels of a table.
    """

    def labels_in(self, values: pd.Series[Any], name: str) -> ColumnLabels:
        """Match the labels in ``values`` with this column's categories.

        ``name`` is used in error messages.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class CodedColumn(OpenColumn):
    """An OpenColumn of LightGBM or XGBoost, which kept codes instead of labels.

    The codes are the whole numbers in the table or, for pandas' category dtype, positions in its categories.

    Attributes
    ----------
    index : tuple or None
        The lengths of the labels, and the bytes that XGBoost kept of them. They are only set if some bytes are not
        ASCII. Such labels cannot be restored, but they can be recognised in a table. None for all other columns.
    """

    index: tuple[tuple[int, ...], bytes] | None = None

    def labels_in(self, values: pd.Series[Any], name: str) -> ColumnLabels:
        """Match the labels in ``values`` with the codes that the classifier kept."""
        labels, positional = distinct_labels(values)
        if self.index is not None:
            if not positional or not _has_index(labels, *self.index):
                raise InvalidInputError(
                    f"The categories of column {name} differ from those in the training data of the XGBoost model, or have "
                    "another order. Convert the column to pandas' category dtype with the same categories in the same order."
                )
        elif not positional and not all(isinstance(label, Real) for label in labels):
            raise InvalidInputError(
                f"The model stores the categories of column {name} as whole numbers only. Pass the column as these numbers "
                "or, for XGBoost, as pandas' category dtype with the categories in the order of the training data."
            )
        native = range(len(labels)) if positional else [int(label) for label in labels]
        known = {code: position for position, code in enumerate((self.categories or ())[:-1])}
        positions = np.array([known.get(code, len(known)) for code in native], dtype=np.int64)
        return ColumnLabels(labels, positions, positional)


@dataclass(frozen=True)
class HashedColumn(OpenColumn):
    """An OpenColumn of CatBoost, which keeps only hashes of labels."""

    def labels_in(self, values: pd.Series[Any], name: str) -> ColumnLabels:
        """Match the labels in ``values`` with the hashes that CatBoost kept."""
        labels, _ = distinct_labels(values)
        hashes = (self.categories or ())[:-1]
        positions = np.full(len(labels), len(hashes), dtype=np.int64)
        if hashes and labels:
            label, position = np.nonzero(_equal_hashes(hashes, labels))
            positions[label] = position
        # CatBoost reads numbers in an array as numbers, in every column.
        return ColumnLabels(labels, positions, all(isinstance(label, Integral) for label in labels))


def _has_index(labels: tuple[Any, ...], lengths: tuple[int, ...], kept: bytes) -> bool:
    """Return True if labels have the lengths and bytes that XGBoost kept.

    Some versions of XGBoost counted characters instead of bytes, and kept only the first bytes of the joined labels.
    """
    texts = [str(label) for label in labels]
    whole = "".join(texts).encode()
    by_bytes = tuple(len(text.encode()) for text in texts) == lengths and whole == kept
    return by_bytes or (tuple(len(text) for text in texts) == lengths and whole.startswith(kept))


def _equal_hashes(hashes: Sequence[int], labels: Sequence[Any]) -> NDArray[np.bool_]:
    """Compare the hash of each label with the hashes that CatBoost kept.

    The comparison is made by a small CatBoost model with one tree per hash. Each tree has a leaf for labels with this hash,
    and a leaf for all other labels.

    Returns
    -------
    ndarray of shape (n_labels, n_hashes)
        True where the hashes are equal.
    """
    catboost = import_module("catboost")
    feature = {"feature_id": "0", "feature_index": 0, "flat_feature_index": 0, "values": list(hashes)}
    split = {"cat_feature_index": 0, "split_type": "OneHotFeature"}
    trees = [
        {"leaf_values": [0, 1], "leaf_weights": [1, 1], "splits": [split | {"split_index": i, "value": value}]}
        for i, value in enumerate(hashes)
    ]
    document = {
        "features_info": {"categorical_features": [feature], "float_features": []},
        "model_info": {},
        "oblivious_trees": trees,
        "scale_and_bias": [1, [0]],
    }
    model = catboost.CatBoost()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hashes.json"
        path.write_text(json.dumps(document))
        model.load_model(str(path), format="json")
    column = np.empty((len(labels), 1), dtype=object)
    column[:, 0] = labels
    try:
        rows = catboost.Pool(column, cat_features=[0])
    except catboost.CatBoostError as error:
        raise InvalidInputError(f"CatBoost does not accept the category labels of the table: {error}") from error
    leaves = np.asarray(model.calc_leaf_indexes(rows), dtype=np.int64)
    return np.asarray(leaves == 1)


def distinct_labels(values: pd.Series[Any]) -> tuple[tuple[Any, ...], bool]:
    """Return the distinct labels of a column, and True for pandas' category dtype.

    With this dtype, the labels are all categories of the dtype, in its order. Otherwise, the labels are sorted, and the
    second result is False.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        return tuple(values.cat.categories.tolist()), True
    distinct = values.dropna().unique().tolist()
    return tuple(sorted(distinct, key=lambda label: ("" if isinstance(label, Real) else type(label).__name__, label))), False


def column_of(X: Any, j: int) -> pd.Series[Any]:
    """Return column ``j`` of a table as a pandas Series.

    The table may be a pandas or polars data frame, or array-like.
    """
    if isinstance(X, pd.DataFrame):
        return X.iloc[:, j]
    if type(X).__module__.startswith("polars"):
        values = X.to_series(j)
        if type(values.dtype).__name__ == "Enum":
            return pd.Series(pd.Categorical(values.to_list(), categories=values.dtype.categories.to_list()))
        return pd.Series(values.to_list())
    table = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    return pd.Series(table[:, j], dtype=table.dtype)


def relabelled(model: AnyModel, j: int, column: Column, positions: Codes) -> AnyModel:
    """Replace the categories of one column of a model.

    Parameters
    ----------
    model : TreeEnsemble
        Only tree ensembles have categories with unknown labels.
    j : int
        Position of the column.
    column : Column
        The new column, with the new categories.
    positions : ndarray of shape (n_new_categories,)
        For each new category, its code among the old categories.
    """
    assert isinstance(model, TreeEnsemble)
    assert model.columns is not None
    columns = Columns(tuple(column if i == j else old for i, old in enumerate(model.columns.columns)))
    categories = {
        node: np.flatnonzero(np.isin(positions, left)).astype(np.int64) if model.feature[node] == j else left
        for node, left in model.categories.items()
    }
    return replace(model, columns=columns, categories=categories)


def labelled(model: AnyModel, X: Any) -> AnyModel:
    """Fill in category labels that a classifier did not keep.

    CatBoost keeps only hashes of the labels that its trees split by. LightGBM and XGBoost may keep only integer codes, for
    example if they were trained on codes. All categories that the classifier did not keep lead to the same predictions.

    Parameters
    ----------
    model : Model
    X : data frame or array-like of shape (n_rows, n_features)
        A table with all labels, such as the training data, in the form that the classifier accepts.

    Returns
    -------
    Model
        The model with labels from ``X``. If the classifier kept all labels, the model is returned unchanged.
    """
    columns = () if model.columns is None else model.columns.columns
    for j, column in enumerate(columns):
        if isinstance(column, OpenColumn):
            name = f"{j}" if column.name is None else repr(column.name)
            found = column.labels_in(column_of(X, j), name)
            closed = Column(column.name, found.labels, column.missing, found.as_category)
            model = relabelled(model, j, closed, found.positions)
    return model


def aligned(models: Sequence[TreeEnsemble]) -> tuple[list[TreeEnsemble], Columns | None]:
    """Give several models the same category codes, so that their trees can be joined.

    Returns
    -------
    models : list of TreeEnsemble
        The models. If two models list the categories of a column in a different order, the order of the first is used.
    columns : Columns or None
        The common description of the columns. None if no model has a description.

    Raises
    ------
    UnsupportedModelError
        If two models have different categories for the same column.
    """
    known = [model.columns for model in models]
    if all(columns is None for columns in known):
        return list(models), None
    n = models[0].n_features
    joined = [Column() for _ in range(n)]
    out = list(models)
    for j in range(n):
        own_columns = [columns.columns[j] for columns in known if columns is not None]
        all_say = len(own_columns) == len(known)
        used = [own for own in own_columns if not own.ignored]
        column = Column(missing=all_say and bool(used) and all(own.missing for own in used), ignored=all_say and not used)
        for i, columns in enumerate(known):
            if columns is None:
                continue
            own = columns.columns[j]
            if column.name is None:
                column = replace(column, name=own.name)
            if own.categories is None or own.categories == column.categories:
                continue
            if column.categories is None:
                column = replace(own, name=column.name, missing=column.missing)
                continue
            if set(own.categories) != set(column.categories) or isinstance(own, OpenColumn):
                raise UnsupportedModelError(
                    f"Two classifiers of the ensemble have different categories for column {own.name or j}. Give their "
                    "encoders the same list of categories."
                )
            code = {label: position for position, label in enumerate(own.categories)}
            positions = np.array([code[label] for label in column.categories], dtype=np.int64)
            out[i] = relabelled(out[i], j, replace(own, categories=column.categories), positions)
        joined[j] = column
    return out, Columns(tuple(joined))


def named_columns(estimator: Any, n: int, *, missing: bool) -> Columns | None:
    """Describe ``n`` numeric columns, with the column names that a classifier stores.

    ``missing`` tells whether values may be missing. Return None if there are no names and ``missing`` is False.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None and not missing:
        return None
    return Columns.numbers(n, None if names is None else [str(name) for name in names], missing=missing)
