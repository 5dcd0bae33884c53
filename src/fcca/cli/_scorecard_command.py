"""The command ``fcca scorecard``."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fcca.cli import _options as options, interrupts_deferred
from fcca.cli._checks import accepted_by, expects, special_values_of
from fcca.cli._command import Command
from fcca.cli._options import TargetModel, data_option, model_option
from fcca.cli._running import Output
from fcca.utils import AtomicOutputs

# Modules for the computation are imported after the arguments have been checked.
if TYPE_CHECKING:
    from fcca.cli._scorecard_result import ScorecardResult

SCORECARD_FILES = SCORECARD_JSON, SCORECARD_CSV, SCORECARD_SQL, SCORECARD_PYTHON = (
    "scorecard.json",
    "scorecard.csv",
    "scorecard.sql",
    "scorecard.py",
)


class Trend(StrEnum):
    """Values of ``--monotonic``."""

    rising = "rising"
    falling = "falling"
    auto = "auto"


@dataclass(frozen=True, kw_only=True)
class Scorecard(Command):
    """Fit a scorecard: points for the bins between a black box's thresholds.

    A black box is fitted, and its thresholds are found, as by [italic]fcca distill[/]. A logistic regression on the bins
    between them gives points to each bin. The sum of a row's points is its score. The label must have two classes.

    The summary compares the scorecard on held-out rows with the black box and with logistic regression on all columns. These
    files are written: scorecard.json; scorecard.csv, the table of the bins; scorecard.sql, a query for DuckDB; and
    scorecard.py, a Python module. The query adds the columns score and probability. Their names begin with fcca_
    if the table has such a column. The query requires sqlglot.

    [bold]Examples[/]

    [dim]# scikit-learn's breast-cancer data[/]
    [cyan]fcca scorecard[/]

    [dim]# your table, with trends, special values, and at most 15 thresholds[/]
    [cyan]fcca scorecard loans.csv --monotonic auto --special=-9,-8 --thresholds 15[/]

    [dim]# another scale[/]
    [cyan]fcca scorecard loans.csv --favourable paid --pdo 40 --base-odds 20[/]
    """

    data: options.Table = None
    label: options.Label = None
    categorical: options.Categorical = ()
    drop: options.Drop = ()
    keep: options.Keep = ()
    out: Annotated[Path, data_option(metavar="DIR", help="Output directory. Existing files are replaced.")] = Path(
        "fcca-out"
    )
    test_size: Annotated[
        float,
        data_option(help="Share of rows to hold out; 0 for none."),
        expects("a share from 0 to below 1, such as 0.2", lambda share: 0 <= share < 1),
    ] = 0.2
    as_json: options.AsJson = False
    quiet: options.Quiet = False
    model_by_name: Annotated[TargetModel, options.MODEL_BY_NAME, options.IS_INSTALLED] = TargetModel.gb
    thresholds: Annotated[
        int | None,
        model_option(metavar="N", help="Maximum number of conditions that separate bins. Default: no limit."),
        expects("a whole number of at least 1, such as 15", lambda n: n >= 1),
    ] = None
    monotonic: Annotated[
        Trend | None,
        model_option(help="Trend of the points in numeric columns; auto finds the trend of each column. Default: none."),
    ] = None
    favourable: Annotated[
        str | None, model_option(metavar="CLASS", help="Class that high scores stand for. Default: the first class.")
    ] = None
    pdo: Annotated[
        float, model_option(help="Points that double the odds."), expects("a number above 0", lambda n: 0 < n < 1e100)
    ] = 20.0
    base_score: Annotated[
        float,
        model_option(help="Score at which the odds are --base-odds."),
        expects("a finite number", lambda n: abs(n) < 1e100),
    ] = 600.0
    base_odds: Annotated[
        float,
        model_option(help="Odds of the favourable class at --base-score."),
        expects("a number above 0", lambda n: 0 < n < 1e100),
    ] = 50.0
    special: Annotated[
        str | None,
        model_option(
            "--special",
            metavar="NUMBER,…|COL=NUMBER,…",
            help='Numbers that stand for something else, such as -9 for "no record". They have bins of their own.',
        ),
        accepted_by(special_values_of),
    ] = None
    random_state: options.RandomState = 0
    jobs: options.Jobs = -1

    def check(self) -> None:
        """Check that ``--label`` is given with a table only."""
        options.check_label("fcca scorecard", self.data, self.label)

    def targets(self) -> tuple[Path, tuple[str, ...]]:
        """Return the output directory and the names of the files that will be written."""
        return self.out, SCORECARD_FILES

    def compute(self, output: Output, outputs: AtomicOutputs) -> "ScorecardResult":
        """Read the table, fit the scorecard, and compare it on held-out rows."""
        with interrupts_deferred():
            from fcca.cli._scorecard_result import scorecard_result

        return scorecard_result(self)
