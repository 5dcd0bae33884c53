"""``fcca explain``."""

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

# What computes is imported once the arguments are known to be good.
if TYPE_CHECKING:
    from fcca.cli._explain_result import ExplainResult

MOST_ANSWERS = 1000

question = partial(typer.Option, rich_help_panel="What to ask")


@dataclass(frozen=True, kw_only=True)
class Explain(options.Costs, options.SearchLimits):
    """Say what would have to change in a row for a classifier to answer otherwise: the cheapest change, proven.

    A change stays inside the range of DATA, or of --reference where it is given. A column that moves goes into
    another of the cells between the model's cuts and lands there on the value of the data nearest to where it came
    from, or on the middle of the cell where the data has no value in it; a linear model has no cuts, and a change
    stops where its answer turns. --scale and --category-distance say how far a change goes.

    [bold]Examples[/]

    [dim]# what would get these applicants approved, three different ways each[/]
    [cyan]fcca explain loans.skops loans.csv --rows 0,5 --target approved --n 3[/]

    [dim]# with a probability of at least 80 %, as a table[/]
    [cyan]fcca explain m.json loans.csv --target 1 --target-probability 0.8 --out a.csv[/]

    [dim]# changes that somebody can make: rules.yaml says immutable: \\[age] and so on[/]
    [cyan]fcca explain loans.skops loans.csv --rows 17 --rules rules.yaml[/]

    [dim]# new applicants, whose changes keep to the range of the training data[/]
    [cyan]fcca explain loans.skops new.csv --reference loans.csv --target approved[/]
    """

    epilog: ClassVar[str] = EPILOG

    model_file: options.ModelArgument
    data: Annotated[
        Path,
        options.argument(
            metavar="DATA", help="Table with the columns that the model was fitted on: .csv, .csv.gz or .parquet."
        ),
        options.IS_TABLE,
    ]
    trust_model_file: options.TrustModelFile = False
    rows: Annotated[
        str | None,
        question(metavar="ROWS", help="Rows of DATA to explain, the first is 0, such as 0,5,10-20. Without it: all."),
        accepted_by(chosen_rows),
    ] = None
    target: Annotated[
        str | None,
        question(metavar="CLASS", help="The class to reach. Without it: any other one, whichever is cheapest."),
    ] = None
    target_probability: Annotated[
        float | None,
        question(metavar="P", help="Two classes: the probability that the target must have at least."),
        expects("a probability between 0 and 1, such as 0.8", lambda p: 0 < p < 1),
    ] = None
    n: Annotated[
        int,
        question(
            "--n",
            help="Answers per row, the cheapest that change different columns. More than one takes several searches per "
            "row, each as long as the first.",
        ),
        expects(f"a number of answers per row, from 1 to {MOST_ANSWERS}", lambda n: 1 <= n <= MOST_ANSWERS),
    ] = 1
    label: Annotated[str | None, data_option(metavar="COL", help="Label column of DATA, which is left out.")] = None
    out: Annotated[
        Path | None,
        data_option(metavar="FILE", help="Write every change to a .csv or .parquet file."),
        expects_name(".csv", ".parquet"),
    ] = None
    reference: Annotated[
        Path | None,
        data_option(
            metavar="FILE",
            help="Table whose range and values the changes keep to, such as the training data. Without it: DATA.",
        ),
        options.IS_TABLE,
    ] = None
    as_json: options.AsJson = False
    quiet: options.Quiet = False
    time_limit: Annotated[
        float | None,
        options.search_option(metavar="SECONDS", help="Time for all searches together."),
        options.IS_TIME,
    ] = None

    def compute(self, output: Output, outputs: AtomicOutputs) -> "ExplainResult":
        """Load, read and explain."""
        with interrupts_deferred():
            from fcca.cli._explain_result import run_explain

        return run_explain(self)
