"""What ``fcca verify`` prints. Names of columns and classes come from files, so they are only ever put in a Text."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fcca._proof import proof_in_words
from fcca.cli._summary import panel
from fcca.cli._verification import Verified
from fcca.cli._words import number, percent, printable, seconds, status_counts

STYLES = {"passed": "green", "failed": "bold red", "not checked": "yellow"}


def verify_summary(verified: Verified) -> RenderableType:
    """What the certificate claims, every check, and the verdict."""
    stated, result = verified.stated, verified.result
    proof = stated.proof
    tree = f"objective {percent(proof.objective, 2)}, {proof_in_words(proof.objective, proof.lower_bound, proof.optimal)}"
    facts = [
        (
            "Certificate",
            f"{printable(verified.certificate)}, by its own words of fcca {printable(stated.versions.get('fcca', '?'))}",
        ),
        ("Data", printable(verified.data)),
        ("Black box", f"{printable(verified.model)}: {printable(verified.described)}"),
        ("Counterfactuals", status_counts(stated.statuses)),
        ("Thresholds", f"{number(len(stated.kept))} kept of {number(len(stated.found))} found"),
        ("Tree", tree),
        ("Time", seconds(verified.seconds)),
    ]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("Check", no_wrap=True)
    table.add_column("What was found", overflow="fold")
    for check in result.checks:
        style = STYLES[check.outcome]
        table.add_row(Text(check.sign, style=style), Text(check.name), Text(printable(check.words)))
    verdict = Text(printable(result.in_words()), style="bold green" if result.accepted else "bold red")
    return Group(panel("fcca verify", facts), table, Text(), verdict)


def verify_document(verified: Verified) -> dict[str, Any]:
    """Everything as one JSON document."""
    files = {"certificate": str(verified.certificate), "data": verified.data, "model": str(verified.model)}
    return files | verified.result.to_dict() | {"seconds": verified.seconds, "notes": list(verified.notes)}
