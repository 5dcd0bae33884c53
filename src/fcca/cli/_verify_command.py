"""The command ``fcca verify``."""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from fcca.cli import _options as options, interrupts_deferred
from fcca.cli._checks import accepted_by, class_names_of, expects, file_of
from fcca.cli._command import Command
from fcca.cli._options import data_option
from fcca.cli._running import Output
from fcca.utils import AtomicOutputs

if TYPE_CHECKING:
    from fcca.cli._verify_result import VerifyResult

CERTIFICATE = "certificate.json, written by fcca distill, or a file written with fcca.certificates.certificate"
TREE = "tree.json, written by fcca distill, or a file written with fcca.export.to_json"

proof_option = partial(typer.Option, rich_help_panel="Repeated proofs")


@dataclass(frozen=True, kw_only=True)
class Verify(Command):
    """Check a certificate: recompute every claim of fcca distill.

    The claims are recomputed from the table and the model. Every counterfactual must start at its row, follow the rules,
    flip the model's prediction and have the stated cost. The thresholds and their counts, the leaves of the tree and its
    objective are recomputed. The search for the best tree is repeated. For a sample of the counterfactuals, it is
    proven again that no cheaper change exists. The proof uses an independent method if there is one. Nothing in a
    certificate is trusted, and nothing in it is executed.

    [bold]Examples[/]

    [dim]# the files of fcca distill loans.csv --save-model --out out[/]
    [cyan]fcca verify out/certificate.json --data loans.csv --model out/model.skops[/]

    [dim]# also check that the tree in use is the tree of the certificate[/]
    [cyan]fcca verify c.json --data a.csv --model m.skops --tree tree.json[/]

    [dim]# re-prove every counterfactual, with up to an hour per step[/]
    [cyan]fcca verify c.json --data a.csv --model m.skops --sample all --time-limit 3600[/]

    [dim]# for a script[/]
    [cyan]fcca verify c.json --data loans.csv --model m.skops --json | jq .accepted[/]
    """

    epilog: ClassVar[str] = (
        "Exit codes: 0 accepted; 1 rejected, see the printed table; 2 certificate, data, model or options cannot be used; "
        "130 interrupted."
    )

    certificate: Annotated[
        Path,
        options.argument(metavar="CERTIFICATE", help="A certificate: certificate.json, written by fcca distill."),
        file_of(CERTIFICATE),
    ]
    model: Annotated[
        Path,
        data_option(
            metavar="FILE",
            help=f"The black box: {options.MODEL_FILES}. fcca distill --save-model writes it.",
        ),
        options.IS_MODEL_FILE,
    ]
    trust_model_file: options.TrustModelFile = False
    data: Annotated[
        Path | None,
        data_option(
            metavar="FILE",
            help="The table of the certificate: .csv, .csv.gz or .parquet. Default: scikit-learn's breast-cancer data.",
        ),
        options.IS_TABLE,
    ] = None
    tree: Annotated[
        Path | None,
        data_option(metavar="FILE", help="The tree.json in use, to compare with the tree of the certificate."),
        file_of(TREE),
    ] = None
    label: Annotated[
        str | None, data_option(metavar="COL", help="Label column. Default: the label column of the certificate.")
    ] = None
    class_names: Annotated[
        str | None,
        data_option(
            metavar="LABEL=NAME,…", help="The --class-names of fcca distill, for --tree. The certificate has the labels."
        ),
        accepted_by(class_names_of),
    ] = None
    sample: Annotated[
        str,
        proof_option(metavar="INT|all", help="Number of counterfactuals to re-prove."),
        expects(
            "a whole number of counterfactuals, such as 20, or all",
            lambda text: re.fullmatch(r"all|\d{1,9}", text) is not None,
        ),
    ] = "20"
    random_state: Annotated[
        int | None,
        proof_option(help="Seed of this sample. Default: a different sample each time, so that nobody can predict it."),
        options.IS_SEED,
    ] = None
    time_limit: Annotated[
        float,
        proof_option(
            metavar="SECONDS",
            help="Time limit for each step that repeats a search or a proof, such as the search for the tree. The summary "
            "lists claims that were not proven in time.",
        ),
        options.IS_TIME,
    ] = 60.0
    as_json: options.AsJson = False
    quiet: options.Quiet = False
    jobs: Annotated[
        int, proof_option(help="Threads, -1 for all cores. Results do not depend on it."), options.IS_THREADS
    ] = -1

    def compute(self, output: Output, outputs: AtomicOutputs) -> "VerifyResult":
        """Read the files and check all claims of the certificate."""
        with interrupts_deferred():
            from fcca.cli._verify_result import run_verify

        return run_verify(self)
