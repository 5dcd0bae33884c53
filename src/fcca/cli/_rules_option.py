"""The option ``--rules``: a file with rules for the changes of counterfactuals."""

from __future__ import annotations

from pathlib import Path

from fcca.constraints import Constraint, load_rules
from fcca.exceptions import InvalidInputError


def read_rules(path: Path | None) -> tuple[Constraint, ...]:
    """Read the rules for changes from a YAML file.

    If ``path`` is None, return an empty tuple. A file without rules is an error.
    """
    if path is None:
        return ()
    rules = load_rules(path)
    if not rules:
        raise InvalidInputError(
            f"{path.name} has no rules. Expected entries such as 'immutable: [age]' or 'max_changes: 3'."
        )
    return rules
