"""Find counterfactuals by mixed-integer programs (MILPs), which HiGHS solves.

The programs prove results independently of the C++ core. They also solve problems that the core cannot search.
"""

from fcca.milp._highs import solve_program
from fcca.milp._linear_search import LinearSearch as LinearSearch
from fcca.milp._linear_task import Task as Task
from fcca.milp._outcomes import (
    ANY_OTHER_CLASS as ANY_OTHER_CLASS,
    FEASIBLE as FEASIBLE,
    INFEASIBLE as INFEASIBLE,
    OPTIMAL as OPTIMAL,
    Answers as Answers,
    Outcome as Outcome,
    solve_each as solve_each,
)
from fcca.milp._tree_search import solve_milp

__all__ = ["solve_milp", "solve_program"]
