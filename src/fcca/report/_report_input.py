"""The checked input of a report: the classifier, its training rows, and held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d, validate_data

from fcca.classifier import FCCAClassifier
from fcca.counterfactuals import Counterfactuals
from fcca.discretizers import EncodedRows
from fcca.exceptions import InvalidInputError, UnknownValuesWarning
from fcca.models import DecidedAt, TableCoder
from fcca.quality import Comparison, LabelledRows
from fcca.tables import (
    Columns,
    PowerOfTwoScaler,
    SoftLabels,
    Special,
    StandIns,
    heaviest_label,
    special_by_column,
    without_special,
)
from fcca.thresholds import ThresholdTable
from fcca.utils import SOFT_FIT_TO, close_to, printable, type_in_words

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class PredictedRows:
    """Rows with their labels and the predictions of the black box.

    Attributes
    ----------
    table : ndarray of shape (n_rows, n_features)
        The rows, with categories as codes and NaN for missing values.
    y, predictions : ndarray of shape (n_rows,)
        Label of each row, and the class that the black box predicts.
    weight : ndarray of shape (n_rows,) or None
        Weight of each row; None if all weights are 1.
    """

    table: Floats
    y: NDArray[Any]
    predictions: NDArray[Any]
    weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def commonest(self) -> Any:
        """The label with the largest total weight; in a tie, the first in sorted order."""
        return heaviest_label(self.y, self.weight)


@dataclass(frozen=True)
class ReportInput:
    """The checked input of a report, and values computed from it.

    Attributes
    ----------
    classifier : FCCAClassifier
    training : PredictedRows
    numbers : ndarray of shape (n_training_rows,)
        Positions of the training rows in the table passed to ``fit``.
    names : list
        Names under which the training rows can be looked up.
    are_named : bool
        True if the user gave these names. Otherwise they are positions in the table.
    held_out : PredictedRows or None
        Rows that were not used for fitting.
    notes : tuple of str
        Notes on the held-out rows.
    class_names : mapping
        Names of some classes, by label.
    """

    classifier: FCCAClassifier
    training: PredictedRows
    numbers: Positions
    names: list[int | str]
    are_named: bool
    held_out: PredictedRows | None
    notes: tuple[str, ...]
    class_names: Mapping[Any, str] = field(default_factory=dict)

    @property
    def discretizer(self) -> Any:
        """The fitted discretizer."""
        return self.classifier.discretizer_

    @property
    def has_granularity(self) -> bool:
        """True if the discretizer can select thresholds by the granularity Q."""
        return hasattr(self.discretizer, "set_granularity")

    @property
    def conditions(self) -> ThresholdTable:
        """All conditions that the discretizer found, before it selected some of them."""
        return all_conditions(self.classifier)

    @property
    def counterfactuals(self) -> Counterfactuals | None:
        """The counterfactuals; None for a discretizer that does not compute any."""
        return getattr(self.discretizer, "counterfactuals_", None)

    @property
    def columns(self) -> Columns | None:
        """Descriptions of the columns; None if all columns are numeric without missing values."""
        return self.conditions.columns

    @cached_property
    def classes(self) -> list[Any]:
        """All classes of the labels, of the black box and of the tree, sorted."""
        found: dict[Any, None] = {}
        found_by = (self.classifier.classes_, getattr(self.discretizer, "classes_", np.empty(0)))
        of_rows = [labels for rows in (self.training, self.held_out) if rows for labels in (rows.y, rows.predictions)]
        for labels in (*found_by, *map(np.unique, of_rows)):
            found |= dict.fromkeys(labels.tolist())
        try:
            return sorted(found)
        except TypeError:  # strings and numbers mixed
            return list(found)

    def name(self, label: Any) -> Any:
        """Return the name of a class."""
        return self.class_names.get(label, label)

    @property
    def shown_classes(self) -> list[Any]:
        """The names of ``classes``."""
        return [self.name(label) for label in self.classes]

    def class_codes(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Return the position of each label in ``classes``."""
        position = {label: code for code, label in enumerate(self.classes)}
        return np.array([position[label] for label in labels.tolist()], dtype=np.int64)

    @cached_property
    def soft(self) -> SoftLabels | None:
        """The class probabilities of the black box, as soft labels. None if the tree learned classes.

        They are not yet mixed with the labels; ``fit_tree`` does that.
        """
        if self.classifier.fit_to_ not in SOFT_FIT_TO:
            return None
        rows = EncodedRows(self.training.table, self.training.y, self.training.weight)
        found: SoftLabels | None = self.discretizer.soft_labels(rows)
        return found

    @cached_property
    def comparison(self) -> Comparison:
        """Object that compares a tree with CART, the most frequent class and the black box.

        The held-out rows are used if there are any, otherwise the training rows.
        """
        training, held_out = (
            None if rows is None else LabelledRows(rows.y, rows.predictions, rows.weight, rows.table)
            for rows in (self.training, self.held_out)
        )
        assert training is not None
        return Comparison(self.classifier, training, held_out)

    @cached_property
    def weight(self) -> Floats:
        """Weights of the training rows; all 1 if no weights were given."""
        return np.ones(len(self.training)) if self.training.weight is None else self.training.weight

    @cached_property
    def point_of_row(self) -> Positions:
        """Position of each training row in ``counterfactuals``; -1 for a row without an entry."""
        points = np.full(len(self.training), -1, dtype=np.int64)
        if self.counterfactuals is not None:
            at = np.searchsorted(self.numbers, self.counterfactuals.rows)
            points[at] = np.arange(len(at))
        return points

    @cached_property
    def probabilities(self) -> Floats | None:
        """Class probabilities of the black box for the training rows, one column per class in ``classes``.

        None if the black box has no ``predict_proba``.
        """
        estimator = self.discretizer.estimator_
        if not hasattr(estimator, "predict_proba"):
            return None
        given = self.discretizer.as_black_box_takes(self.training.table)
        found = np.zeros((len(self.training), len(self.classes)))
        found[:, self.class_codes(np.asarray(estimator.classes_))] = estimator.predict_proba(given)
        return found

    def probability(self, rows: Positions) -> Floats | None:
        """Return the probability that the black box gives to its prediction, for some training rows.

        ``rows`` are the positions of the rows. Return None if the black box has no ``predict_proba``.
        """
        if self.probabilities is None:
            return None
        of_prediction: Floats = self.probabilities[rows, self.class_codes(self.training.predictions[rows])]
        return of_prediction

    @cached_property
    def special(self) -> Special:
        """Special values of numeric columns, by the position of the column."""
        names, n = list(self.conditions.feature_names), self.training.table.shape[1]
        is_number = [True] * n if self.columns is None else (~self.columns.is_category).tolist()
        return special_by_column(getattr(self.discretizer, "special_values", None), names, is_number)

    @cached_property
    def typical(self) -> Floats:
        """A typical value of each column: the most frequent category, or the training value at the median.

        Special values are left out.
        """
        table = without_special(self.training.table, self.special)
        found = StandIns.of(table, self.columns)
        middle = np.nanquantile(table, 0.5, axis=0, method="lower")
        return np.where(found.is_category, found.values, middle)


def all_conditions(classifier: FCCAClassifier) -> ThresholdTable:
    """Return all conditions that the discretizer found, before it selected some of them."""
    discretizer = classifier.discretizer_
    table: ThresholdTable = getattr(discretizer, "all_thresholds_", discretizer.thresholds_)
    return table


# --- checks -------------------------------------------------------------------------------------------------------------


def check_classifier(classifier: Any) -> None:
    """Check that a report can be written for this classifier.

    The classifier must be fitted. Its tree must use the current thresholds of its discretizer.
    """
    if not isinstance(classifier, FCCAClassifier):
        raise InvalidInputError(f"classifier must be a fitted FCCAClassifier, got {type_in_words(classifier)}.")
    check_is_fitted(classifier)
    n_kept, n_grown = len(classifier.discretizer_.thresholds_), classifier.tree_.n_features_in_
    if n_kept != n_grown or not _has_same_thresholds(classifier):
        others = f"now keeps {n_kept}" if n_kept != n_grown else "now keeps different ones"
        raise InvalidInputError(
            f"The tree was grown on {n_grown} thresholds, but the discretizer {others}. Its granularity or selection was "
            "set after the classifier was fitted. Pass classifier.at_granularity(Q) or classifier.at_selection(…) instead."
        )


def _has_same_thresholds(classifier: FCCAClassifier) -> bool:
    """Return True if the tree was fitted on the current conditions of the discretizer."""
    fitted, current = classifier.structure_, classifier.tree_.tree_.with_conditions(classifier.discretizer_.thresholds_)
    return (
        np.array_equal(fitted.feature, current.feature)
        and np.array_equal(fitted.threshold, current.threshold, equal_nan=True)
        and (fitted.categories, fitted.asks_missing) == (current.categories, current.asks_missing)
        and fitted.asks_special == current.asks_special
    )


def checked_input(
    classifier: FCCAClassifier,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    X_test: Any,
    y_test: Any,
    row_numbers: Any,
    class_names: Mapping[Any, str] | None = None,
) -> ReportInput:
    """Check the arguments of a report, encode all rows, and predict them with the black box.

    The parameters are those of :func:`page`.
    """
    if (X_test is None) != (y_test is None):
        raise InvalidInputError("X_test and y_test must be given together. Pass both or neither.")
    if X_test is not None:
        y_test = _checked_labels(classifier, X_test, y_test)
    rows = classifier.training_data(X, y, sample_weight)
    names = _checked_names(row_numbers, rows.rows)
    training = _predicted(classifier, rows.X, rows.y, rows.sample_weight)
    held_out, notes = None, []
    if X_test is not None:
        held_out = _predicted(classifier, X_test, y_test, None)
        columns = all_conditions(classifier).columns or Columns.numbers(held_out.table.shape[1])
        unknown = columns.is_unknown(held_out.table).any(axis=1)
        replaced = classifier.discretizer_.stand_ins_.replaced(held_out.table).any(axis=1)
        if unknown.any():
            notes = [_note_on_unknown(int(unknown.sum()), int((unknown & replaced).sum()))]
    found = ReportInput(
        classifier, training, rows.rows, names, row_numbers is not None, held_out, tuple(notes), class_names or {}
    )
    _check_class_names(found)
    return found


def _check_class_names(inputs: ReportInput) -> None:
    """Check that every name is the name of a class, and that the names of all classes differ."""
    labels, names = inputs.classes, [str(name) for name in inputs.shown_classes]
    unknown = [label for label in inputs.class_names if label not in labels]
    if unknown:
        raise InvalidInputError(
            f"class_names has a name for {unknown[0]!r}, which is not a class. {close_to(str(unknown[0]), map(str, labels))}"
        )
    repeated = [name for name in names if names.count(name) > 1]
    if inputs.class_names and repeated:
        raise InvalidInputError(
            f"class_names gives two classes the name {repeated[0]!r}. Give every class a different name."
        )


def _predicted(classifier: FCCAClassifier, X: Any, y: NDArray[Any], weight: Floats | None) -> PredictedRows:
    discretizer = classifier.discretizer_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownValuesWarning)  # the page has a note
        table = discretizer.encode(X)
    given = discretizer.as_black_box_takes(table)
    predictions = np.asarray(discretizer.estimator_.predict(given)).ravel()  # CatBoost may return a column
    return PredictedRows(table, y, predictions, weight)


def _checked_labels(classifier: FCCAClassifier, X_test: Any, y_test: Any) -> NDArray[Any]:
    validate_data(classifier, X_test, skip_check_array=True, reset=False)  # checks names and number of columns
    labels: NDArray[Any] = column_or_1d(y_test)
    n = _num_samples(X_test)
    if n != len(labels):
        raise InvalidInputError(f"X_test and y_test must have the same number of rows ({n} and {len(labels)}).")
    if n == 0:
        raise InvalidInputError("X_test has no rows. Omit X_test and y_test if there are no held-out rows.")
    known = set(classifier.classes_.tolist())
    if not known.intersection(labels.tolist()):
        raise InvalidInputError(
            f"None of the labels in y_test is a class of the classifier. y_test begins with {labels[:3].tolist()}, but the "
            f"classes are {classifier.classes_.tolist()}."
        )
    return labels


def _checked_names(row_numbers: Any, numbers: Positions) -> list[int | str]:
    if row_numbers is None:
        return [int(number) for number in numbers]
    given = column_or_1d(row_numbers)
    some_have_no_weight = len(numbers) > 0 and numbers[-1] >= len(numbers)
    if some_have_no_weight and len(given) > numbers[-1]:
        given = given[numbers]
    if len(given) != len(numbers):
        raise InvalidInputError(f"row_numbers must have one entry per training row ({len(numbers)}), got {len(given)}.")
    names = [name if _is_small(name) else printable(name) for name in given.tolist()]
    if len(set(map(str, names))) < len(names):
        raise InvalidInputError("row_numbers has the same entry for two rows. Entries must be unique.")
    return names


def _is_small(name: Any) -> bool:
    """Return True for an integer that JavaScript can represent exactly."""
    return isinstance(name, int) and not isinstance(name, bool) and abs(name) < 2**53


def _note_on_unknown(n: int, n_replaced: int) -> str:
    """Describe ``n`` rows with unknown values; the black box gets other values for ``n_replaced`` of them."""
    have = "row has a category or a missing value" if n == 1 else "rows have categories or missing values"
    note = (
        f"{n:,} held-out {have} that no training row has in the same column. An unknown category is in no set of categories."
    )
    if n_replaced == 0:
        return note
    of_which = "The" if n_replaced == n else f"In {n_replaced:,} of these rows, the"
    return f"{note} {of_which} black box gets the training median or the most frequent training category instead."


def model_name(estimator: Any) -> str:
    """Describe a black box: its type, the steps of a pipeline, and the decision threshold."""
    if isinstance(estimator, DecidedAt):
        return f"{model_name(estimator.estimator)}, decision threshold {estimator.threshold:g}"
    if isinstance(estimator, FrozenEstimator):
        return model_name(estimator.estimator)
    if isinstance(estimator, Pipeline):
        if isinstance(estimator.steps[0][1], TableCoder):  # a pipeline made by fcca
            return model_name(estimator.steps[-1][1])
        return " + ".join(model_name(step) for _, step in estimator.steps if not isinstance(step, PowerOfTwoScaler))
    return type(estimator).__name__
