"""The results of a verification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fcca.utils import html_table, paragraph, printable

PASSED, FAILED, NOT_CHECKED = "passed", "failed", "not checked"
SIGNS = {PASSED: "✓", FAILED: "✗", NOT_CHECKED: "–"}


@dataclass(frozen=True)
class Check:
    """The result of one check of a certificate.

    Attributes
    ----------
    name : str
        What was checked, such as "costs".
    outcome : {"passed", "failed", "not checked"}
    words : str
        A sentence: what was confirmed, what is wrong, or why the check was not run.
    """

    name: str
    outcome: str
    words: str

    @property
    def sign(self) -> str:
        """A sign for the outcome: ✓ passed, ✗ failed, – not checked."""
        return SIGNS[self.outcome]


@dataclass(frozen=True, repr=False)
class Verification:
    """The results of all checks of a certificate.

    Attributes
    ----------
    checks : tuple of Check
        One result per check, in the order in which the checks are run.

    See Also
    --------
    verify : Runs all checks.
    """

    checks: tuple[Check, ...]

    @property
    def accepted(self) -> bool:
        """True if no check failed. Checks that could not be run do not count as failed."""
        return all(check.outcome != FAILED for check in self.checks)

    @property
    def complete(self) -> bool:
        """True if every check could be run."""
        return all(check.outcome != NOT_CHECKED for check in self.checks)

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the checks that failed."""
        return tuple(check.name for check in self.checks if check.outcome == FAILED)

    def __getitem__(self, name: str) -> Check:
        return next(check for check in self.checks if check.name == name)

    def in_words(self) -> str:
        """Return one sentence that says whether the certificate is accepted, and why."""
        n = {outcome: sum(check.outcome == outcome for check in self.checks) for outcome in SIGNS}
        left = f", {n[NOT_CHECKED]} not run" if n[NOT_CHECKED] else ""
        if self.accepted:
            verdict = "Accepted" if self.complete else "Accepted as far as it was checked"
            return f"{verdict}: {n[PASSED]} checks passed{left}."
        return f"Rejected: {', '.join(self.failed)} failed, {n[PASSED]} checks passed{left}."

    def to_dict(self) -> dict[str, Any]:
        """Return all results as a dict of plain values, for JSON."""
        lines = [{"name": one.name, "outcome": one.outcome, "words": one.words} for one in self.checks]
        return {"accepted": self.accepted, "complete": self.complete, "checks": lines}

    def __repr__(self) -> str:
        width = max(len(check.name) for check in self.checks)
        lines = (f"{check.sign} {check.name.ljust(width)}  {printable(check.words)}" for check in self.checks)
        return "\n".join([*lines, self.in_words()])

    def _repr_html_(self) -> str:
        lines = [(check.sign, check.name, printable(check.words)) for check in self.checks]
        return paragraph(self.in_words()) + html_table(("", "check", "what was found"), lines)
