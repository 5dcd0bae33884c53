"""Convert the classifier of a pipeline to a model of raw columns.

This inverts the encoders, imputers and scalers before the classifier. Raw columns are the columns of the table before the
first step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.exceptions import UnsupportedModelError
from fcca.models._labels import OpenColumn, relabelled
from fcca.models._model import LinearModel, Model, TreeEnsemble
from fcca.models._precision import largest_passing
from fcca.models.pipelines._steps import FINITE, RawColumnFacts, Table, Trace, trace, transform
from fcca.tables import Column, Columns, called

Floats = NDArray[np.float64]
UNKNOWN = -1.0


class FittedSteps:
    """The fitted steps before a classifier, as functions of raw columns.

    Output columns are the columns of the table that the steps return. Each is a function of a single raw column.

    Parameters
    ----------
    steps : sequence of fitted transformers
    inner : Model
        The model of the classifier after the steps, on output columns.
    n : int
        Number of raw columns.
    names : sequence of str or None
        Names of the raw columns.
    library : str
        Library of the classifier. Some libraries treat sparse tables differently from dense ones.

    Attributes
    ----------
    traces : list of Trace
        For each output column, its raw column and the function between them.
    outputs : list of lists of int
        For each raw column, the positions of its output columns.
    columns : Columns
        The raw columns, without categories that the classifier does not know.
    values : dict of int to ndarray
        Values of output columns, by position. If the raw column has categories, there is one value per category. If the
        output column depends only on whether a number is missing, there is one value, for a number that is present.
    at_missing : ndarray
        The value of each output column if the raw value is missing.
    """

    def __init__(
        self, steps: Sequence[Any], inner: Model, n: int, names: Sequence[str] | None, library: str = "sklearn"
    ) -> None:
        self.steps = list(steps)
        self.n = n
        self.names = names
        self.library = library
        self.sparse = False
        facts = RawColumnFacts()
        self.traces = [Trace(j) for j in range(n)]
        for step in self.steps:
            self.traces = trace(step, self.traces, facts)
        if len(self.traces) != inner.n_features:
            raise UnsupportedModelError(
                f"The steps of the pipeline return {len(self.traces)} columns, but its classifier was fitted on "
                f"{inner.n_features}. Fit the whole pipeline at once."
            )
        self.outputs: list[list[int]] = [[] for _ in range(n)]
        for o, each in enumerate(self.traces):
            self.outputs[each.source].append(o)
        known = self._raw_columns(inner, facts)
        values = self._values_of_categories(known)
        self.inner = self._closed(inner, values, known)
        self.columns, self.values = self._without_unknown(known, values)
        self.columns, self.at_missing = self._with_missing(self.columns)

    def _raw_columns(self, inner: Model, facts: RawColumnFacts) -> Columns:
        columns = []
        for j in range(self.n):
            name = None if self.names is None else str(self.names[j])
            column = Column(name, ignored=not self.outputs[j])
            labels = facts.categories(j)
            behind = [] if inner.columns is None else [(self.traces[o], inner.columns[o]) for o in self.outputs[j]]
            kept = [own for trace, own in behind if trace.raw and own.categories is not None]
            if kept and labels is None:
                filled = [label for label in facts.filled.get(j, ()) if label not in (kept[0].categories or ())]
                column = replace(kept[0], name=name, missing=False)
                if filled:
                    column = replace(column, categories=(*(column.categories or ()), *filled))
            elif labels is not None:
                column = replace(column, categories=labels, as_category=any(own.as_category for own in kept))
            elif j in facts.filled:
                raise UnsupportedModelError(
                    f"SimpleImputer or MissingIndicator treats the number {facts.filled[j][0]!r} of column "
                    f"{called(self.names, j)} as a missing value. Write missing values as NaN and use missing_values=nan."
                )
            if labels is None and not kept and any(own.categories is not None and not t.constant for t, own in behind):
                raise UnsupportedModelError(
                    f"Column {called(self.names, j)} is scaled, but the classifier treats it as categories. Pass the column "
                    "to the classifier without scaling."
                )
            none = column.none_is_missing or j in facts.none_is_missing
            columns.append(replace(column, none_is_missing=none, as_object=j in facts.as_object))
        return Columns(tuple(columns))

    def evaluated(self, columns: Columns, table: Floats, needed: NDArray[np.bool_] | None = None) -> Table:
        """Transform a raw table with the steps, and return the output columns.

        Parameters
        ----------
        columns : Columns
            The raw columns, to convert category codes back to labels.
        table : ndarray of shape (n_rows, n_raw_columns)
            The rows. Categories are given as codes.
        needed : ndarray of shape (n_output_columns,) or None
            True for output columns that are needed. The others may get any values.
        """
        decoded = columns.decode(table)
        if isinstance(decoded, pd.DataFrame):
            out = Table(np.asarray(decoded.iloc[:, j]) for j in range(self.n))
        else:
            out = Table(decoded.T)
        for i, step in enumerate(self.steps):
            out = transform(step, out, needed if i + 1 == len(self.steps) else None)
        return out

    def _values_of_categories(self, columns: Columns) -> dict[int, NDArray[Any]]:
        """Compute the values that output columns have for the categories of raw columns.

        If an output column depends only on whether a number is missing, return its value for a number that is present.
        """
        sizes = [0 if column.categories is None else len(column.categories) for column in columns]
        codes = np.arange(max([*sizes, 1]), dtype=np.float64)
        table = np.stack([np.minimum(codes, max(size - 1, 0)) for size in sizes], axis=1)
        out = self.evaluated(columns, table)
        if len(out) != len(self.traces):
            raise UnsupportedModelError(
                f"The steps of the pipeline return {len(out)} columns, but {len(self.traces)} are expected from their "
                "fitted attributes. Fit the whole pipeline again."
            )
        self.sparse = out.sparse
        if self.sparse and self.library == "xgboost":
            raise UnsupportedModelError(
                "XGBoost treats every 0 of a sparse table as a missing value. Make the table dense: set "
                "sparse_output=False in OneHotEncoder and sparse_threshold=0 in ColumnTransformer."
            )
        values = {}
        for o, each in enumerate(self.traces):
            if sizes[each.source]:
                values[o] = out[o][: sizes[each.source]]
            elif each.constant:
                values[o] = out[o][:1]
        return values

    def _closed(self, inner: Model, values: dict[int, NDArray[Any]], columns: Columns) -> Model:
        """Fill in category labels that the classifier did not keep.

        The labels are taken from ``values``, the values that the steps pass to the classifier.
        """
        for o, given in values.items():
            column = None if inner.columns is None else inner.columns[o]
            if isinstance(column, OpenColumn) and not isinstance(columns[self.traces[o].source], OpenColumn):
                j = self.traces[o].source
                labels = [*given, *(table[o][0] for _, table in self._at_missing(columns, [j]))]
                found = column.labels_in(pd.Series(labels).infer_objects(), called(self.names, j))
                closed = Column(column.name, found.labels, column.missing, found.as_category)
                inner = relabelled(inner, o, closed, found.positions)
        return inner

    def _codes(self, o: int, values: NDArray[Any]) -> Floats:
        """Convert values of output column ``o`` to numbers or category codes.

        A category that the classifier does not know becomes -1.
        """
        column = None if self.inner.columns is None else self.inner.columns[o]
        if column is None or column.categories is None:
            return np.asarray(values, dtype=np.float64)
        code = {label: float(position) for position, label in enumerate(column.categories)}
        missing = np.asarray(pd.isna(values), dtype=np.bool_)
        return np.array(
            [np.nan if gone else code.get(value, UNKNOWN) for value, gone in zip(values.tolist(), missing, strict=True)]
        )

    def _takes_missing(self, o: int) -> bool:
        # scikit-learn's trees support missing values, but not in a sparse table.
        taken = self.inner.columns is not None and self.inner.columns[o].missing
        return taken and not (self.sparse and self.library == "sklearn")

    def _understood(self, o: int, values: Floats) -> NDArray[np.bool_]:
        column = None if self.inner.columns is None else self.inner.columns[o]
        understood = ~np.isnan(values) | self._takes_missing(o)
        return understood if column is None or column.categories is None else understood & ~(values < 0)

    def _without_unknown(self, columns: Columns, values: dict[int, NDArray[Any]]) -> tuple[Columns, dict[int, Floats]]:
        """Remove labels that the classifier rejects from the raw columns.

        ``values`` has the value of each output column for each label. A label is removed if the classifier does not accept
        the value of an output column for this label. Return the raw columns without these labels, and the remaining values
        as codes.
        """
        coded = {o: self._codes(o, given) for o, given in values.items()}
        out = []
        for j, column in enumerate(columns):
            if column.categories is not None:
                kept = np.ones(len(column.categories), dtype=np.bool_)
                for o in self.outputs[j]:
                    kept &= self._understood(o, coded[o])
                if not kept.all():
                    labels = tuple(label for label, keep in zip(column.categories, kept, strict=True) if keep)
                    column = replace(column, categories=labels)
                    coded |= {o: coded[o][kept] for o in self.outputs[j]}
            out.append(column)
        return Columns(tuple(out)), coded

    def _at_missing(self, columns: Columns, missing: list[int]) -> list[tuple[list[int], Table]]:
        """Compute the output columns for rows with missing values.

        ``missing`` has the positions of raw columns. First, one row with missing values in all of these columns is
        transformed. If the steps reject it, each half of the columns is tried in the same way. Return the groups of columns
        in which the steps accept missing values, each with the output columns of its row.
        """
        row = np.zeros((1, self.n))
        row[0, missing] = np.nan
        needed = np.isin([each.source for each in self.traces], missing)
        try:
            return [(missing, self.evaluated(columns, row, needed))]
        except (ValueError, TypeError):  # one of the steps does not support it
            if len(missing) == 1:
                return []
            half = len(missing) // 2
            return self._at_missing(columns, missing[:half]) + self._at_missing(columns, missing[half:])

    def _with_missing(self, columns: Columns) -> tuple[Columns, Floats]:
        """Find the raw columns in which the pipeline accepts missing values.

        Return the raw columns, with ``missing`` set accordingly, and the value of each output column for a missing raw
        value.
        """
        values = np.full(len(self.traces), np.nan)
        used = [j for j in range(self.n) if self.outputs[j]]
        out = list(columns)
        for group, table in self._at_missing(columns, used) if used else ():
            for j in group:
                taken = True
                for o in self.outputs[j]:
                    value = self._codes(o, table[o])
                    values[o] = value[0]
                    taken &= bool(self._understood(o, value)[0])
                out[j] = replace(columns[j], missing=taken)
        return Columns(tuple(out)), values

    @cached_property
    def model_columns(self) -> Columns | None:
        """The raw columns; None for plain numbers without names."""
        plain = not (self.columns.named or self.columns.has_categories or self.columns.may_miss.any())
        return None if plain and not any(column.ignored for column in self.columns) else self.columns

    def cuts_before(self, outputs: NDArray[np.int64], cuts: Floats) -> Floats:
        """Convert cuts on output columns to cuts on raw columns.

        Parameters
        ----------
        outputs : ndarray of shape (n_cuts,)
            Position of the output column of each cut.
        cuts : ndarray of shape (n_cuts,)

        Returns
        -------
        ndarray of shape (n_cuts,)
            The largest raw float64 whose output is at most the cut.
        """
        found = cuts.copy()
        rounded = np.array([not self.traces[o].exact for o in outputs], dtype=np.bool_)
        slope = np.array([self.traces[o].slope for o in outputs])
        found[~rounded] = cuts[~rounded] / slope[~rounded]  # division by a power of two is exact
        if rounded.any():
            found[rounded] = self._searched(outputs[rounded], cuts[rounded])
        return found

    def _searched(self, outputs: NDArray[np.int64], cuts: Floats) -> Floats:
        sources = np.array([self.traces[o].source for o in outputs])
        order = np.argsort(sources, kind="stable")
        # Each row for the steps has one candidate of every raw column.
        row = np.empty(len(order), dtype=np.int64)
        row[order] = np.arange(len(order)) - np.searchsorted(sources[order], sources[order])
        needed = np.zeros(len(self.traces), dtype=np.bool_)
        needed[outputs] = True
        searched, position = np.unique(outputs, return_inverse=True)

        def passes(x: Floats) -> NDArray[np.bool_]:
            rows = np.zeros((int(row.max()) + 1, self.n))
            rows[row, sources] = x
            # Use the arithmetic of the steps, so that the model rounds as they do.
            table = self.evaluated(self.columns, rows, needed)
            out = np.array([table[o] for o in searched], dtype=np.float64)[position, row]
            passed: NDArray[np.bool_] = out <= cuts
            return passed

        return largest_passing(passes, len(cuts))


def model_of_raw_columns(
    steps: Sequence[Any], inner: Model, n: int, names: Sequence[str] | None, library: str = "sklearn"
) -> Model:
    """Convert the model after fitted steps to a model of raw columns.

    The parameters are those of :class:`FittedSteps`.
    """
    steps_before = FittedSteps(steps, inner, n, names, library)
    if isinstance(inner, LinearModel):
        return _linear_of_raw_columns(steps_before)
    return _trees_of_raw_columns(steps_before)


def _linear_of_raw_columns(steps_before: FittedSteps) -> LinearModel:
    inner = steps_before.inner
    assert isinstance(inner, LinearModel)
    n = steps_before.n
    coef, centre = np.zeros((inner.n_outputs, n)), np.zeros(n)
    intercept = inner.intercept.copy()
    effects: dict[int, Floats] = {}
    missing = np.zeros((n, inner.n_outputs))

    def contribution(o: int, values: Floats) -> Floats:
        """Compute the amount that each value of output column ``o`` adds to the scores."""
        is_missing = np.isnan(values)
        filled = np.where(is_missing, 0.0, values)
        found: Floats = (filled[:, None] - inner.centre[o]) * inner.coef[:, o]
        if o in inner.effects:
            found = inner.effects[o][filled.astype(np.intp)]
        if inner.missing is not None:
            found = np.where(is_missing[:, None], inner.missing[o], found)
        return found

    for j, column in enumerate(steps_before.columns):
        outputs = steps_before.outputs[j]
        if column.categories is not None:
            effects[j] = np.zeros((len(column.categories), inner.n_outputs))
        numbers = [o for o in outputs if not steps_before.traces[o].constant]
        if column.categories is None and numbers:
            centre[j] = steps_before.traces[numbers[0]].centre
        for o in outputs:
            each = steps_before.traces[o]
            if column.missing:
                missing[j] += contribution(o, steps_before.at_missing[[o]])[0]
            if column.categories is not None:
                effects[j] += contribution(o, steps_before.values[o])
                continue
            if each.constant:
                at_centre = contribution(o, steps_before.values[o])[0]
            else:
                coef[:, j] += inner.coef[:, o] * each.slope
                # The difference of centres is 0, unless two scalers share the column.
                at_centre = inner.coef[:, o] * (each.offset - inner.centre[o] + each.slope * (centre[j] - each.centre))
            intercept += at_centre
            if column.missing:  # a missing value does not contribute at the centre
                missing[j] -= at_centre
    return replace(
        inner,
        n_features=n,
        columns=steps_before.model_columns,
        coef=coef,
        intercept=intercept,
        centre=centre,
        effects=effects,
        missing=missing if steps_before.columns.may_miss.any() else None,
    )


def _trees_of_raw_columns(steps_before: FittedSteps) -> TreeEnsemble:
    inner = steps_before.inner
    assert isinstance(inner, TreeEnsemble)
    columns, traces = steps_before.columns, steps_before.traces
    nodes = np.flatnonzero(inner.feature >= 0)
    outputs = inner.feature[nodes].astype(np.int64)
    feature, threshold, native = inner.feature.copy(), inner.threshold.copy(), inner.native_threshold.copy()
    missing_left = np.zeros(len(feature), dtype=np.bool_) if inner.missing_left is None else inner.missing_left.copy()
    categories: dict[int, NDArray[np.int64]] = {}
    single = np.full(len(feature), -1, dtype=np.int8)  # 1: everything goes left, 0: right
    source = np.array([trace.source for trace in traces], dtype=np.int32)
    feature[nodes] = source[outputs]
    is_known = np.isin(np.arange(len(traces)), list(steps_before.values))

    def goes_left(node: int, values: Floats) -> NDArray[np.bool_]:
        own = inner.categories.get(node)
        left = np.isin(values, own) if own is not None else values <= inner.threshold[node]
        return np.where(np.isnan(values), inner.missing_left is not None and inner.missing_left[node], left)

    filled = steps_before.at_missing[outputs]
    missing_left[nodes] = np.where(np.isnan(filled), missing_left[nodes], filled <= inner.threshold[nodes])
    for node, o in zip(nodes[is_known[outputs]].tolist(), outputs[is_known[outputs]].tolist(), strict=True):
        j = traces[o].source
        if columns[j].missing and node in inner.categories:
            missing_left[node] = goes_left(node, steps_before.at_missing[[o]])[0]
        left = goes_left(node, steps_before.values[o])
        native[node] = np.nan
        if columns[j].categories is not None:
            categories[node] = np.flatnonzero(left).astype(np.int64)
            threshold[node] = np.nan
        else:
            threshold[node] = FINITE if left[0] else -np.inf
        if left.all() or not left.any():
            side = bool(left[0]) if len(left) else True
            if not columns[j].missing or missing_left[node] == side:
                single[node] = side
    at = nodes[~is_known[outputs]]
    if len(at):
        pairs = np.stack([inner.feature[at].astype(np.float64), inner.threshold[at]])
        (o, cut), where = np.unique(pairs, axis=1, return_inverse=True)
        threshold[at] = steps_before.cuts_before(o.astype(np.int64), cut)[where.ravel()]
        scale = np.array([(trace.slope, trace.offset, trace.centre) for trace in traces])
        slope, offset, centre = scale[inner.feature[at]].T
        native[at] = (native[at] - offset) / slope + centre
    model = replace(
        inner,
        n_features=steps_before.n,
        columns=steps_before.model_columns,
        feature=feature,
        threshold=threshold,
        native_threshold=native,
        categories=categories,
        missing_left=missing_left if columns.may_miss.any() else None,
    )
    return _without_single(model, single) if (single >= 0).any() else model


def _without_single(model: TreeEnsemble, single: NDArray[np.int8]) -> TreeEnsemble:
    """Remove the nodes that send all rows to the same child.

    ``single`` has an entry for each node. It is 1 if all rows go to the left child, 0 if all rows go to the right child, and
    -1 otherwise.
    """
    target = np.arange(len(model.feature))
    # Children may be numbered before or after their parents, so repeat until nothing changes.
    step = np.where(single < 0, target, np.where(single == 1, model.left, model.right))
    while not np.array_equal(target, step[target]):
        target = step[target]
    roots = target[model.roots]
    left = np.where(model.left < 0, -1, target[model.left])
    right = np.where(model.right < 0, -1, target[model.right])
    kept = np.zeros(len(target), dtype=np.bool_)
    level = roots
    while len(level):
        kept[level] = True
        level = np.concatenate([left[level], right[level]])
        level = level[level >= 0]
    tree = np.searchsorted(model.roots, np.arange(len(target)), side="right") - 1
    is_root = np.zeros(len(target), dtype=np.bool_)
    is_root[roots] = True
    order = np.flatnonzero(kept)
    order = order[np.lexsort((order, ~is_root[order], tree[order]))]  # the root comes first in its tree
    return replace(model, roots=roots, left=left, right=right).arranged(order)
