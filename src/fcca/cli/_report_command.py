"""The command ``fcca report``."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from fcca.cli import _options as options, interrupts_deferred
from fcca.cli._checks import OptionCheck, chosen_levels, expects_name
from fcca.cli._command import EPILOG
from fcca.cli._options import STREAMED_FROM, data_option, search_option
from fcca.cli._running import Output, open_in_browser
from fcca.utils import AtomicOutputs

# Modules for the computation are imported after the arguments have been checked.
if TYPE_CHECKING:
    from fcca.cli._summary import ReportResult


@dataclass(frozen=True, kw_only=True)
class Report(options.DistillSettings):
    """Write an interactive report of a fitted model.

    The page shows thresholds, trees and counterfactuals, like the report of [italic]fcca distill[/]. The model is not
    refitted. All rows of DATA are used for the thresholds and the tree. The rows of --test are held out. The page is a
    single file that needs no network.

    [bold]Examples[/]

    [dim]# a model and its training rows[/]
    [cyan]fcca report loans.skops loans.csv --open[/]

    [dim]# with test rows; the page opens with the 10 % most frequent thresholds[/]
    [cyan]fcca report booster.json train.csv --test test.csv --q 0.9 --title "Loans"[/]
    """

    epilog: ClassVar[str] = EPILOG

    model_file: options.ModelArgument
    data: Annotated[
        Path,
        options.argument(
            metavar="DATA",
            help="Table with the columns of the model and the label: .csv, .csv.gz or .parquet.",
        ),
        options.IS_TABLE,
    ]
    trust_model_file: options.TrustModelFile = False
    label: options.Label = None
    class_names: options.ClassNames = None
    test: Annotated[
        Path | None,
        data_option(
            metavar="FILE",
            help="Table of held-out rows. Default: none.",
        ),
        options.IS_TABLE,
    ] = None
    out: Annotated[
        Path,
        data_option(metavar="FILE", help="Output file. An existing file is replaced."),
        expects_name(".html", ".htm"),
    ] = Path("report.html")
    open_report: options.Open = False
    title: options.Title = None
    quiet: options.Quiet = False
    q: Annotated[
        float,
        search_option(
            "--q",
            help="Start of the frequency slider: keep thresholds whose count is at least this quantile of all counts.",
        ),
        options.IS_SHARE,
    ] = 0.0
    levels: Annotated[
        str | None,
        search_option(
            metavar="Q,Q,…",
            help="Steps of the frequency slider, such as 0,0.5,0.9. Default: 0, 0.1, … 0.9, 0.95.",
        ),
        OptionCheck(chosen_levels),
    ] = None
    random_state: int = field(default=0, init=False)

    def compute(self, output: Output, outputs: AtomicOutputs) -> "ReportResult":
        """Read the tables, and compute the thresholds and the tree of the loaded model."""
        with interrupts_deferred():
            from fcca.cli._distill_steps import distillation
            from fcca.cli._read_table import n_values, read_data
            from fcca.cli._row_sources import MemorySource
            from fcca.cli._summary import ReportResult

        if n_values(self.data) >= STREAMED_FROM:
            output.note(
                f"fcca report reads all of {self.data.name} into memory, and fits a tree for each slider step. For large "
                "tables, use a file with a sample of the rows."
            )
        data = read_data(self.data, self.label)
        held_out = None if self.test is None else read_data(self.test, data.label, to_learn_from=False)
        found = distillation(MemorySource(data, held_out), self)
        return ReportResult(found, found.notes, self)

    def show(self, output: Output) -> None:
        """Open the report if ``--open`` was given."""
        if self.open_report:
            open_in_browser(self.out, output)
