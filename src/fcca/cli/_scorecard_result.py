"""Run ``fcca scorecard``: fit a scorecard, and compare it on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.text import Text
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fcca.cli._black_box import check_range, training_table
from fcca.cli._checks import check_special_columns, special_values_of
from fcca.cli._column_types import ColumnOptions
from fcca.cli._command import Result
from fcca.cli._console_text import (
    add_numbers,
    classes_in_words,
    number,
    panel,
    percent,
    plain_table,
    printable,
    written_to,
)
from fcca.cli._models import described, target_model
from fcca.cli._notes import collected_notes
from fcca.cli._read_table import TableFacts, bundled_data, read_data
from fcca.cli._scorecard_command import SCORECARD_CSV, SCORECARD_JSON, SCORECARD_PYTHON, SCORECARD_SQL, Scorecard
from fcca.cli._split import Split
from fcca.discretizers import FCCADiscretizer
from fcca.exceptions import InvalidInputError
from fcca.export import scorecard_to_json, scorecard_to_python, scorecard_to_sql
from fcca.quality import Figures, figures_of
from fcca.scorecard import FCCAScorecard
from fcca.tables import Columns
from fcca.utils import AtomicOutputs, close_to, plain, step

Labels = NDArray[np.generic]

ADDED = ("score", "probability")  # by the query


@dataclass(frozen=True)
class ScorecardResult(Result):
    """The result of ``fcca scorecard``."""

    data: TableFacts
    scorecard: FCCAScorecard
    figures: dict[str, Figures]
    is_held_out: bool
    n_rows: int
    prefix: str  # of the columns that the query adds
    notes: tuple[str, ...]

    def summary(self, written: Sequence[Path]) -> RenderableType:
        """Return the figures, the size, and the table of the bins."""
        card = self.scorecard
        what = "held-out" if self.is_held_out else "training"
        compared = plain_table((f"on {number(self.n_rows)} {what} rows",))
        add_numbers(compared, *self.figures)
        for name, title in (("auc", "AUC"), ("ks", "KS"), ("log_loss", "log-loss"), ("accuracy", "accuracy")):
            values = [getattr(figures, name) for figures in self.figures.values()]
            compared.add_row(Text(title), *("–" if value is None else f"{value:.4f}" for value in values))
        scale = (
            f"{plain(card.base_score)} points at odds of {plain(card.base_odds)} to 1, +{plain(card.pdo)} doubles the odds"
        )
        favourable = card.scorecard_.favourable
        facts = [
            (
                "Data",
                f"{printable(self.data.name)}: {number(self.data.n_rows)} rows, {classes_in_words(self.data.class_counts)}",
            ),
            ("Black box", described(card.discretizer_.estimator_)),
            ("Scorecard", f"{card.n_bins_} bins of {len(card.scorecard_.used)} columns, {len(card.thresholds_)} thresholds"),
            ("Scale", f"{scale} of {printable(favourable)}; every row starts with {card.base_points_:.0f} points"),
        ]
        bins = plain_table(("column", "bin"))
        add_numbers(bins, "rows", "share", f"rate of {printable(card.classes_[1])}", "WoE", "IV", "points")
        before = ""
        for line in card.table_.to_dict("records"):
            column = printable(line["column"])
            bins.add_row(
                Text(column if column != before else ""),
                Text(printable(line["bin"])),
                f"{line['count']:,.0f}",
                percent(line["share"]),
                percent(line["event_rate"]),
                f"{line['WoE']:.2f}",
                f"{line['IV']:.3f}",
                f"{line['points']:+.0f}",
            )
            before = column
        return Group(compared, Text(), panel("fcca scorecard", facts), bins, *written_to(written))

    def document(self, written: Sequence[Path]) -> dict[str, Any]:
        """Return the figures and the bins as a dictionary, for ``--json``."""
        card = self.scorecard
        return {
            "data": {"name": self.data.name, "label": self.data.label, "rows": self.data.n_rows},
            "is_held_out": self.is_held_out,
            "figures": {name: asdict(figures) for name, figures in self.figures.items()},
            "base_points": card.base_points_,
            "thresholds": len(card.thresholds_),
            "bins": card.table_.to_dict("records"),
            "trends": card.trends_,
            "notes": list(self.notes),
            "files": [str(path) for path in written],
        }

    def write(self, outputs: AtomicOutputs) -> None:
        """Write the scorecard as JSON, CSV, SQL and Python."""
        texts = {
            SCORECARD_JSON: scorecard_to_json(self.scorecard),
            SCORECARD_SQL: scorecard_to_sql(self.scorecard, add=ADDED, prefix=self.prefix),
            SCORECARD_PYTHON: scorecard_to_python(self.scorecard),
            SCORECARD_CSV: self.scorecard.table_.to_csv(index=False, lineterminator="\n"),
        }
        for name, text in texts.items():
            outputs.path(name).write_text(text, encoding="utf-8", newline="\n")


def scorecard_result(settings: Scorecard) -> ScorecardResult:
    """Read the table, fit the scorecard, and compare it with logistic regression and the black box."""
    if find_spec("sqlglot") is None:
        raise InvalidInputError(
            "fcca scorecard writes SQL and requires sqlglot, which is not installed: pip install 'fcca[sql]'"
        )
    data = bundled_data() if settings.data is None else read_data(settings.data, settings.label, settings.categorical)
    prefix = _free_prefix([data.label, *data.X.columns])
    data = data.guessed(ColumnOptions(settings.categorical, settings.drop, settings.keep))
    check_range(data.X)
    classes = list(data.class_counts())
    if len(classes) != 2:
        raise InvalidInputError(
            f"The label column {data.label!r} has {len(classes)} classes, but a scorecard is for two. Combine classes, "
            "or use fcca distill."
        )
    favourable = _favourable(settings.favourable, classes, data.label)
    split = Split.of(data.y, data.class_counts(), data.label, settings.test_size, settings.random_state)
    rows = np.sort(split.training_rows())
    X, y = training_table(data.X.iloc[rows]), data.y[rows]
    special = None if settings.special is None else special_values_of(settings.special)
    check_special_columns(special, list(data.X.columns))
    black_box = target_model(settings.model_by_name, settings.random_state, X)
    scorecard = FCCAScorecard(
        FCCADiscretizer(black_box, special_values=special, n_jobs=settings.jobs),
        n_thresholds=settings.thresholds,
        monotonic=None if settings.monotonic is None else str(settings.monotonic),
        pdo=settings.pdo,
        base_score=settings.base_score,
        base_odds=settings.base_odds,
        favourable=favourable,
    )
    with collected_notes() as notes, step("Fitting the scorecard"):
        scorecard.fit(X, y)
        judged = np.sort(split.held_out_rows()) if settings.test_size else rows
        figures = _figures(scorecard, (X, y), (data.X.iloc[judged], data.y[judged]))
    return ScorecardResult(
        data.facts(), scorecard, figures, bool(settings.test_size), len(judged), prefix, (*data.notes, *notes)
    )


def _free_prefix(names: Sequence[str]) -> str:
    """Return the first of ``""``, ``fcca_``, ``fcca_1_``, … with which no added column has one of these names."""
    there = {name.lower() for name in names}
    prefixes = chain(("", "fcca_"), (f"fcca_{k}_" for k in count(1)))
    return next(prefix for prefix in prefixes if not there.intersection(prefix + name for name in ADDED))


def _favourable(given: str | None, classes: Sequence[Any], label: str) -> Any:
    """Return the class with the text ``given``; None if no class was given."""
    if given is None:
        return None
    for one in classes:
        if str(one) == given:
            return one
    texts = map(str, classes)
    raise InvalidInputError(f"--favourable is {given!r}, which is not a class of {label!r}. {close_to(given, texts)}")


def _figures(
    scorecard: FCCAScorecard, training: tuple[pd.DataFrame, Labels], judged: tuple[pd.DataFrame, Labels]
) -> dict[str, Figures]:
    """Return the figures of the scorecard, logistic regression and the black box."""
    X, y = judged
    codes, weight = np.searchsorted(scorecard.classes_, y), np.ones(len(y))
    discretizer = scorecard.discretizer_
    found = {"scorecard": scorecard.predict_proba(X), "logistic": _logistic(training[0]).fit(*training).predict_proba(X)}
    if hasattr(discretizer.estimator_, "predict_proba"):
        known = (
            Columns.of_table(training[0])
            if discretizer.all_thresholds_.columns is None
            else discretizer.all_thresholds_.columns
        )
        encoded = known.encode(X, handle_unknown="ignore")
        found["black box"] = np.asarray(discretizer.estimator_.predict_proba(discretizer.as_black_box_takes(encoded)))
    return {name: figures_of(codes, shares.argmax(axis=1), shares, weight) for name, shares in found.items()}


def _logistic(X: pd.DataFrame) -> Any:
    """Return an unfitted logistic regression on standardized numbers and a 0/1 column per category."""
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), make_column_selector(dtype_exclude=np.number)),
        (SimpleImputer(strategy="median", add_indicator=True), make_column_selector(dtype_include=np.number)),
    )
    return make_pipeline(encoder, StandardScaler(), LogisticRegression(max_iter=1_000))
