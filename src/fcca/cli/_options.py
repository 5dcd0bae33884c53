"""Options that several commands share, and the settings of ``fcca distill`` and ``fcca report``."""

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fcca.cli._checks import (
    OptionCheck,
    accepted_by,
    check_installed,
    class_names_of,
    class_weights,
    expects,
    file_of,
    margin_of,
    number_or_word,
    special_values_of,
    table_format,
    units_of,
)
from fcca.cli._command import LAST_PANEL, Command
from fcca.exceptions import InvalidInputError

REPORT = "report.html"
THRESHOLDS_CSV, THRESHOLDS_JSON, TREE, CERTIFICATE, COUNTERFACTUALS = OUTPUT_NAMES = (
    "thresholds.csv",
    "thresholds.json",
    "tree.json",
    "certificate.json",
    "counterfactuals.parquet",
)
SAVED_MODEL = "model.skops"
STREAMED_FROM = 50_000_000  # values, rows × columns, in a Parquet file
LARGEST_SAMPLE = 100_000  # default --sample of a streamed table
MOST_JOBS = 1024
MOST_LEAVES = 1_000_000
ROUNDS, DEPTH, FOREST_DEPTH = 100, 3, 4  # of the models by name
TRUSTED = (
    "Load the model file directly. By default, a subprocess loads it first, which takes some seconds, because a damaged "
    "file may end the process."
)
MODEL_FILES = ".skops; .json or .ubj (XGBoost); .txt (LightGBM); .cbm or .json (CatBoost)"


class TargetModel(StrEnum):
    """Names of the models that ``--model`` can fit."""

    gb = "gb"
    rf = "rf"
    hgb = "hgb"
    xgb = "xgb"
    lgbm = "lgbm"
    catboost = "catboost"
    svm = "svm"
    logistic = "logistic"

    @property
    def is_linear(self) -> bool:
        """True for the linear models, which have no trees."""
        return self in (TargetModel.svm, TargetModel.logistic)

    @property
    def takes_categories(self) -> bool:
        """True for models whose trees can split by a set of categories."""
        return self in (TargetModel.hgb, TargetModel.xgb, TargetModel.lgbm, TargetModel.catboost)

    @property
    def library(self) -> str | None:
        """The optional library that must be installed for the model; None for scikit-learn."""
        return {"xgb": "xgboost", "lgbm": "lightgbm", "catboost": "catboost"}.get(self.value)


class Preset(StrEnum):
    """Values of ``--preset``: named sets of parameters."""

    paper = "paper"


class Criterion(StrEnum):
    """Values of ``--criterion``: the criteria of ``OptimalTreeClassifier``."""

    error = "error"
    gini = "gini"
    log_loss = "log_loss"
    evidence = "evidence"
    error_and_log_loss = "error+log_loss"


class FitTo(StrEnum):
    """Values of ``--fit-to``: what the tree learns to predict."""

    mixture = "mixture"
    probability = "probability"
    labels = "labels"
    target = "target"


# --- panels of the help, and checks ---------------------------------------------------------------------------------------

argument = partial(typer.Argument, show_default=False)
data_option = partial(typer.Option, rich_help_panel="Data and files")
large_option = partial(typer.Option, rich_help_panel="Large tables")
model_option = partial(typer.Option, rich_help_panel="Model and tree")
search_option = partial(typer.Option, rich_help_panel=LAST_PANEL)

IS_TABLE = accepted_by(table_format)
IS_MODEL_FILE = file_of(f"a fitted model: {MODEL_FILES}")
IS_INSTALLED = accepted_by(lambda model: check_installed(model.library))
IS_SHARE = expects("a number from 0 to 1, such as 0.9", lambda q: 0 <= q <= 1)
IS_PROBABILITY = expects("a probability, from 0 to 1", lambda p: 0 <= p <= 1)
IS_INNER_PROBABILITY = expects("a probability between 0 and 1, such as 0.3", lambda p: 0 < p < 1)
IS_COST = expects("a number from 0 to 1e100", lambda cost: 0 <= cost <= 1e100)
IS_TIME = expects("a number of seconds", lambda seconds: seconds >= 0)
IS_GAP = expects("a number from 0 to below 1, such as 0.05", lambda gap: 0 <= gap < 1)
IS_SEED = expects("a whole number from 0 to 4294967295", lambda seed: 0 <= seed < 2**32)
IS_THREADS = expects("a number of threads, or -1 for all cores", lambda jobs: jobs != 0 and abs(jobs) <= MOST_JOBS)


def _is_tolerance(text: str) -> bool:
    tolerance = number_or_word(text)
    return tolerance == "auto" or (isinstance(tolerance, float) and 0 <= tolerance <= 1)


def _is_distance(text: str) -> bool:
    distance = number_or_word(text)
    return distance == "auto" or (isinstance(distance, float) and 1e-100 <= distance <= 1e100)


# --- data and files -----------------------------------------------------------------------------------------------------

Table = Annotated[
    Path | None,
    argument(
        metavar="DATA",
        help="Table to learn from: .csv, .csv.gz or .parquet, with one label column. Text columns are categorical, and "
        "empty fields are missing values. Default: scikit-learn's breast-cancer data.",
    ),
    IS_TABLE,
]
ModelArgument = Annotated[Path, argument(metavar="MODEL", help=f"The fitted classifier: {MODEL_FILES}."), IS_MODEL_FILE]
TreeOrModel = Annotated[
    Path,
    argument(
        metavar="MODEL",
        help=f"A tree: tree.json, written by fcca distill, or .skops, written by fcca.export.save. Or a fitted classifier: "
        f"{MODEL_FILES}.",
    ),
    file_of(f"a tree (tree.json) or a fitted model: {MODEL_FILES}"),
]
Predictor = Annotated[
    Path,
    argument(
        metavar="MODEL",
        help="A tree or a scorecard: tree.json or scorecard.json, written by fcca distill or fcca scorecard, or .skops, "
        f"written by fcca.export.save. Or a fitted classifier: {MODEL_FILES}.",
    ),
    file_of(f"a tree (tree.json), a scorecard (scorecard.json) or a fitted model: {MODEL_FILES}"),
]
TrustModelFile = Annotated[bool, data_option("--trust-model-file", help=TRUSTED)]
Label = Annotated[
    str | None,
    data_option(metavar="COL", help="Label column. Default: the column named label, target, class or y."),
]
ClassNames = Annotated[
    str | None,
    data_option(
        metavar="LABEL=NAME,…",
        help="Names to show instead of the labels, such as 0=good,1=bad. Other options use these names, too.",
    ),
    accepted_by(class_names_of),
]
Categorical = Annotated[
    tuple[str, ...],
    data_option(metavar="COL", help="Categorical column whose values look like numbers. May be given several times."),
]
Drop = Annotated[tuple[str, ...], data_option(metavar="COL", help="Column to leave out. May be given several times.")]
Keep = Annotated[
    tuple[str, ...],
    data_option(
        metavar="COL",
        help="Column to keep although it looks like a row number, an identifier, a constant or a copy of the label. May be "
        "given several times.",
    ),
]
Open = Annotated[bool, data_option("--open", help="Open the report in the browser.")]
Title = Annotated[str | None, data_option(metavar="TEXT", help="Title of the report.")]
AsJson = Annotated[bool, data_option("--json", help="Print JSON instead of tables.")]
Quiet = Annotated[bool, data_option("--quiet", help="Print only errors.")]

# --- model and tree -----------------------------------------------------------------------------------------------------

MODEL_BY_NAME = model_option(
    "--model",
    metavar="NAME",
    help=f"Black box to fit and distill: {ROUNDS} boosted trees of depth 2 (gb, the default); a random forest of {ROUNDS} "
    f"trees of depth {FOREST_DEPTH} (rf); boosting with {ROUNDS} rounds of trees of depth {DEPTH} by scikit-learn (hgb), "
    "XGBoost (xgb), LightGBM (lgbm) or CatBoost (catboost); a linear SVM (svm) or logistic regression (logistic).",
    show_default=False,
)
IS_DEPTH = expects("a whole number of at least 1", lambda depth: depth >= 1)
RandomState = Annotated[int, model_option(help="Seed of the split, the sample, the model and the tree."), IS_SEED]
Jobs = Annotated[int, search_option(help="Threads, -1 for all cores. Results do not depend on it."), IS_THREADS]

# --- groups of options --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Costs(Command):
    """Options for the cost of changes and for the decision threshold."""

    lambda0: Annotated[float, search_option("--lambda0", help="Cost per changed column."), IS_COST] = 0.1
    lambda1: Annotated[float, search_option("--lambda1", help="Cost per distance, measured by --scale."), IS_COST] = 1.0
    lambda2: Annotated[float, search_option("--lambda2", help="Cost per squared distance."), IS_COST] = 0.0
    scale: Annotated[
        str | None,
        search_option(
            metavar="range|rank|mad|COL=UNIT,…",
            help="Unit of distance in a numeric column: its range (the default), its range of ranks, its median absolute "
            "deviation, or a unit per column, such as income=1000,age=10 (other columns use the range).",
        ),
        accepted_by(units_of),
    ] = None
    category_distance: Annotated[
        str | None,
        search_option(
            metavar="auto|FLOAT",
            help="Distance between two categories. Default: auto, the mean distance between two rows in a numeric column.",
        ),
        expects("'auto' or a number above 0, such as 0.3", _is_distance),
    ] = None
    special: Annotated[
        str | None,
        search_option(
            "--special",
            metavar="NUMBER,…|COL=NUMBER,…",
            help='Numbers that stand for something else, such as -9 for "no record", in all numeric columns (-9,-8) or in '
            "some (score=-9,-8,months=99). They are categories of their own, and no change ends at them.",
        ),
        accepted_by(special_values_of),
    ] = None
    margin: Annotated[
        str,
        search_option(
            metavar="FLOAT|SHARE",
            help="Margin by which the score of the new class must exceed the scores of the others: a number, or a share of "
            "the range of scores, such as 10%. A larger margin gives changes that stay valid for similar models.",
        ),
        accepted_by(margin_of),
    ] = "0.0001"
    decision_threshold: Annotated[
        float | None,
        search_option(
            metavar="P",
            help="Predict the second of two classes if its probability is at least P. Default: decide like the model's "
            "predict.",
        ),
        IS_INNER_PROBABILITY,
    ] = None

    def distances(self) -> dict[str, Any]:
        """Return the parameters ``scale``, ``category_distance`` and ``special_values`` of the estimators.

        Options that were not given are left out.
        """
        found: dict[str, Any] = {}
        if self.scale is not None:
            found["scale"] = units_of(self.scale)
        if self.category_distance is not None:
            found["category_distance"] = number_or_word(self.category_distance)
        if self.special is not None:
            found["special_values"] = special_values_of(self.special)
        return found


@dataclass(frozen=True, kw_only=True)
class Merging(Command):
    """Options for merging thresholds that are close together, and for rounding them."""

    merge_tolerance: Annotated[
        str,
        search_option(metavar="auto|FLOAT", help="Merge thresholds closer together than this share of the column's range."),
        expects("'auto' or a share from 0 to 1, such as 0.01", _is_tolerance),
    ] = "auto"
    no_round: Annotated[bool, search_option("--no-round", help="Do not round thresholds.")] = False

    @property
    def round_thresholds(self) -> bool:
        """True if thresholds are rounded; False with ``--no-round``."""
        return not self.no_round

    def tolerance(self) -> float | str:
        """Return ``--merge-tolerance`` as a parameter of the discretizer: a number or "auto"."""
        return number_or_word(self.merge_tolerance)


@dataclass(frozen=True, kw_only=True)
class SearchLimits(Command):
    """Options that limit the searches: threads, time limits and rules for changes."""

    jobs: Jobs = -1
    time_limit: Annotated[
        float | None,
        search_option(
            metavar="SECONDS",
            help="Time limit for all counterfactuals together. The same limit applies to the choice of --thresholds (with "
            "auto, also in each of five folds), and to the tree. The best result found by then is used.",
        ),
        IS_TIME,
    ] = None
    time_limit_per_row: Annotated[
        float | None, search_option(metavar="SECONDS", help="Time limit for the counterfactual of each row."), IS_TIME
    ] = None
    relative_gap: Annotated[
        float,
        search_option(
            metavar="G",
            help="End the search of a row when no change can be cheaper by more than this share of the cost, such as 0.05. "
            "Faster for large ensembles.",
        ),
        IS_GAP,
    ] = 0.0
    rules: Annotated[
        Path | None,
        search_option(
            "--rules",
            metavar="FILE",
            help="YAML file with rules for changes: fixed columns, bounds, steps, relations between columns.",
        ),
        file_of("rules in YAML, such as immutable: [age]"),
    ] = None


class _OtherSettings:
    """Settings that only some commands have as options.

    A command that does not have the option uses the value defined here.
    """

    model_file: Path | None
    q: float
    class_names: str | None = None
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    test_size: float = 0.0
    trust_model_file: bool = False
    sample: int | None = None  # rows for fitting the black box; None: all rows, or LARGEST_SAMPLE of a streamed table

    @property
    def model(self) -> TargetModel | None:
        """The kind of model to fit; None if the black box is ``model_file``."""
        return None

    @property
    def counterfactuals(self) -> bool:
        """True if the counterfactuals are written to a file."""
        return True


@dataclass(frozen=True, kw_only=True)
class DistillSettings(_OtherSettings, Costs, Merging, SearchLimits):
    """Options that ``fcca distill`` and ``fcca report`` share."""

    preset: Annotated[
        Preset | None,
        model_option(
            metavar="NAME",
            help="paper: the published method, with 100 stumps, a category distance of 1, one counterfactual per row, all "
            "thresholds, and the tree of depth 3 with the fewest errors. Other options override the preset.",
        ),
    ] = None
    criterion: Annotated[
        Criterion | None,
        model_option(
            metavar="NAME",
            help="Cost that the tree minimizes: log-loss plus half the error (error+log_loss, the default), log-loss "
            "(log_loss), negative log evidence (evidence), impurity (gini), or errors (error).",
        ),
    ] = None
    max_depth: Annotated[int | None, model_option(metavar="N", help="Maximum depth. Default: 4."), IS_DEPTH] = None
    max_leaves: Annotated[
        int | None,
        model_option(metavar="N", help="Maximum number of leaves. Default: 8."),
        expects("a whole number of at least 2, such as 8", lambda n: 2 <= n <= MOST_LEAVES),
    ] = None
    min_samples_leaf: Annotated[
        int | None,
        model_option(metavar="N", help="Minimum number of training rows in a leaf."),
        expects("a whole number of at least 1, such as 20", lambda n: 1 <= n < 2**52),
    ] = None
    class_weight: Annotated[
        str | None,
        model_option(
            metavar="WEIGHTS",
            help="Class weights of the tree. balanced gives every class the same total weight. yes=5,no=1 counts a row of "
            "class yes five times. Rows of other classes count once.",
        ),
        OptionCheck(class_weights),
    ] = None
    regularization: Annotated[
        float | None,
        model_option(
            help="Cost per leaf, in units of the criterion. With --criterion error, 0.01 means that a leaf must correct "
            "more than 1 % of the rows. Default: depends on the size of the table."
        ),
        expects("the cost per leaf, a finite number of at least 0, such as 0.01", lambda price: 0 <= price < math.inf),
    ] = None
    fit_to: Annotated[
        FitTo | None,
        model_option(
            help="What the tree learns: the class probabilities of the black box, the labels, a mixture of both, or the "
            "black box's predictions (target). Default: the mixture if the black box has probabilities; the labels for "
            "--criterion error."
        ),
    ] = None
    random_state: RandomState = 0
    thresholds: Annotated[
        str | None,
        search_option(
            metavar="INT|auto",
            help="Number of thresholds for the tree. The thresholds with the smallest inconsistency are chosen, with proof. "
            "auto: the smallest number whose tree is as good as the tree on all thresholds, by cross-validation.",
        ),
        expects(
            "'auto' or a whole number of at least 1, such as 5",
            lambda text: text == "auto" or re.fullmatch(r"0*[1-9]\d{0,8}", text) is not None,
        ),
    ] = None
    max_rows: Annotated[
        str | None,
        search_option(
            metavar="INT|auto|all",
            help="Number of training rows to search for counterfactuals, in a random order. auto: as many as settle the "
            "choice of the thresholds. The shares of the thresholds then have confidence intervals. Default: auto for large "
            "ensembles of trees, otherwise all, as for a table that is read in chunks.",
        ),
        expects(
            "'auto', 'all' or a whole number of at least 1, such as 1000",
            lambda text: text in ("auto", "all") or re.fullmatch(r"0*[1-9]\d{0,15}", text) is not None,
        ),
    ] = None
    p0: Annotated[
        float,
        search_option("--p0", help="Use only rows whose predicted class has at least this probability."),
        IS_PROBABILITY,
    ] = 0.5
    p1: Annotated[
        float,
        search_option("--p1", help="Use only rows whose predicted class has at most this probability."),
        IS_PROBABILITY,
    ] = 1.0

    def rows_to_search(self) -> int | str | None:
        """Return the parameter ``max_rows`` of the discretizer."""
        return int(self.max_rows) if self.max_rows is not None and self.max_rows.isdigit() else self.max_rows

    def tree_parameters(self) -> dict[str, Any]:
        """Return the parameters of ``OptimalTreeClassifier`` that were given as options.

        Class weights are not included, because they depend on the labels of the table.
        """
        given = {
            "criterion": None if self.criterion is None else str(self.criterion),
            "max_depth": self.max_depth,
            "max_leaf_nodes": self.max_leaves,
            "min_samples_leaf": self.min_samples_leaf,
            "regularization": self.regularization,
            "time_limit": self.time_limit,
        }
        return {name: value for name, value in given.items() if value is not None}

    def check(self) -> None:
        """Check that the given options can be combined."""
        if self.scale == "rank" and self.model is not None and self.model.is_linear:
            raise InvalidInputError(
                f"--scale is rank, but --model is {self.model.value}, a linear model. Expected range, mad or units of "
                "columns, such as income=1000."
            )
        if self.p0 > self.p1:
            raise InvalidInputError(f"--p0 ({self.p0}) is greater than --p1 ({self.p1}). Expected --p0 to be at most --p1.")


def check_label(command: str, data: Path | None, label: str | None) -> None:
    """Check that ``--label`` is given only together with a table.

    ``command`` is the name of the command, for the error message.
    """
    if data is None and label is not None:
        raise InvalidInputError(f"--label {label} was given without a file. Expected {command} DATA --label {label}.")
