"""What the commands can be told, checked before any work.

Nothing here imports more than the standard library: a wrong option is answered at once, not after the seconds that
scikit-learn and pandas take to import.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fcca.exceptions import InvalidInputError, UnsupportedModelError

REPORT = "report.html"
THRESHOLDS_CSV, THRESHOLDS_JSON, TREE, CERTIFICATE, COUNTERFACTUALS = OUTPUT_NAMES = (
    "thresholds.csv",
    "thresholds.json",
    "tree.json",
    "certificate.json",
    "counterfactuals.parquet",
)
SAVED_MODEL = "model.skops"
INPUT_FORMATS = {".csv": None, ".csv.gz": "gzip", ".parquet": None}
TABLE_FORMATS = (".csv", ".parquet")
MOST_ANSWERS = 1000
STREAMED_FROM = 50_000_000  # values, rows × columns, in a Parquet file
LARGEST_SAMPLE = 100_000  # rows that a black box is fitted on where a table is streamed and nobody says how many
MOST_JOBS = 1024
METHODS = ("fcca", "gtre", "cart")  # that fcca benchmark compares with the black box and each other
ROUNDS, DEPTH, FOREST_DEPTH = 100, 3, 4  # of the models that are fitted by name


class TargetModel(StrEnum):
    """The models that can be distilled from the command line."""

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
        """Whether it is a linear model, which wants its columns scaled."""
        return self in (TargetModel.svm, TargetModel.logistic)

    @property
    def takes_categories(self) -> bool:
        """Whether it splits by category itself."""
        return self in (TargetModel.hgb, TargetModel.xgb, TargetModel.lgbm, TargetModel.catboost)

    @property
    def library(self) -> str | None:
        """The optional library that it needs."""
        return {"xgb": "xgboost", "lgbm": "lightgbm", "catboost": "catboost"}.get(self.value)


class FitTo(StrEnum):
    """What the tree learns."""

    labels = "labels"
    target = "target"


# --- files --------------------------------------------------------------------------------------------------------------


def check_file(path: Path, expected: str) -> None:
    """Refuse a path at which there is no file that could be read."""
    if not path.exists():
        raise InvalidInputError(f"There is no file {path}. Check the path; it is taken relative to {Path.cwd()}.")
    if not path.is_file():
        raise InvalidInputError(f"{path} is not a file. Expected {expected}.")
    if path.stat().st_size == 0:
        raise InvalidInputError(f"{path} is empty. Expected {expected}.")


def check_model_file(path: Path) -> None:
    """Refuse a path at which there is no model; what is in the file is judged when it is loaded."""
    check_file(path, "a fitted model: .skops; .json or .ubj of XGBoost; .txt of LightGBM; .cbm or .json of CatBoost")


def table_format(path: Path) -> str:
    """The ending that tells the format of a table, one of INPUT_FORMATS."""
    formats = ", ".join(INPUT_FORMATS)
    check_file(path, f"a table with a header line of column names, and rows: one of {formats}")
    suffix = next((suffix for suffix in INPUT_FORMATS if path.name.lower().endswith(suffix)), None)
    if suffix is None:
        raise InvalidInputError(f"Cannot tell the format of {path.name}. Expected a name that ends in {formats}.")
    return suffix


def check_streamable(path: Path | None) -> None:
    """Refuse to stream what is no Parquet file, and say how to make one."""
    if path is None:
        raise InvalidInputError("--stream was given without a file. Expected fcca distill DATA.parquet --stream.")
    if table_format(path) != ".parquet":
        made = path.name[: path.name.lower().index(".csv")] + ".parquet"
        raise InvalidInputError(
            f"--stream was given with {path.name}. Only Parquet files are read in pieces. pandas makes one: "
            f"pandas.read_csv({path.name!r}).to_parquet({made!r}). Where memory is short for that, pyarrow makes "
            f"parts/part-0.parquet: from pyarrow.dataset import dataset, write_dataset; write_dataset(dataset({path.name!r}"
            ", format='csv'), 'parts', format='parquet')."
        )


# --- values -------------------------------------------------------------------------------------------------------------


def check(option: str, value: Any, fits: bool, expected: str) -> None:
    """Refuse a value that does not fit."""
    if not fits:
        raise InvalidInputError(f"{option} is {value}. Expected {expected}.")


def chosen_rows(text: str) -> list[range]:
    """``0,5,10-20`` as ranges; both ends of a range count."""
    ranges = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,18})\s*(?:-\s*(\d{1,18})\s*)?", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise InvalidInputError(
                f"--rows is {text}. Expected row numbers and ranges, the first row is 0, such as 0,5,10-20."
            )
        ranges.append(range(int(match[1]), int(match[2] or match[1]) + 1))
    return ranges


def chosen_levels(option: str, text: str) -> tuple[float, ...]:
    """``0,0.7,0.9`` as numbers from 0 to 1, each once, the smallest first."""
    try:
        levels = sorted({float(part) for part in text.split(",")})
    except ValueError:
        levels = []
    fits = bool(levels) and all(0 <= level <= 1 for level in levels)
    check(option, text, fits, "numbers from 0 to 1 with commas between them, such as 0,0.7,0.9")
    return tuple(levels)


def not_installed(library: str) -> UnsupportedModelError:
    """What to say where an optional library is missing."""
    return UnsupportedModelError(f"{library} is not installed. Install it: pip install 'fcca[{library}]'.")


def check_installed(model: TargetModel) -> None:
    """Refuse a model whose library is not there."""
    if model.library is not None and find_spec(model.library) is None:
        raise not_installed(model.library)


def check_depth(depth: int) -> None:
    """Refuse a tree without a question."""
    check("--depth", depth, depth >= 1, "a whole number of at least 1")


def check_seed(seed: int) -> None:
    """Refuse what numpy does not take for a seed."""
    check("--seed", seed, 0 <= seed < 2**32, "a whole number from 0 to 4294967295")


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """Costs, margin, threshold, threads and times; checked when made."""

    lambda0: float
    lambda1: float
    lambda2: float
    margin: float
    decision_threshold: float | None
    jobs: int
    time_limit: float | None
    time_limit_per_row: float | None
    rules: Path | None

    def __post_init__(self) -> None:
        for name in ("lambda0", "lambda1", "lambda2"):
            value = getattr(self, name)
            check(f"--{name}", value, 0 <= value <= 1e100, "a number of at least 0 and at most 1e100")
        check("--margin", self.margin, 0 < self.margin <= 1e100, "a number above 0 and up to 1e100, such as 0.0001")
        if self.decision_threshold is not None:
            fits = 0 < self.decision_threshold < 1
            check("--decision-threshold", self.decision_threshold, fits, "a probability between 0 and 1, such as 0.3")
        fits = self.jobs != 0 and abs(self.jobs) <= MOST_JOBS
        check("--jobs", self.jobs, fits, "a number of threads, or -1 for all cores")
        if self.rules is not None:
            check_file(self.rules, "rules in YAML, such as immutable: [age]")
        for option, limit in (("--time-limit", self.time_limit), ("--time-limit-per-row", self.time_limit_per_row)):
            if limit is not None:
                check(option, limit, limit >= 0, "a number of seconds")


@dataclass(frozen=True, kw_only=True)
class DistillSettings(SearchSettings):
    """Everything that ``fcca distill`` can be told; checked when made."""

    model: TargetModel | None  # None: the one in model_file
    model_file: Path | None
    categorical: tuple[str, ...]
    q: float
    p0: float
    p1: float
    merge_tolerance: str
    round_thresholds: bool
    test_size: float
    seed: int
    depth: int
    regularization: float | None
    fit_to: FitTo
    thresholds: str | None = None
    stream: bool | None = None  # None: as the size of the table suggests
    sample: int | None = None  # None: all rows in memory, LARGEST_SAMPLE of a streamed table
    counterfactuals: bool = True  # whether to write them
    save_model: bool = False  # whether to write the black box

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sample is not None:
            check("--sample", self.sample, self.sample >= 2, "a number of rows of at least 2, such as 100000")
            if self.model_file is not None:
                raise InvalidInputError("--sample was given with --model-file. That model is fitted already.")
        if self.stream:
            self.check_streamed()
        if self.thresholds is not None:
            fits = self.thresholds == "auto" or re.fullmatch(r"0*[1-9]\d{0,8}", self.thresholds) is not None
            check("--thresholds", self.thresholds, fits, "'auto' or a whole number of at least 1, such as 5")
        check("--q", self.q, 0 <= self.q <= 1, "a number from 0 to 1, such as 0.9")
        check("--p0", self.p0, 0 <= self.p0 <= 1, "a probability, from 0 to 1")
        check("--p1", self.p1, 0 <= self.p1 <= 1, "a probability, from 0 to 1")
        check("--p0", f"{self.p0}, above --p1, which is {self.p1}", self.p0 <= self.p1, "--p0 to be the smaller one")
        check("--test-size", self.test_size, 0 <= self.test_size < 1, "a share from 0 to below 1, such as 0.2")
        check_seed(self.seed)
        check_depth(self.depth)
        if self.regularization is not None:
            fits = 0 <= self.regularization < math.inf
            expected = "the cost of a leaf, a finite number of at least 0, such as 0.01"
            check("--regularization", self.regularization, fits, expected)
        tolerance = self.tolerance()
        fits = tolerance == "auto" or (isinstance(tolerance, float) and 0 <= tolerance <= 1)
        check("--merge-tolerance", self.merge_tolerance, fits, "'auto' or a share from 0 to 1, such as 0.01")
        if self.model is not None:
            check_installed(self.model)
        if self.model_file is not None:
            check_model_file(self.model_file)
        if self.save_model:
            if self.model_file is not None:
                raise InvalidInputError("--save-model was given with --model-file. That model is in a file already.")
            if find_spec("skops") is None:
                raise not_installed("skops")

    def check_streamed(self, reason: str = "with --stream") -> None:
        """Refuse what needs all rows in memory.

        Parameters
        ----------
        reason : str
            Why the table is streamed.
        """
        if self.thresholds == "auto":
            raise InvalidInputError(
                f"--thresholds auto was given {reason}. It is chosen by cross-validation, which needs all rows in memory: "
                "give a number, or --no-stream."
            )

    def tolerance(self) -> float | str:
        """``merge_tolerance`` as the discretizer takes it; a text that is no number as it stands."""
        try:
            return float(self.merge_tolerance)
        except ValueError:
            return self.merge_tolerance


@dataclass(frozen=True, kw_only=True)
class ExplainSettings(SearchSettings):
    """Everything that ``fcca explain`` can be told; checked when made."""

    reference: Path | None
    rows: str | None
    label: str | None
    target: str | None
    target_probability: float | None
    n: int
    out: Path | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rows is not None:
            chosen_rows(self.rows)
        if self.target_probability is not None:
            fits = 0 < self.target_probability < 1
            check("--target-probability", self.target_probability, fits, "a probability between 0 and 1, such as 0.8")
        check("--n", self.n, 1 <= self.n <= MOST_ANSWERS, f"a number of answers per row, from 1 to {MOST_ANSWERS}")
        if self.out is not None:
            fits = self.out.name.lower().endswith(TABLE_FORMATS)
            check("--out", self.out, fits, f"a file name that ends in {' or '.join(TABLE_FORMATS)}")
        if self.reference is not None:
            table_format(self.reference)


@dataclass(frozen=True, kw_only=True)
class VerifySettings:
    """Everything that ``fcca verify`` can be told beside its files; checked when made."""

    label: str | None
    sample: int | None  # None: all
    seed: int | None
    time_limit: float
    jobs: int

    def __post_init__(self) -> None:
        if self.seed is not None:
            check_seed(self.seed)
        check("--time-limit", self.time_limit, self.time_limit >= 0, "a number of seconds")
        fits = self.jobs != 0 and abs(self.jobs) <= MOST_JOBS
        check("--jobs", self.jobs, fits, "a number of threads, or -1 for all cores")


@dataclass(frozen=True, kw_only=True)
class BenchmarkSettings:
    """Everything that ``fcca benchmark`` can be told; checked when made."""

    model: TargetModel
    categorical: tuple[str, ...]
    levels: tuple[float, ...]
    folds: int
    depth: int
    seed: int
    jobs: int
    time_limit: float | None
    methods: tuple[str, ...]
    out: Path | None

    def __post_init__(self) -> None:
        check("--folds", self.folds, self.folds >= 2, "a whole number of at least 2, such as 5")
        check_depth(self.depth)
        check_seed(self.seed)
        fits = self.jobs != 0 and abs(self.jobs) <= MOST_JOBS
        check("--jobs", self.jobs, fits, "a number of threads, or -1 for all cores")
        if self.time_limit is not None:
            check("--time-limit", self.time_limit, self.time_limit >= 0, "a number of seconds")
        fits = bool(self.methods) and all(method in METHODS for method in self.methods)
        check("--methods", ",".join(self.methods), fits, f"some of {', '.join(METHODS)}, with commas between them")
        if self.out is not None:
            fits = self.out.name.lower().endswith(".csv")
            check("--out", self.out, fits, "a file name that ends in .csv")
        check_installed(self.model)
