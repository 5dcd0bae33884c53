"""Groups of people compared: predictions, costs of recourse, trees without a sensitive column.

:func:`group_metrics` and :func:`gaps` are the usual figures of who is answered how; :func:`recourse_by_group` says how far
those who are turned down would have to move, and whether changing the sensitive column itself would be their cheapest way;
:func:`distill_without` fits the small tree once as it is and once without the sensitive column, and compares the two.

None of these figures proves that a classifier is fair. They count what it does to the rows that they are given, and other
columns may stand in for a sensitive one that is left out.
"""

from fcca.fairness._distillation import FairDistillation, distill_without
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
