"""A transformer that encodes labels, the first step of pipelines that fcca builds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fcca.tables import Columns


class TableCoder(TransformerMixin, BaseEstimator):
    """Replace category labels with integer codes.

    The code of a label is its position among the sorted labels. For pandas' category dtype, the order of the dtype is used.
    Numbers are not changed. ``X`` is any table that :meth:`fcca.tables._columns.Columns.of_table` accepts.

    Parameters
    ----------
    output : {'numbers', 'categories', 'whole'}, default='numbers'
        How columns of labels are returned. 'numbers': as floats, with NaN for a missing label. 'categories': as pandas'
        category dtype. 'whole': as whole numbers, with -1 for a missing label.

    Attributes
    ----------
    columns_ : Columns
        The columns of the training table and their labels. Labels of a category dtype that occur in no row are left out.
    """

    def __init__(self, output: str = "numbers") -> None:
        self.output = output

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the labels of each column of ``X``."""
        validate_data(self, X, skip_check_array=True)
        found = Columns.of_table(X)
        codes = found.encode(X)
        columns = []
        for j, column in enumerate(found):
            if column.categories is not None:
                present = np.unique(codes[~np.isnan(codes[:, j]), j]).astype(np.intp)
                column = replace(column, categories=tuple(column.categories[code] for code in present))
            # The next step decides whether missing values are allowed.
            columns.append(replace(column, missing=True))
        self.columns_ = Columns(tuple(columns))
        return self

    def transform(self, X: Any) -> NDArray[np.float64] | pd.DataFrame:
        """Replace the labels in ``X`` with codes.

        Return an array for ``output="numbers"``, otherwise a data frame with the columns ``x0``, ``x1`` and so on.
        """
        check_is_fitted(self)
        validate_data(self, X, skip_check_array=True, reset=False)
        codes = self.columns_.encode(X)
        if self.output == "numbers":
            return codes
        columns: dict[str, Any] = {}
        for j, column in enumerate(self.columns_):
            values: Any = codes[:, j]
            if column.categories is not None:
                values = np.where(np.isnan(values), -1, values).astype(np.int64)
                if self.output == "categories":
                    values = pd.Categorical.from_codes(values, categories=pd.RangeIndex(len(column.categories)))
            # Some libraries do not accept every name.
            columns[f"x{j}"] = values
        return pd.DataFrame(columns, copy=False)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns that :meth:`transform` returns.

        For ``output="numbers"``, these are the names in the training table. Otherwise, they are ``x0``, ``x1`` and so on.
        """
        check_is_fitted(self)
        names = self.columns_.names if self.output == "numbers" else [f"x{j}" for j in range(len(self.columns_))]
        return np.asarray(names, dtype=object)
