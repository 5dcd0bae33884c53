"""``fcca verify``."""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from fcca.cli import _options as options, interrupts_deferred
from fcca.cli._checks import expects, file_of
from fcca.cli._command import Command
from fcca.cli._options import data_option
from fcca.cli._running import Output
from fcca.utils import AtomicOutputs

if TYPE_CHECKING:
    from fcca.cli._verify_result import VerifyResult

CERTIFICATE = "the certificate.json that fcca distill writes, or a text of fcca.certificates.certificate"
TREE = "the tree.json that fcca distill writes, or a text of fcca.export.to_json"

proof_option = partial(typer.Option, rich_help_panel="What is proven again")


@dataclass(frozen=True, kw_only=True)
class Verify(Command):
    """Check a certificate again: everything that distill claimed, computed anew from the table and the model.

    Every counterfactual has to start at its row, keep the rules, flip the model's own predict and cost what it says;
    the thresholds, their counts, the tree's leaves and its objective are computed anew; the best tree is searched
    anew; and a sample of the counterfactuals is proven to be the cheapest by other means than the search that found
    them, where there are any. Nothing in a certificate is taken on trust, and nothing in it is run.

    [bold]Examples[/]

    [dim]# what fcca distill loans.csv --save-model --out out wrote[/]
    [cyan]fcca verify out/certificate.json --data loans.csv --model out/model.skops[/]

    [dim]# and that the tree in use is the one that all this is claimed of[/]
    [cyan]fcca verify c.json --data a.csv --model m.skops --tree tree.json[/]

    [dim]# prove every counterfactual again, in up to an hour[/]
    [cyan]fcca verify c.json --data a.csv --model m.skops --sample all --time-limit 3600[/]

    [dim]# for a script[/]
    [cyan]fcca verify c.json --data loans.csv --model m.skops --json | jq .accepted[/]
    """

    epilog: ClassVar[str] = (
        "Exit codes: 0 accepted; 1 rejected, the table says why; 2 certificate, data, model or options cannot be used; "
        "130 interrupted."
    )

    certificate: Annotated[
        Path,
        options.argument(metavar="CERTIFICATE", help="A certificate: the certificate.json that fcca distill writes."),
        file_of(CERTIFICATE),
    ]
    model: Annotated[
        Path,
        data_option(
            metavar="FILE",
            help=f"The black box: {options.MODEL_FILES}. fcca distill --save-model writes the one that it fitted.",
        ),
        options.IS_MODEL_FILE,
    ]
    trust_model_file: options.TrustModelFile = False
    data: Annotated[
        Path | None,
        data_option(
            metavar="FILE",
            help="The table that it is about: .csv, .csv.gz or .parquet. Without it: scikit-learn's breast-cancer data.",
        ),
        options.IS_TABLE,
    ] = None
    tree: Annotated[
        Path | None,
        data_option(metavar="FILE", help="The tree.json that is in use: checked to be the one of the certificate."),
        file_of(TREE),
    ] = None
    label: Annotated[
        str | None, data_option(metavar="COL", help="Label column. Without it: the one that the certificate names.")
    ] = None
    sample: Annotated[
        str,
        proof_option(metavar="INT|all", help="Counterfactuals that are proven optimal again."),
        expects(
            "a whole number of counterfactuals, such as 20, or all",
            lambda text: re.fullmatch(r"all|\d{1,9}", text) is not None,
        ),
    ] = "20"
    random_state: Annotated[
        int | None,
        proof_option(
            help="Seed of the choice of these. Without it: another each time, so that nobody can know it beforehand."
        ),
        options.IS_SEED,
    ] = None
    time_limit: Annotated[
        float,
        proof_option(
            metavar="SECONDS",
            help="Time for each of: proving counterfactuals by programs, the searches of those left open then, the choice "
            "of thresholds, the tree. What is not proven by then is said.",
        ),
        options.IS_TIME,
    ] = 60.0
    as_json: options.AsJson = False
    quiet: options.Quiet = False
    jobs: Annotated[
        int, proof_option(help="Threads, -1 for all cores; the result does not depend on it."), options.IS_THREADS
    ] = -1

    def compute(self, output: Output, outputs: AtomicOutputs) -> "VerifyResult":
        """Read, and check all that the certificate says."""
        with interrupts_deferred():
            from fcca.cli._verify_result import run_verify

        return run_verify(self)
