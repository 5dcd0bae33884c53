"""The command ``fcca predict``."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fcca.cli import _options as options, interrupts_deferred
from fcca.cli._checks import expects_name
from fcca.cli._command import Command
from fcca.cli._options import data_option
from fcca.cli._running import Output
from fcca.utils import AtomicOutputs

# Modules for the computation are imported after the arguments have been checked.
if TYPE_CHECKING:
    from fcca.cli._predict_result import PredictResult


@dataclass(frozen=True, kw_only=True)
class Predict(Command):
    """Predict the rows of a table, with the reasons of a small tree or the scores of a scorecard.

    For every row, the predicted class and the class probabilities are given. For a small tree of fcca, the path of the
    row and the reasons are given, too. A reason is a condition on the path that lowered the probability of the wanted class.
    Reasons are sorted by how much they lowered it. For a scorecard, the scores are given.

    [bold]Examples[/]

    [dim]# the tree of fcca distill, with reasons against the approval[/]
    [cyan]fcca predict fcca-out/tree.json new.csv --wanted approved[/]

    [dim]# all rows, written to a table[/]
    [cyan]fcca predict fcca-out/tree.json new.csv --wanted approved --out predictions.csv[/]

    [dim]# the scores of fcca scorecard[/]
    [cyan]fcca predict fcca-out/scorecard.json new.csv --out scores.csv[/]

    [dim]# the black box[/]
    [cyan]fcca predict loans.skops new.csv --json | jq .predictions[0][/]
    """

    model_file: options.Predictor
    data: Annotated[
        Path,
        options.argument(metavar="DATA", help="Table with the columns of the model: .csv, .csv.gz or .parquet."),
        options.IS_TABLE,
    ]
    trust_model_file: options.TrustModelFile = False
    wanted: Annotated[
        str | None,
        data_option(
            metavar="CLASS",
            help="The class that the reasons speak against. Default: for each row, the class with the second-largest "
            "probability. Only for trees.",
        ),
    ] = None
    label: Annotated[str | None, data_option(metavar="COL", help="Label column of DATA, which is ignored.")] = None
    class_names: options.ClassNames = None
    out: Annotated[
        Path | None,
        data_option(metavar="FILE", help="Write all rows to a .csv or .parquet file."),
        expects_name(".csv", ".parquet"),
    ] = None
    as_json: options.AsJson = False
    quiet: options.Quiet = False

    def compute(self, output: Output, outputs: AtomicOutputs) -> "PredictResult":
        """Load the model, read the table, and predict its rows."""
        with interrupts_deferred():
            from fcca.cli._predict_result import run_predict

        return run_predict(self)
