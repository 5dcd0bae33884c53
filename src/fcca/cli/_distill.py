"""``fcca distill``."""

import errno
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
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
from fcca.cli._running import EXIT_UNVERIFIED, Output, open_in_browser
from fcca.exceptions import InvalidInputError
from fcca.utils import AtomicOutputs, atomic_outputs

# What computes is imported once the arguments are known to be good.
if TYPE_CHECKING:
    from fcca.cli._distillation_result import Distillation


@dataclass(frozen=True, kw_only=True)
class Distill(options.DistillSettings):
    """Find the few thresholds that a classifier's decisions hang on, and the provably best small tree on them.

    A model, the black box, is fitted; for every training row that it gets right, the cheapest change that makes it
    answer otherwise is computed exactly; the thresholds those changes cross are counted.

    Texts in the table are categories, empty fields are missing values; nothing has to be prepared. Numbers that are
    codes are named with --categorical.

    Writes report.html, a page to look at; thresholds.csv and thresholds.json; tree.json, which [italic]fcca export[/]
    turns into code; certificate.json, which [italic]fcca verify[/] checks again; and counterfactuals.parquet, whose
    column [italic]row[/] is the row of the input table, counted from 0.

    A leaf has a price, --regularization: it is grown only where it makes that share of the rows right that would be
    wrong without it. A lower price gives a larger tree.

    [bold]Examples[/]

    [dim]# scikit-learn's breast-cancer data, the more frequent half of the thresholds[/]
    [cyan]fcca distill --q 0.5 --regularization 0.005[/]

    [dim]# the same, and look at the report[/]
    [cyan]fcca distill --q 0.5 --regularization 0.005 --open[/]

    [dim]# a table of your own[/]
    [cyan]fcca distill loans.csv --label default --q 0.9 --out results[/]

    [dim]# another black box, all rows for training[/]
    [cyan]fcca distill loans.parquet --model logistic --test-size 0[/]

    [dim]# a code that is a category; rules for the changes, such as immutable: \\[age][/]
    [cyan]fcca distill loans.csv --categorical region --rules rules.yaml[/]

    [dim]# a model that is fitted already[/]
    [cyan]fcca distill loans.csv --model-file booster.json[/]

    [dim]# a table larger than memory, the model fitted on a sample of it[/]
    [cyan]fcca distill big.parquet --sample 100000 --q 0.9 --no-counterfactuals[/]

    [dim]# for a script[/]
    [cyan]fcca distill loans.csv --json | jq .rates.held_out.tree_accuracy[/]
    """

    epilog: ClassVar[str] = EPILOG

    data: options.Table = None
    label: options.Label = None
    categorical: options.Categorical = ()
    out: Annotated[Path, data_option(metavar="DIR", help="Where the files go; older ones of their names are replaced.")] = (
        Path("fcca-out")
    )
    test_size: Annotated[
        float,
        data_option(help="Share of rows held out; 0 holds out none."),
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
            help="Read a .parquet file in pieces, in little memory, or whole; with the same --sample, the results are the "
            f"same. Default: in pieces from {STREAMED_FROM:,} values on (rows × columns).",
        ),
    ] = None
    sample: Annotated[
        int | None,
        large_option(
            metavar="N",
            help="Fit the black box on so many of the training rows, drawn by --random-state; all of them make thresholds "
            f"and tree. Default: all rows, or {LARGEST_SAMPLE:,} where the file is read in pieces.",
        ),
        expects("a number of rows of at least 2, such as 100000", lambda n: n >= 2),
    ] = None
    no_counterfactuals: Annotated[
        bool,
        large_option(
            "--no-counterfactuals", help=f"Write neither {COUNTERFACTUALS} nor {CERTIFICATE}, which has them, too."
        ),
    ] = False
    model_by_name: Annotated[TargetModel | None, options.MODEL_BY_NAME, options.IS_INSTALLED] = None
    model_file: Annotated[
        Path | None,
        model_option(metavar="FILE", help=f"A fitted model to distill as it is: {options.MODEL_FILES}."),
        options.IS_MODEL_FILE,
    ] = None
    save_model: Annotated[
        bool,
        model_option(
            "--save-model",
            help=f"Write the black box to {SAVED_MODEL}, so that fcca verify can be given it. Needs skops.",
        ),
    ] = False
    q: Annotated[
        float,
        search_option("--q", help="Keep thresholds crossed at least as often as this quantile of all counts."),
        options.IS_SHARE,
    ] = 0.0

    @property
    def model(self) -> TargetModel | None:
        """The model to fit; None for the one in ``model_file``."""
        return (self.model_by_name or TargetModel.gb) if self.model_file is None else None

    @property
    def counterfactuals(self) -> bool:
        """Whether to write the counterfactuals."""
        return not self.no_counterfactuals

    def check(self) -> None:
        """Check options that exclude each other."""
        super().check()
        options.check_label("fcca distill", self.data, self.label)
        if self.no_report and self.open_report:
            raise InvalidInputError("--open was given with --no-report. There would be no report to open.")
        if self.model_file is not None:
            self._check_goes_with_model_file()
        if self.save_model:
            check_installed("skops")
        if self.stream:
            check_streamable(self.data)
            self._check_streamed("with --stream")

    def _check_goes_with_model_file(self) -> None:
        if self.model_by_name is not None:
            raise InvalidInputError(
                f"Both --model {self.model_by_name} and --model-file {self.model_file} were given. Expected one of them."
            )
        for option, given, reason in (
            ("--categorical", self.categorical, "The model knows what its columns are."),
            ("--sample", self.sample, "That model is fitted already."),
            ("--save-model", self.save_model, "That model is in a file already."),
        ):
            if given:
                raise InvalidInputError(f"{option} was given with --model-file. {reason}")

    def _check_streamed(self, reason: str) -> None:
        """Check that no option needs all rows in memory; ``reason`` tells why the table is streamed."""
        if self.thresholds == "auto":
            raise InvalidInputError(
                f"--thresholds auto was given {reason}. It is chosen by cross-validation, which needs all rows in memory: "
                "give a number, or --no-stream."
            )
        for option, given in (("--open", self.open_report), ("--title", self.title is not None)):
            if given:
                raise InvalidInputError(
                    f"{option} was given {reason}. A report shows single rows, so a table that is read in pieces gets none: "
                    f"leave {option} out, or read all rows with --no-stream."
                )

    def run(self, output: Output) -> int:
        """Read, compute, write and print; returns the exit code."""
        found: Distillation | None = None
        failure: OSError | None = None
        try:
            with atomic_outputs(self.out, last=CERTIFICATE) as outputs:
                with interrupts_deferred():
                    from fcca.cli._data import n_values
                    from fcca.cli._summary import distill_document, summary

                streamed = bool(self.stream)
                if self.data is not None and self.stream is None and n_values(self.data) >= STREAMED_FROM:
                    streamed = True
                    self._check_streamed(f"for {self.data.name}, which is so large that it is read in pieces")
                names = self._names(streamed)
                for name in names:
                    outputs.path(name)  # checks every target before any work
                with output.progress():
                    found = self._computed(outputs, streamed)
                    found = self._written(found, outputs)
                found = self._with_notes_on_files(found)
        except OSError as error:
            if found is None:
                if error.errno != errno.ENOSPC:
                    raise
                return output.cannot_write(self.out, error)  # counterfactuals go to their file while they are computed
            failure = error  # the result is still worth printing

        written = [] if failure else [self.out / name for name in names]
        output.result(lambda: summary(found, written), lambda: distill_document(found, written), found.notes)
        if failure is not None:
            return output.cannot_write(self.out, failure)
        if found.n_unverified:
            output.error(found.on_unverified(where=COUNTERFACTUALS if self.counterfactuals else ""))
        if self.open_report:
            open_in_browser(self.out / REPORT, output)
        return EXIT_UNVERIFIED if found.n_unverified else 0

    def _names(self, streamed: bool) -> tuple[str, ...]:
        """Names of the files to write."""
        left_out = () if self.counterfactuals else (CERTIFICATE, COUNTERFACTUALS)
        left_out = (*left_out, CERTIFICATE) if streamed else left_out
        names = [name for name in OUTPUT_NAMES if name not in left_out]
        page = () if streamed or self.no_report else (REPORT,)
        return (*page, *names, *([SAVED_MODEL] if self.save_model else []))

    def _computed(self, outputs: AtomicOutputs, streamed: bool) -> "Distillation":
        with interrupts_deferred():
            from fcca.cli._data import bundled_data, read_data
            from fcca.cli._distillation import distillation
            from fcca.cli._sources import MemorySource, ParquetSource

        if self.data is None:
            return distillation(MemorySource(bundled_data()), self)
        if streamed:
            return distillation(ParquetSource(self.data, self.label, outputs), self)
        return distillation(MemorySource(read_data(self.data, self.label, self.categorical)), self)

    def _written(self, found: "Distillation", outputs: AtomicOutputs) -> "Distillation":
        """Write the files; returns the result with the seconds that this took."""
        from fcca.cli._page import write_page

        began = perf_counter()
        found.write(outputs, counterfactuals=self.counterfactuals, save_model=self.save_model)
        found = found.with_seconds(files=perf_counter() - began, report=0.0)
        if found.streamed or self.no_report:
            return found
        return found.with_seconds(report=write_page(found, self, outputs.path(REPORT), title=self.title))

    def _with_notes_on_files(self, found: "Distillation") -> "Distillation":
        """The result, with notes on files that are not written."""
        earlier = (self.out / REPORT).exists()
        if found.streamed and not self.no_report:
            found = found.with_note(
                f"A table that is read in pieces gets no {REPORT}, which shows single rows. For one, use --no-stream, or "
                f"fcca report with a model and some of the rows. Nor does it get a {CERTIFICATE}, which has every "
                "counterfactual." + (f" {self.out / REPORT} is of an earlier run." if earlier else "")
            )
        elif earlier and self.no_report:
            found = found.with_note(f"{self.out / REPORT} is of an earlier run: --no-report leaves it as it is.")
        if not self.counterfactuals and (self.out / COUNTERFACTUALS).exists():
            found = found.with_note(
                f"{self.out / COUNTERFACTUALS} is of an earlier run: --no-counterfactuals leaves it as it is."
            )
        if (found.streamed or not self.counterfactuals) and (self.out / CERTIFICATE).exists():
            found = found.with_note(f"{self.out / CERTIFICATE} is of an earlier run: this one wrote none.")
        return found
