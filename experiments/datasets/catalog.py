"""Catalog of the data sets that can be loaded by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from experiments.datasets.preparation import (
    Features,
    Label,
    all_columns,
    at_least_median,
    continuous_columns,
    one_of,
    other_than,
    rows_without_sentinels,
    zeros_as_missing,
)


@dataclass(frozen=True)
class PaperSettings:
    """Numbers that the paper prints for a data set, including misprints: Table 1, and p1 of Table 2."""

    rows: int
    features: int
    training_rows: int
    external_rows: int
    p1: float


@dataclass(frozen=True)
class OpenMLSource:
    """The id and name of a data set on OpenML, and how to prepare it for the study.

    ``columns`` renames the features by position before ``features`` prepares them; ``names`` renames them afterwards.
    The result has the columns of the CSV file of that name.
    """

    id: int
    name: str
    label: Label
    features: Features = all_columns
    columns: tuple[str, ...] | None = None
    names: tuple[str, ...] | None = None
    ignored: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Entry:
    """One data set: its subject, the size of the original, and its source.

    ``positive`` is the meaning of class 1. ``parts`` describes known files with a part of the rows, by their number of
    rows.
    """

    description: str
    positive: str
    rows: int
    features: int
    categorical: tuple[str, ...] = ()
    openml: OpenMLSource | None = None
    paper: PaperSettings | None = None
    parts: Mapping[int, str] = field(default_factory=dict)

    def note(self, X: pd.DataFrame, remarks: list[str]) -> str:
        """Join the remarks on a data set. If the size differs from the paper's, add the size in the paper."""
        if self.paper is not None and X.shape != (self.paper.rows, self.paper.features):
            remarks = [*remarks, f"the paper's Table 1 prints n = {self.paper.rows:,}, m = {self.paper.features}"]
        return "; ".join(remarks)


def _numbered(prefix: str, first: int, n: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{number}" for number in range(first, first + n))


_ADULT_CATEGORIES = (
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native_country",
)
_ADULT = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    *_ADULT_CATEGORIES[2:7],
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
)
_BANK = "age job marital education default balance housing loan contact day month duration campaign pdays previous poutcome"
_PIMA = "pregnant glucose pressure triceps insulin mass pedigree age"
_SPAMBASE = (
    "make address all num3d our over remove internet order mail receive will people report addresses free business email "
    "you credit your font num000 money hp hpl george num650 lab labs telnet num857 data num415 num85 technology num1999 "
    "parts pm direct cs meeting original project re edu table conference charSemicolon charRoundbracket charSquarebracket "
    "charExclamation charDollar charHash capitalAve capitalLong capitalTotal"
)

CATALOG: Mapping[str, Entry] = {
    "boston": Entry(
        "Housing in suburbs of Boston",
        "price at or above the median",
        506,
        13,
        openml=OpenMLSource(531, "boston", at_least_median),
        paper=PaperSettings(506, 14, 506, 0, p1=1.0),
    ),
    "arrhythmia": Entry(
        "Electrocardiograms; of the 279 features, the continuous ones without missing values",
        "any arrhythmia",
        452,
        191,
        openml=OpenMLSource(5, "arrhythmia", other_than("1"), continuous_columns, names=_numbered("X", 0, 191)),
        paper=PaperSettings(453, 191, 453, 0, p1=1.0),
    ),
    "ionosphere": Entry(
        "Radar returns from the ionosphere; of the 34 features, the continuous ones",
        "bad return",
        351,
        32,
        openml=OpenMLSource(59, "ionosphere", one_of("b"), continuous_columns, names=_numbered("X", 0, 32)),
        paper=PaperSettings(351, 32, 351, 0, p1=1.0),
    ),
    "magic": Entry(
        "Showers seen by the MAGIC gamma-ray telescope",
        "hadron",
        19_020,
        10,
        openml=OpenMLSource(1120, "MagicTelescope", one_of("h"), names=_numbered("A", 1, 10), ignored=("ID",)),
        paper=PaperSettings(19_020, 10, 5_000, 14_020, p1=0.7),
    ),
    "particle": Entry(
        "Neutrino events of the MiniBooNE experiment",
        "signal",
        129_596,
        50,
        openml=OpenMLSource(
            41150,
            "MiniBooNE",
            one_of("True", "TRUE", "true", "1"),
            rows_without_sentinels,
            note="rows with the sentinel -999 left out",
        ),
        paper=PaperSettings(86_209, 50, 5_000, 81_209, p1=0.7),
        parts={5_027: "a random sample without sentinel rows, features standardized"},
    ),
    "vehicle": Entry(
        "Acoustic and seismic sensors of the SensIT vehicle project",
        "type +1",
        98_528,
        100,
        openml=OpenMLSource(357, "vehicle_sensIT", one_of("1", "+1")),
        paper=PaperSettings(98_928, 100, 5_000, 93_928, p1=0.7),
        parts={1_860: "features standardized per sensor"},
    ),
    "heloc": Entry("FICO's home equity lines of credit; codes -7, -8 and -9 mean missing", "bad risk", 10_459, 23),
    "german_credit": Entry(
        "Credit applications to a German bank",
        "bad risk",
        1_000,
        20,
        categorical=(
            "checking_status",
            "credit_history",
            "purpose",
            "savings",
            "employment",
            "personal_status",
            "other_debtors",
            "property",
            "other_installment_plans",
            "housing",
            "job",
            "telephone",
            "foreign_worker",
        ),
    ),
    "credit_default": Entry("Credit cards in Taiwan; SEX, EDUCATION, MARRIAGE and PAY_* are codes", "default", 30_000, 23),
    "compas": Entry(
        "Defendants in Broward County after ProPublica's filters; sex and race are sensitive",
        "re-arrested",
        6_172,
        8,
        categorical=("sex", "race", "c_charge_degree"),
    ),
    "adult": Entry(
        "Census of the United States, 1994",
        "income above 50,000 dollars",
        48_842,
        14,
        categorical=_ADULT_CATEGORIES,
        openml=OpenMLSource(1590, "adult", one_of(">50K"), columns=_ADULT),
    ),
    "bank_marketing": Entry(
        "Telephone campaign of a Portuguese bank; duration leaks the outcome",
        "subscribed",
        45_211,
        16,
        categorical=("job", "marital", "education", "default", "housing", "loan", "contact", "month", "poutcome"),
        openml=OpenMLSource(1461, "bank-marketing", one_of("2"), columns=tuple(_BANK.split())),
    ),
    "pima": Entry(
        "Women of the Pima; impossible zeros are missing values",
        "diabetes",
        768,
        8,
        openml=OpenMLSource(
            37,
            "diabetes",
            one_of("tested_positive"),
            zeros_as_missing("glucose", "pressure", "triceps", "insulin", "mass"),
            columns=tuple(_PIMA.split()),
        ),
    ),
    "titanic": Entry("Passengers of the Titanic", "survived", 1_309, 7, categorical=("sex", "port_embarked")),
    "spambase": Entry(
        "Word and character shares of e-mails",
        "spam",
        4_601,
        57,
        openml=OpenMLSource(44, "spambase", one_of("1"), columns=tuple(_SPAMBASE.split())),
    ),
    "ctg3": Entry("Cardiotocograms: normal, suspect, pathologic", "", 2_126, 21),
    "satimage6": Entry("Land cover in satellite images, six classes", "", 6_435, 36),
    "covertype_2v4": Entry("Forest cover, lodgepole pine against cottonwood/willow", "cottonwood", 286_048, 10),
}
