"""Where a tree errs: its leaves on the rows that it is measured on, and the rows where it differs from the black box."""

from __future__ import annotations

from typing import Any

import numpy as np

from fcca.report._levels import Level, numbers
from fcca.report._report_input import ReportInput

MOST_ROWS = 10


def judged_leaves(inputs: ReportInput, level: Level) -> list[list[float | int | None]] | None:
    """Count the held-out rows of each class in each node of a tree.

    Return None without held-out rows. The nodes themselves have the counts of the training rows.
    """
    if inputs.held_out is None:
        return None
    leaf = level.tree.apply(inputs.conditions.select(level.mask(inputs)).binarize(inputs.held_out.table))
    found = np.zeros((len(level.tree.tree_.feature), len(inputs.classes)))
    np.add.at(found, (leaf, inputs.class_codes(inputs.held_out.y)), 1)
    return [numbers(line) for line in found]


def disagreements(inputs: ReportInput, level: Level, column_of: dict[int, int]) -> list[dict[str, Any]] | None:
    """Return the training rows where the probabilities of the tree and of the black box differ most.

    With two classes, the probabilities are those of the second class. Otherwise they are those of the class with the
    largest difference. Return None if the black box has no probabilities.

    Parameters
    ----------
    inputs : ReportInput
    level : Level
    column_of : dict of int to int
        Position of each column of the table among the columns of the page.
    """
    theirs = inputs.probabilities
    if theirs is None:
        return None
    kept, nodes = np.flatnonzero(level.mask(inputs)), level.tree.tree_
    B = inputs.conditions.select(level.mask(inputs)).binarize(inputs.training.table)
    ours = np.zeros_like(theirs)
    ours[:, inputs.class_codes(level.tree.classes_)] = level.tree.predict_proba(B)
    gap = np.abs(ours - theirs)
    if len(inputs.classes) == 2:
        gap[:, 0] = 0
    largest = gap.max(axis=1)
    rows = np.argsort(-largest, kind="stable")[:MOST_ROWS]
    leaf = level.tree.apply(B[rows])
    label, target = inputs.class_codes(inputs.training.y[rows]), inputs.class_codes(inputs.training.predictions[rows])
    found = []
    for at, row in enumerate(rows[largest[rows] > 0].tolist()):
        path = [int(inputs.conditions.feature[kept[nodes.feature[node]]]) for node, _ in nodes.path_to(int(leaf[at]))]
        code = int(gap[row].argmax())
        found.append(
            {
                "row": inputs.names[row],
                "label": int(label[at]),
                "target": int(target[at]),
                "class": code,
                "tree": round(float(ours[row, code]), 6),
                "black_box": round(float(theirs[row, code]), 6),
                "values": [[column_of[j], numbers([inputs.training.table[row, j]])[0]] for j in dict.fromkeys(path)],
            }
        )
    return found
