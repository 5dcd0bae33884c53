"""``fcca verify``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from fcca.cli import _arguments as arguments
from fcca.cli import interrupts_deferred
from fcca.cli._options import VerifySettings, check, check_file, check_model_file, table_format
from fcca.cli._running import Output, run_command

EXIT_REJECTED = 1
CERTIFICATE = "the certificate.json that fcca distill writes, or a text of fcca.export.certificate"
TREE = "the tree.json that fcca distill writes, or a text of fcca.export.to_json"
PROOFS = "What is proven again"


def verify(
    certificate: Annotated[
        Path,
        typer.Argument(
            metavar="CERTIFICATE",
            help="A certificate: the certificate.json that fcca distill writes.",
            show_default=False,
        ),
    ],
    model: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help=f"The black box: {arguments.MODEL_FILES} fcca distill --save-model writes the one that it fitted.",
            show_default=False,
            rich_help_panel=arguments.DATA,
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The table that it is about: .csv, .csv.gz or .parquet. Without it: scikit-learn's breast-cancer data.",
            show_default=False,
            rich_help_panel=arguments.DATA,
        ),
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The tree.json that is in use: checked to be the one of the certificate.",
            show_default=False,
            rich_help_panel=arguments.DATA,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Label column. Without it: the one that the certificate names.",
            show_default=False,
            rich_help_panel=arguments.DATA,
        ),
    ] = None,
    sample: Annotated[
        str,
        typer.Option(metavar="INT|all", help="Counterfactuals that are proven optimal again.", rich_help_panel=PROOFS),
    ] = "20",
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of the choice of these. Without it: another each time, so that nobody can know it beforehand.",
            show_default=False,
            rich_help_panel=PROOFS,
        ),
    ] = None,
    time_limit: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="Time for each of: proving counterfactuals by programs, the searches of those left open then, the choice "
            "of thresholds, the tree. What is not proven by then is said.",
            rich_help_panel=PROOFS,
        ),
    ] = 60.0,
    as_json: arguments.AsJson = False,
    quiet: arguments.Quiet = False,
    jobs: Annotated[
        int, typer.Option(help="Threads, -1 for all cores; the result does not depend on it.", rich_help_panel=PROOFS)
    ] = -1,
) -> None:
    """Run ``fcca verify``; its help is in _help."""

    def work(output: Output) -> int:
        every = sample == "all"
        fits = every or re.fullmatch(r"\d{1,9}", sample) is not None
        check("--sample", sample, fits, "a whole number of counterfactuals, such as 20, or all")
        settings = VerifySettings(
            label=label, sample=None if every else int(sample), seed=seed, time_limit=time_limit, jobs=jobs
        )
        check_file(certificate, CERTIFICATE)
        if data is not None:
            table_format(data)
        check_model_file(model)
        if tree is not None:
            check_file(tree, TREE)
        with interrupts_deferred():
            from fcca.cli._verification import verification
            from fcca.cli._verify_summary import verify_document, verify_summary

        with output.progress():
            verified = verification(certificate, data, model, tree, settings)
        output.result(lambda: verify_summary(verified), lambda: verify_document(verified), verified.notes)
        return 0 if verified.result.accepted else EXIT_REJECTED

    run_command(work, quiet=quiet, as_json=as_json)
