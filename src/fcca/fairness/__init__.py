"""Fairness: predictions and costs of recourse per group, and trees without a sensitive column.

:func:`group_metrics` computes rates such as the share of favourable predictions for each group. :func:`gaps` computes the
differences between groups. Recourse is a change of a row that leads to the favourable prediction.
:func:`recourse_by_group` measures what the cheapest changes cost in each group, and whether they include the sensitive
column itself. :func:`distill_without` compares the tree on all columns with a tree that never uses the sensitive column.

None of these results proves that a classifier is fair. They describe its predictions for the given rows only. If a sensitive
column is left out, other columns can act as a substitute for it.
"""

from fcca.fairness._fair_distillation import FairDistillation, distill_without
from fcca.fairness._metrics import GroupGaps, gaps, group_metrics
from fcca.fairness._recourse import GroupRecourse, recourse_by_group

__all__ = [
    "FairDistillation",
    "GroupGaps",
    "GroupRecourse",
    "distill_without",
    "gaps",
    "group_metrics",
    "recourse_by_group",
]
