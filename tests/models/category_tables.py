"""Tables with categories and missing values, and the checks of every reader on them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fcca import read_model
from fcca.models import labelled
from models.fidelity import random_table, rows_on_the_cuts

TEXTS = ["red", "x y", "blue", 'q"t', "Green", "10", "a,b"]
WHOLE = [40, 20, 7, 30]


@dataclass(frozen=True)
class MixedFamily:
    """One entry of the suite: classifiers of tables with categories that differ from seed to seed.

    ``build`` takes a random generator, X and y and returns a fitted classifier, ``table`` takes a random generator and a
    table and returns it in the form that the classifier takes, ``raw`` returns the classifier's own scores.
    """

    name: str
    build: Callable
    raw: Callable | None = None
    table: Callable = lambda rng, X: X
    missing_labels: bool = True
    classes: tuple = (2, 3, 2, 4)

    def __str__(self):
        return self.name


def mixed_table(seed, n_classes=2):
    """Numbers in different units, and categories that decide the class: texts, whole numbers and one with many labels."""
    rng = np.random.default_rng(seed)
    X, y = random_table(seed, n_classes)
    text = rng.integers(0, len(TEXTS), len(X))
    many = rng.integers(0, 40, len(X))
    whole = rng.integers(0, len(WHOLE), len(X))
    y = np.where(rng.random(len(X)) < 0.6, (y + text % 2 + many % 3 + (whole == 1)) % n_classes, y)
    frame = pd.DataFrame(
        {
            "steady": X[:, 0],
            "text": pd.Categorical.from_codes(text, categories=TEXTS),
            "large": X[:, 2],
            "whole": pd.Categorical.from_codes(whole, categories=WHOLE),
            "ties": X[:, 3],
            "many": pd.Categorical.from_codes(many, categories=[f"label {code}" for code in range(40)]),
        }
    )
    return frame, y


def with_gaps(frame, rng, columns):
    """The frame with missing values in some columns."""
    frame = frame.copy()
    for name in columns:
        frame.loc[rng.random(len(frame)) < 0.12, name] = np.nan
    return frame


def as_numbers(rng, frame):
    """Categories as whole numbers with gaps between them, in a plain array."""
    numbers = [
        np.where(values.isna(), np.nan, values.cat.codes * 2.0 + 1)
        if isinstance(values.dtype, pd.CategoricalDtype)
        else values
        for _, values in frame.items()
    ]
    return np.column_stack(numbers).astype(np.float64)


def rows_of_every_kind(model, table, rng, n):
    """Rows with values on the cuts and beside them, with every category, and with missing values where they may be."""
    rows = rows_on_the_cuts(model, table, rng, n)
    for j, column in enumerate(model.columns):
        if column.categories is not None:
            rows[:, j] = np.where(rng.random(n) < 0.9, rng.integers(0, len(column.categories), n), rows[:, j])
        if column.missing:
            rows[rng.random(n) < 0.15, j] = np.nan
    return rows


def differences(estimator, model, rows):
    """Count the coded rows on which the neutral model and the classifier's predict differ."""
    answers = model.classes[model.answers(model.scores(rows))]
    return int(np.sum(answers != np.asarray(estimator.predict(model.columns.decode(rows))).ravel()))


def check_mixed(family, seed, n_rows):
    """One random classifier of a family: labels, own scores to the last bit, probabilities."""
    rng = np.random.default_rng(seed)
    n_classes = family.classes[seed % len(family.classes)]
    frame, y = mixed_table(seed, n_classes)
    if rng.random() < 0.7:
        frame = with_gaps(frame, rng, ["steady", "ties", *(["text", "many"] if family.missing_labels else [])])
    X = family.table(rng, frame)
    estimator = family.build(rng, X, y)
    model = labelled(read_model(estimator), X)
    assert model.columns.has_categories
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(model.threshold)), sorted(model.categories))
    np.testing.assert_array_equal(np.isnan(model.native_threshold), np.isnan(model.threshold))
    table = model.columns.encode(X)
    np.testing.assert_array_equal(
        model.classes[model.answers(model.scores(table))], np.asarray(estimator.predict(X)).ravel()
    )
    rows = np.concatenate([table, rows_of_every_kind(model, table, rng, n_rows - len(table))])
    assert differences(estimator, model, rows) == 0
    given = model.columns.decode(rows)
    np.testing.assert_allclose(model.probabilities(model.scores(rows)), estimator.predict_proba(given), rtol=0, atol=1e-9)
    if family.raw is not None:
        raw = np.asarray(family.raw(estimator, given)).reshape(len(rows), -1)
        np.testing.assert_array_equal(model.scores(rows), raw)
