"""``fcca benchmark``."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fcca.cli import _options as options, interrupts_deferred
from fcca.cli._checks import OptionCheck, chosen_levels, expects, expects_name
from fcca.cli._command import Command
from fcca.cli._options import TargetModel, data_option, model_option, search_option
from fcca.cli._running import Output
from fcca.utils import AtomicOutputs

# What computes is imported once the arguments are known to be good.
if TYPE_CHECKING:
    from fcca.cli._benchmark_result import BenchmarkResult

METHODS = ("fcca", "gtre", "cart")  # to compare with the black box and each other


def chosen_methods(text: str) -> tuple[str, ...]:
    """``fcca,cart`` as names, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",")))


@dataclass(frozen=True, kw_only=True)
class Benchmark(Command):
    """Compare trees on your own table: FCCA's thresholds, GTRE's, CART, and the black box itself.

    Cross-validated: every method is fitted on the same folds and judged on the rows held out. FCCA and GTRE take
    their thresholds from the black box and get the provably best tree on them; CART is scikit-learn's tree on the
    columns as they are, of the same depth. A leaf of FCCA's and GTRE's has to save ten rows, one of CART's costs
    nothing, so that CART's trees are larger. [italic]commonest class[/] is what answering every row alike is worth.

    [italic]fidelity[/] is how often a tree answers as the black box does; [italic]thresholds[/] are those that the
    tree may ask for, [italic]columns[/] those that it asks for; [italic]proven[/] is the share of trees proven
    optimal; [italic]seconds[/] is what fitting takes, for the trees beyond the black box.

    [bold]Examples[/]

    [dim]# scikit-learn's breast-cancer data[/]
    [cyan]fcca benchmark[/]

    [dim]# a table of your own, a random forest, trees of depth 4[/]
    [cyan]fcca benchmark loans.csv --label default --model rf --max-depth 4 --q 0,0.8[/]

    [dim]# for a script, and as a table[/]
    [cyan]fcca benchmark loans.csv --json --out benchmark.csv[/]
    """

    data: options.Table = None
    label: options.Label = None
    categorical: options.Categorical = ()
    folds: Annotated[
        int,
        data_option(help="Parts that the rows are split into; each is held out once."),
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
        model_option(metavar="NAME,…", help="What to compare, beside the black box."),
        expects(
            f"some of {', '.join(METHODS)}, with commas between them",
            lambda text: all(name in METHODS for name in chosen_methods(text)),
        ),
    ] = ",".join(METHODS)
    max_depth: Annotated[int, model_option(metavar="N", help="Depth of the trees, at most."), options.IS_DEPTH] = 3
    random_state: options.RandomState = 0
    q: Annotated[
        str,
        search_option(
            "--q",
            metavar="Q,Q,…",
            help="Levels of granularity: thresholds crossed at least as often as this quantile of all counts.",
        ),
        OptionCheck(chosen_levels),
    ] = "0,0.7,0.9"
    jobs: options.Jobs = -1
    time_limit: Annotated[
        float | None,
        search_option(metavar="SECONDS", help="Time for the searches of a fold, and for each tree."),
        options.IS_TIME,
    ] = None

    def check(self) -> None:
        """OptionCheck that a label column comes with a table."""
        options.check_label("fcca benchmark", self.data, self.label)

    def compute(self, output: Output, outputs: AtomicOutputs) -> "BenchmarkResult":
        """Read, fit and compare."""
        with interrupts_deferred():
            from fcca.cli._benchmark_result import run_benchmark
            from fcca.cli._read_table import bundled_data, read_data

        return run_benchmark(bundled_data() if self.data is None else read_data(self.data, self.label, self.categorical), self)
