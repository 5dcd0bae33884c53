"""The command ``fcca distill``."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from fcca.cli import _options as options, interrupts_deferred
from fcca.cli._checks import check_installed, check_streamable, expects
from fcca.cli._command import EPILOG
from fcca.cli._options import (
    CERTIFICATE,
    COUNTERFACTUALS,
    LARGEST_SAMPLE,
    OUTPUT_NAMES,
    REPORT,
    SAVED_MODEL,
    STREAMED_FROM,
    TargetModel,
    data_option,
    large_option,
    model_option,
    search_option,
)
from fcca.cli._running import Output, open_in_browser
from fcca.exceptions import InvalidInputError
from fcca.utils import AtomicOutputs

# Modules for the computation are imported after the arguments have been checked.
if TYPE_CHECKING:
    from fcca.cli._summary import DistillResult


@dataclass(frozen=True, kw_only=True)
class Distill(options.DistillSettings):
    """Replace a classifier with a provably optimal small tree.

    A model, the black box, is fitted. For every training row that the black box predicts correctly, the cheapest change
    that flips the prediction is computed exactly. The values that these changes cross are the thresholds. The best tree on
    these thresholds is grown, within the limits on depth and leaves.

    Text columns are categorical, and empty fields are missing values. No preparation is needed. For codes that look
    like numbers, use --categorical. Row numbers, identifiers, constants and copies of the label are left out with a note;
    see --keep and --drop.

    These files are written: report.html, a page for the browser; thresholds.csv and thresholds.json; tree.json, which
    [italic]fcca export[/] converts to code; certificate.json, which [italic]fcca verify[/] checks; and
    counterfactuals.parquet. The column [italic]row[/] of the last file is the row number in the input table, starting at 0.

    The summary begins with figures on held-out rows. They compare the tree with a CART tree of the same size, the most
    frequent class and the black box. The size of the tree, the proof of its optimality and the next step follow. If the
    tree has two leaves or is no better than the most frequent class, the summary lists settings that gave better trees.

    --regularization is the cost per leaf. A leaf is added only if it lowers the criterion by more than this cost. So
    a lower cost per leaf gives a larger tree.

    [bold]Examples[/]

    [dim]# scikit-learn's breast-cancer data[/]
    [cyan]fcca distill[/]

    [dim]# the same with at most five leaves, and open the report[/]
    [cyan]fcca distill --max-leaves 5 --open[/]

    [dim]# your table[/]
    [cyan]fcca distill loans.csv --label default --out results[/]

    [dim]# the method of the paper[/]
    [cyan]fcca distill loans.csv --preset paper[/]

    [dim]# another black box, all rows for training[/]
    [cyan]fcca distill loans.parquet --model logistic --test-size 0[/]

    [dim]# a rare class: the same weight for all classes[/]
    [cyan]fcca distill loans.csv --class-weight balanced[/]

    [dim]# a code as category; rules for the changes, such as immutable: \\[age][/]
    [cyan]fcca distill loans.csv --categorical region --rules rules.yaml[/]

    [dim]# a fitted model from a file[/]
    [cyan]fcca distill loans.csv --model-file booster.json[/]

    [dim]# a table larger than memory, with the black box fitted on a sample[/]
    [cyan]fcca distill big.parquet --sample 100000 --q 0.9 --no-counterfactuals[/]

    [dim]# for a script[/]
    [cyan]fcca distill loans.csv --json | jq .quality.tree.auc[/]
    """

    epilog: ClassVar[str] = EPILOG
    last_file: ClassVar[str] = CERTIFICATE

    data: options.Table = None
    label: options.Label = None
    class_names: options.ClassNames = None
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
    no_report: Annotated[bool, data_option("--no-report", help=f"Do not write {REPORT}.")] = False
    open_report: options.Open = False
    title: options.Title = None
    as_json: options.AsJson = False
    quiet: options.Quiet = False
    stream: Annotated[
        bool | None,
        large_option(
            "--stream/--no-stream",
            help="Read a .parquet file in chunks, with little memory, or at once. With the same --sample and --max-rows "
            f"all, the results are the same. Default: in chunks if the file has at least {STREAMED_FROM:,} values (rows × "
            "columns).",
        ),
    ] = None
    sample: Annotated[
        int | None,
        large_option(
            metavar="N",
            help="Fit the black box on a random sample of this many training rows. The thresholds and the tree use all "
            f"training rows. Default: all rows, or {LARGEST_SAMPLE:,} if the file is read in chunks.",
        ),
        expects("a number of rows, 2 or more, such as 100000", lambda n: n >= 2),
    ] = None
    no_counterfactuals: Annotated[
        bool,
        large_option(
            "--no-counterfactuals", help=f"Write neither {COUNTERFACTUALS} nor {CERTIFICATE}, which contains them."
        ),
    ] = False
    model_by_name: Annotated[TargetModel | None, options.MODEL_BY_NAME, options.IS_INSTALLED] = None
    model_file: Annotated[
        Path | None,
        model_option(metavar="FILE", help=f"A fitted model to distill: {options.MODEL_FILES}."),
        options.IS_MODEL_FILE,
    ] = None
    trust_model_file: Annotated[bool, model_option("--trust-model-file", help=options.TRUSTED)] = False
    save_model: Annotated[
        bool,
        model_option(
            "--save-model",
            help=f"Write the black box to {SAVED_MODEL}, for fcca verify. Requires skops.",
        ),
    ] = False
    q: Annotated[
        float,
        search_option("--q", help="Keep thresholds whose count is at least this quantile of all counts."),
        options.IS_SHARE,
    ] = 0.0

    @property
    def model(self) -> TargetModel | None:
        """The kind of model to fit; None if the black box is ``model_file``."""
        return (self.model_by_name or TargetModel.gb) if self.model_file is None else None

    @property
    def counterfactuals(self) -> bool:
        """True if the counterfactuals are written to a file; False with ``--no-counterfactuals``."""
        return not self.no_counterfactuals

    def check(self) -> None:
        """Check that the given options can be combined."""
        super().check()
        options.check_label("fcca distill", self.data, self.label)
        if self.no_report and self.open_report:
            raise InvalidInputError("--open was given with --no-report. Use only one of them.")
        if self.model_file is not None:
            self._check_goes_with_model_file()
        elif self.trust_model_file:
            raise InvalidInputError("--trust-model-file was given without --model-file. Add --model-file FILE.")
        if self.save_model:
            check_installed("skops")
        if self.stream:
            check_streamable(self.data)
            self._check_streamed("with --stream")

    def _check_goes_with_model_file(self) -> None:
        if self.model_by_name is not None:
            raise InvalidInputError(
                f"Both --model {self.model_by_name} and --model-file {self.model_file} were given. Use only one of them."
            )
        for option, given, reason in (
            ("--categorical", self.categorical, "The model defines the types of its columns."),
            ("--sample", self.sample, "The model is already fitted."),
            ("--save-model", self.save_model, "The model is already in a file."),
        ):
            if given:
                raise InvalidInputError(f"{option} was given with --model-file. {reason} Omit {option}.")

    def _check_streamed(self, reason: str) -> None:
        """Raise an error if an option does not work for a table that is read in chunks.

        ``reason`` says in the error message why the table is read in chunks.
        """
        if self.thresholds == "auto":
            raise InvalidInputError(
                f"--thresholds auto was given {reason}. It runs a cross-validation, for which all rows must be in memory. "
                "Use a number, such as --thresholds 5, or read all rows with --no-stream."
            )
        if self.max_rows not in (None, "all"):
            raise InvalidInputError(
                f"--max-rows {self.max_rows} was given {reason}. A random sample of the rows can be searched only if "
                "all rows are in memory. Omit --max-rows, or read all rows with --no-stream."
            )
        for option, given in (("--open", self.open_report), ("--title", self.title is not None)):
            if given:
                raise InvalidInputError(
                    f"{option} was given {reason}. For such a table, no report is written, because a report shows single "
                    f"rows. Omit {option}, or read all rows with --no-stream."
                )

    @cached_property
    def streamed(self) -> bool:
        """True if the table is read in chunks.

        ``--stream`` and ``--no-stream`` decide this. Without either option, a file with at least ``STREAMED_FROM`` values is
        read in chunks.
        """
        if self.stream is not None or self.data is None:
            return bool(self.stream)
        with interrupts_deferred():
            from fcca.cli._read_table import n_values
        return n_values(self.data) >= STREAMED_FROM

    def targets(self) -> tuple[Path, list[str]]:
        """Return the output directory and the names of the files that will be written."""
        if self.streamed and self.stream is None and self.data is not None:
            self._check_streamed(f"for {self.data.name}, which is so large that it is read in chunks")
        wanted = {
            REPORT: not (self.streamed or self.no_report),
            COUNTERFACTUALS: self.counterfactuals,
            CERTIFICATE: self.counterfactuals and not self.streamed,
            SAVED_MODEL: self.save_model,
        }
        return self.out, [name for name in (REPORT, *OUTPUT_NAMES, SAVED_MODEL) if wanted.get(name, True)]

    def compute(self, output: Output, outputs: AtomicOutputs) -> "DistillResult":
        """Read the table, and compute the black box, the thresholds and the tree."""
        with interrupts_deferred():
            from fcca.cli._distill_steps import distillation
            from fcca.cli._read_table import bundled_data, read_data
            from fcca.cli._row_sources import MemorySource, ParquetSource
            from fcca.cli._summary import DistillResult

        if self.data is None:
            found = distillation(MemorySource(bundled_data()), self)
        elif self.streamed:
            found = distillation(ParquetSource(self.data, self.label, outputs), self)
        else:
            found = distillation(MemorySource(read_data(self.data, self.label, self.categorical)), self)
        return DistillResult(found, (*found.notes, *self._notes_on_files()), self)

    def _notes_on_files(self) -> list[str]:
        """Return notes on files that this run does not write or replace."""
        _, names = self.targets()
        earlier = {name: self.out / name for name in (REPORT, *OUTPUT_NAMES) if (self.out / name).exists()}
        notes = []
        if self.streamed and not self.no_report:
            notes.append(
                f"For a table read in chunks, {REPORT} and {CERTIFICATE} are not written, because they contain single rows. "
                "To write them, use --no-stream. For a report on some of the rows, use fcca report with a model."
                f"{f' {earlier[REPORT]} is from an earlier run.' if REPORT in earlier else ''}"
            )
        elif self.no_report and REPORT in earlier:
            notes.append(f"{earlier[REPORT]} is from an earlier run: --no-report does not replace it.")
        if COUNTERFACTUALS in earlier and COUNTERFACTUALS not in names:
            notes.append(f"{earlier[COUNTERFACTUALS]} is from an earlier run: --no-counterfactuals does not replace it.")
        if CERTIFICATE in earlier and CERTIFICATE not in names:
            notes.append(f"{earlier[CERTIFICATE]} is from an earlier run: this run does not write a certificate.")
        return notes

    def show(self, output: Output) -> None:
        """Open the report if ``--open`` was given."""
        if self.open_report:
            open_in_browser(self.out / REPORT, output)
