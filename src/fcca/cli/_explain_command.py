"""The command ``fcca explain``."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from fcca.cli import _options as options, interrupts_deferred
from fcca.cli._checks import accepted_by, chosen_rows, expects, expects_name
from fcca.cli._command import EPILOG
from fcca.cli._options import data_option
from fcca.cli._running import Output
from fcca.utils import AtomicOutputs

# Modules for the computation are imported after the arguments have been checked.
if TYPE_CHECKING:
    from fcca.cli._explain_result import ExplainResult

MOST_COUNTERFACTUALS = 1000

question = partial(typer.Option, rich_help_panel="Rows and target")


@dataclass(frozen=True, kw_only=True)
class Explain(options.Costs, options.SearchLimits):
    """Find the cheapest change that flips a prediction, with proof.

    A change stays inside the range of DATA, or of --reference if given. A model of trees splits each column at certain
    values, its cuts. A changed column moves to another interval between two cuts. The change ends at the nearest value of
    the data in this interval. If the data has no value there, it ends at the middle of the interval. A linear model has no
    cuts, and a change ends where the prediction flips. A small tree of fcca is explained in the same way. --scale and
    --category-distance define the distance of a change.

    [bold]Examples[/]

    [dim]# three different ways to approval for two applicants[/]
    [cyan]fcca explain loans.skops loans.csv --rows 0,5 --target approved --n 3[/]

    [dim]# only the refused applicants[/]
    [cyan]fcca explain loans.skops loans.csv --only refused[/]

    [dim]# the small tree of fcca distill itself[/]
    [cyan]fcca explain fcca-out/tree.json loans.csv --rows 5[/]

    [dim]# plausible changes with a clear lead of the new class[/]
    [cyan]fcca explain loans.skops loans.csv --rows 0-9 --plausibility 0.1 --margin 10%[/]

    [dim]# with a probability of at least 80 %, written to a table[/]
    [cyan]fcca explain m.json loans.csv --target 1 --target-probability 0.8 --out a.csv[/]

    [dim]# how far the changed rows may drift before the class changes again[/]
    [cyan]fcca explain loans.skops loans.csv --rows 5 --regions[/]

    [dim]# only possible changes, with rules such as immutable: \\[age][/]
    [cyan]fcca explain loans.skops loans.csv --rows 17 --rules rules.yaml[/]

    [dim]# new applicants, with changes inside the range of the training data[/]
    [cyan]fcca explain loans.skops new.csv --reference loans.csv --target approved[/]
    """

    epilog: ClassVar[str] = EPILOG

    model_file: options.TreeOrModel
    data: Annotated[
        Path,
        options.argument(metavar="DATA", help="Table with the columns of the model: .csv, .csv.gz or .parquet."),
        options.IS_TABLE,
    ]
    trust_model_file: options.TrustModelFile = False
    rows: Annotated[
        str | None,
        question(metavar="ROWS", help="Rows of DATA to explain, counted from 0, such as 0,5,10-20. Default: all."),
        accepted_by(chosen_rows),
    ] = None
    only: Annotated[
        str | None,
        question(metavar="CLASS", help="Explain only the rows that the model predicts as this class."),
    ] = None
    target: Annotated[
        str | None,
        question(metavar="CLASS", help="The class to reach. Default: the cheapest other class."),
    ] = None
    target_probability: Annotated[
        float | None,
        question(metavar="P", help="Minimum probability of the target, for models with two classes."),
        expects("a probability between 0 and 1, such as 0.8", lambda p: 0 < p < 1),
    ] = None
    n: Annotated[
        int,
        question(
            "--n",
            help="Counterfactuals per row, each with different columns. Each further one takes as long as the first.",
        ),
        expects(
            f"a number of counterfactuals per row, from 1 to {MOST_COUNTERFACTUALS}",
            lambda n: 1 <= n <= MOST_COUNTERFACTUALS,
        ),
    ] = 1
    regions: Annotated[
        bool,
        question(
            "--regions",
            help="Also find a maximal region around each changed row in which every row keeps the new class, with proof.",
        ),
    ] = False
    label: Annotated[str | None, data_option(metavar="COL", help="Label column of DATA, which is ignored.")] = None
    class_names: options.ClassNames = None
    out: Annotated[
        Path | None,
        data_option(metavar="FILE", help="Write every change to a .csv or .parquet file."),
        expects_name(".csv", ".parquet"),
    ] = None
    reference: Annotated[
        Path | None,
        data_option(
            metavar="FILE",
            help="Table that defines the range and the possible values of changes, such as the training data. "
            "Default: DATA.",
        ),
        options.IS_TABLE,
    ] = None
    plausibility: Annotated[
        float | None,
        options.search_option(
            metavar="SHARE",
            help="Changed rows must be at least as plausible as this share of the rows of DATA, such as 0.1, measured by an "
            "isolation forest. Only for models of trees. The search becomes ten to a hundred times slower.",
        ),
        expects("a share between 0 and 1, such as 0.1", lambda share: 0 < share < 1),
    ] = None
    as_json: options.AsJson = False
    quiet: options.Quiet = False
    time_limit: Annotated[
        float | None,
        options.search_option(metavar="SECONDS", help="Time limit for all counterfactuals together."),
        options.IS_TIME,
    ] = None

    def compute(self, output: Output, outputs: AtomicOutputs) -> "ExplainResult":
        """Load the model, read the table, and compute the counterfactuals of the chosen rows."""
        with interrupts_deferred():
            from fcca.cli._explain_result import run_explain

        return run_explain(self)
