"""Input of a report: a fitted classifier, its training rows and held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d, validate_data

from fcca.classifier import FCCAClassifier
from fcca.counterfactuals import Counterfactuals
from fcca.exceptions import InvalidInputError
from fcca.models import DecidedAt, TableCoder, as_fitted_on
from fcca.quality import Comparison, LabelledRows
from fcca.tables import Columns, PowerOfTwoScaler, heaviest_label, known_rows
from fcca.thresholds import ThresholdTable
from fcca.utils import printable, type_in_words

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Rows with their labels and what the black box answers them with.

    Attributes
    ----------
    table : ndarray of shape (n_rows, n_features)
        Categories as codes, NaN for missing values.
    y, answers : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
    """

    table: Floats
    y: NDArray[Any]
    answers: NDArray[Any]
    weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def commonest(self) -> Any:
        """The label of the largest weight, of equals the first."""
        return heaviest_label(self.y, self.weight)


@dataclass(frozen=True)
class Material:
    """All data of a report.

    Attributes
    ----------
    classifier : FCCAClassifier
    training : Rows
    numbers : ndarray of shape (n_training_rows,)
        Which rows of the table that was fitted on the training rows are.
    names : list
        What they are called.
    are_named : bool
        Whether these names were given; they are positions in the table otherwise.
    held_out : Rows or None
    notes : tuple of str
        What to know about the held-out rows.
    """

    classifier: FCCAClassifier
    training: Rows
    numbers: Positions
    names: list[int | str]
    are_named: bool
    held_out: Rows | None
    notes: tuple[str, ...]

    @property
    def discretizer(self) -> Any:
        """The fitted discretizer."""
        return self.classifier.discretizer_

    @property
    def has_granularity(self) -> bool:
        """True where thresholds can be kept by their frequency."""
        return hasattr(self.discretizer, "set_granularity")

    @property
    def conditions(self) -> ThresholdTable:
        """All conditions found, before any selection."""
        return all_conditions(self.classifier)

    @property
    def counterfactuals(self) -> Counterfactuals | None:
        """The certified answers; None for a discretizer that computes none."""
        return getattr(self.discretizer, "counterfactuals_", None)

    @property
    def columns(self) -> Columns | None:
        """Categories and missing values; None where all columns are plain numbers."""
        return self.conditions.columns

    @cached_property
    def classes(self) -> list[Any]:
        """All classes that the labels, the black box or the tree know, sorted."""
        found: dict[Any, None] = {}
        found_by = (self.classifier.classes_, getattr(self.discretizer, "classes_", np.empty(0)))
        for labels in (*found_by, np.unique(self.training.y), np.unique(self.training.answers)):
            found |= dict.fromkeys(labels.tolist())
        try:
            return sorted(found)
        except TypeError:  # texts beside numbers
            return list(found)

    def class_codes(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Positions in classes."""
        position = {label: code for code, label in enumerate(self.classes)}
        return np.array([position[label] for label in labels.tolist()], dtype=np.int64)

    @property
    def learned(self) -> NDArray[Any]:
        """Target of the tree: the labels of the training rows, or the black box's predictions."""
        return self.training.y if self.classifier.fit_to == "labels" else self.training.answers

    @cached_property
    def comparison(self) -> Comparison:
        """Rivals of the trees, on the held-out rows where there are any."""
        training, held_out = (
            None if rows is None else LabelledRows(rows.y, rows.answers, rows.weight, rows.table)
            for rows in (self.training, self.held_out)
        )
        assert training is not None
        return Comparison(self.classifier, training, held_out)

    @cached_property
    def weight(self) -> Floats:
        """Weights of the training rows, 1 where none were given."""
        return np.ones(len(self.training)) if self.training.weight is None else self.training.weight

    @cached_property
    def point_of_row(self) -> Positions:
        """For every training row, the position of its counterfactual; -1 where none was asked for."""
        points = np.full(len(self.training), -1, dtype=np.int64)
        if self.counterfactuals is not None:
            at = np.searchsorted(self.numbers, self.counterfactuals.rows)
            points[at] = np.arange(len(at))
        return points

    def probability(self, rows: Positions) -> Floats | None:
        """Probability of the black box for its own predictions; None without ``predict_proba``."""
        estimator = self.discretizer.estimator_
        if not hasattr(estimator, "predict_proba") or len(rows) == 0:
            return None
        given = as_fitted_on(estimator, self.training.table[rows], columns=self.columns)
        share = np.asarray(estimator.predict_proba(given), dtype=np.float64)
        known = {label: code for code, label in enumerate(np.asarray(estimator.classes_).tolist())}
        answered = np.array([known[label] for label in self.training.answers[rows].tolist()])
        of_answer: Floats = share[np.arange(len(rows)), answered]
        return of_answer


def all_conditions(classifier: FCCAClassifier) -> ThresholdTable:
    """The conditions that a classifier's discretizer found, before any selection."""
    discretizer = classifier.discretizer_
    table: ThresholdTable = getattr(discretizer, "all_thresholds_", discretizer.thresholds_)
    return table


# --- gathering ----------------------------------------------------------------------------------------------------------


def check_classifier(classifier: Any) -> None:
    """Check that a classifier is fitted, and that its tree is on the thresholds that it has."""
    if not isinstance(classifier, FCCAClassifier):
        raise InvalidInputError(f"A report is made of a fitted FCCAClassifier, got {type_in_words(classifier)}.")
    check_is_fitted(classifier)
    n_kept, n_asked = len(classifier.discretizer_.thresholds_), classifier.tree_.n_features_in_
    if n_kept != n_asked or not _is_on_its_thresholds(classifier):
        others = f"{n_kept} by now" if n_kept != n_asked else "others by now"
        raise InvalidInputError(
            f"The tree was grown on {n_asked} thresholds, but the discretizer keeps {others}: its granularity or "
            "selection was set after the classifier was fitted. Give classifier.at_granularity(Q) or "
            "classifier.at_selection(…) instead."
        )


def _is_on_its_thresholds(classifier: FCCAClassifier) -> bool:
    """True where the tree asks the conditions that the discretizer has at these positions."""
    known, asked = classifier.structure_, classifier.tree_.tree_.with_conditions(classifier.discretizer_.thresholds_)
    return (
        np.array_equal(known.feature, asked.feature)
        and np.array_equal(known.threshold, asked.threshold, equal_nan=True)
        and (known.categories, known.asks_missing) == (asked.categories, asked.asks_missing)
    )


def gathered(
    classifier: FCCAClassifier,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    X_test: Any,
    y_test: Any,
    row_numbers: Any,
) -> Material:
    """Check and encode all rows, and have the black box answer them."""
    if (X_test is None) != (y_test is None):
        raise InvalidInputError("X_test and y_test belong together: give both, or neither.")
    if X_test is not None:
        y_test = _checked_labels(classifier, X_test, y_test)
    rows = classifier.training_data(X, y, sample_weight)
    names = _checked_names(row_numbers, rows.rows)
    training = _answered(classifier, rows.X, rows.y, rows.sample_weight)
    held_out, notes = None, []
    if X_test is not None:
        known = known_rows(all_conditions(classifier).columns, X_test)
        if known.any():
            kept = np.flatnonzero(known)
            X_known = X_test if known.all() else _safe_indexing(X_test, kept)
            held_out = _answered(classifier, X_known, y_test[kept], None)
        if not known.all():
            notes = [_note_on_unknown(int((~known).sum()))]
    return Material(classifier, training, rows.rows, names, row_numbers is not None, held_out, tuple(notes))


def _answered(classifier: FCCAClassifier, X: Any, y: NDArray[Any], weight: Floats | None) -> Rows:
    discretizer = classifier.discretizer_
    table = discretizer.encode(X)
    given = as_fitted_on(discretizer.estimator_, table, columns=discretizer.thresholds_.columns)
    answers = np.asarray(discretizer.estimator_.predict(given)).ravel()  # flat: CatBoost gives many classes as a column
    return Rows(table, y, answers, weight)


def _checked_labels(classifier: FCCAClassifier, X_test: Any, y_test: Any) -> NDArray[Any]:
    validate_data(classifier, X_test, skip_check_array=True, reset=False)  # compares the columns' names and number
    labels: NDArray[Any] = column_or_1d(y_test)
    n = _num_samples(X_test)
    if n != len(labels):
        raise InvalidInputError(f"X_test and y_test must have the same number of rows ({n} and {len(labels)}).")
    if n == 0:
        raise InvalidInputError("X_test has no rows. Leave it out.")
    known = set(classifier.classes_.tolist())
    if not known.intersection(labels.tolist()):
        raise InvalidInputError(
            f"y_test has no class that the classifier knows: it begins with {labels[:3].tolist()}; the classes are "
            f"{classifier.classes_.tolist()}."
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
        raise InvalidInputError("row_numbers names two rows alike. Expected a name of its own for every row.")
    return names


def _is_small(name: Any) -> bool:
    """True where a browser holds the number without losing digits."""
    return isinstance(name, int) and not isinstance(name, bool) and abs(name) < 2**53


def _note_on_unknown(n: int) -> str:
    have, count = ("row has a category or a gap", "counts") if n == 1 else ("rows have categories or gaps", "count")
    return f"{n:,} held-out {have} that no training row has in its column, and {count} for no rate."


def model_name(estimator: Any) -> str:
    """Name of a classifier with its scalers and its decision threshold."""
    if isinstance(estimator, DecidedAt):
        return f"{model_name(estimator.estimator)}, deciding at {estimator.threshold:g}"
    if isinstance(estimator, FrozenEstimator):
        return model_name(estimator.estimator)
    if isinstance(estimator, Pipeline):
        if isinstance(estimator.steps[0][1], TableCoder):  # one that fcca has made
            return model_name(estimator.steps[-1][1])
        return " + ".join(model_name(step) for _, step in estimator.steps if not isinstance(step, PowerOfTwoScaler))
    return type(estimator).__name__
