"""The command ``fcca benchmark``."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fcca.cli import _options as options, interrupts_deferred
from fcca.cli._checks import OptionCheck, chosen_levels, expects, expects_name
from fcca.cli._command import Command
from fcca.cli._options import TargetModel, data_option, model_option, search_option
from fcca.cli._running import Output
from fcca.utils import AtomicOutputs

# Modules for the computation are imported after the arguments have been checked.
if TYPE_CHECKING:
    from fcca.cli._benchmark_result import BenchmarkResult

METHODS = ("fcca", "gtre", "cart")


def chosen_methods(text: str) -> tuple[str, ...]:
    """Split a text such as ``fcca,cart`` into the names of methods, without repetitions."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",")))


@dataclass(frozen=True, kw_only=True)
class Benchmark(Command):
    """Compare small trees and the black box on your table.

    Every method is cross-validated on the same folds. FCCA and GTRE are two ways to take thresholds from the black box.
    Both grow the best tree on their thresholds, with at most 8 leaves and a cost per leaf. CART is scikit-learn's tree on
    the raw columns, with the same maximum depth. It has no limit on the leaves and no cost per leaf, so its trees may be
    larger. [italic]most frequent class[/] always predicts the most frequent class of the training rows.

    [italic]fidelity[/] is the share of rows where the tree and the black box agree. [italic]thresholds[/] is the number
    of thresholds that the tree can choose from. [italic]columns[/] is the number of columns that the tree uses.
    [italic]proven[/] is the share of the folds in which the tree is proven optimal. [italic]seconds[/] is the time to
    compute the thresholds and to fit the tree. For the black box, it is the time to fit the black box.

    [bold]Examples[/]

    [dim]# scikit-learn's breast-cancer data[/]
    [cyan]fcca benchmark[/]

    [dim]# your table, a random forest, trees of depth 4[/]
    [cyan]fcca benchmark loans.csv --label default --model rf --max-depth 4 --q 0,0.8[/]

    [dim]# for a script, and as a table[/]
    [cyan]fcca benchmark loans.csv --json --out benchmark.csv[/]
    """

    data: options.Table = None
    label: options.Label = None
    categorical: options.Categorical = ()
    drop: options.Drop = ()
    keep: options.Keep = ()
    folds: Annotated[
        int,
        data_option(help="Number of folds. Each fold is held out once."),
        expects("a whole number of at least 2, such as 5", lambda folds: folds >= 2),
    ] = 5
    out: Annotated[
        Path | None, data_option(metavar="FILE", help="Write the table to a .csv file."), expects_name(".csv")
    ] = None
    as_json: options.AsJson = False
    quiet: options.Quiet = False
    model: Annotated[TargetModel, options.MODEL_BY_NAME, options.IS_INSTALLED] = TargetModel.gb
    methods: Annotated[
        str,
        model_option(metavar="NAME,…", help="Methods to compare with the black box."),
        expects(
            f"some of {', '.join(METHODS)}, separated by commas",
            lambda text: all(name in METHODS for name in chosen_methods(text)),
        ),
    ] = ",".join(METHODS)
    max_depth: Annotated[int, model_option(metavar="N", help="Maximum depth of the trees."), options.IS_DEPTH] = 3
    random_state: options.RandomState = 0
    q: Annotated[
        str,
        search_option(
            "--q",
            metavar="Q,Q,…",
            help="Levels of granularity: keep thresholds whose count is at least this quantile of all counts.",
        ),
        OptionCheck(chosen_levels),
    ] = "0,0.7,0.9"
    jobs: options.Jobs = -1
    time_limit: Annotated[
        float | None,
        search_option(metavar="SECONDS", help="Time limit for the counterfactuals of a fold, and for each tree."),
        options.IS_TIME,
    ] = None

    def check(self) -> None:
        """Check that ``--label`` is given only together with a table."""
        options.check_label("fcca benchmark", self.data, self.label)

    def compute(self, output: Output, outputs: AtomicOutputs) -> "BenchmarkResult":
        """Read the table, and cross-validate all methods on it."""
        with interrupts_deferred():
            from fcca.cli._benchmark_result import run_benchmark
            from fcca.cli._read_table import bundled_data, read_data

        return run_benchmark(
            bundled_data() if self.data is None else read_data(self.data, self.label, self.categorical), self
        )
