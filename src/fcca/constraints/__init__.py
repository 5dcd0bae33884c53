"""Rules that every counterfactual must obey.

Rules restrict changes only. A value that does not change is accepted even if it violates a rule.

Examples
--------
>>> from fcca.constraints import *
>>> rules = [
...     Immutable("sex", "birthplace"),                   # stay as they are
...     Increasing("age"),                                # rises or stays
...     Decreasing("debt"),                               # falls or stays
...     Bounds("income", low=0, high=90_000),             # in this range if it changes
...     Bounds("rent", low=-0.2, high=0.2, relative=True),  # falls or rises by at most 20 %
...     Bounds("age", by=(0, 5)),                         # rises by at most 5
...     Integer("children"),                              # a whole number if it changes
...     Grid("loan", step=500, origin=100),               # 100, 600, 1100, …
...     Forbidden("job", [("nurse", "clerk")]),           # not from nurse to clerk
...     Allowed("housing", {"rents": ["owns"]}),          # only from rents to owns
...     Cost("income", 2),                                # a change costs twice as much
...     Fillable("phone"),                                # missing values may be filled in
...     OneHot("red", "green", "blue"),                   # exactly one is 1
...     Rule("rent <= income"),                           # Linear({"rent": 1, "income": -1}, upper=0)
...     Implies("education rises", "age rises"),          # education takes time
...     MaxChanges(3),
... ]
>>> rules[0] == Immutable("sex", "birthplace")
True
>>> Rule("rent <= income").linear
(Linear({'income': -1, 'rent': 1}, upper=0),)
"""

# One line per rule. The import registers the rule for YAML, JSON, the searches and the checks.
from fcca.constraints._bounds import Bounds as Bounds
from fcca.constraints._categories import Allowed as Allowed, Forbidden as Forbidden
from fcca.constraints._cost import Cost as Cost
from fcca.constraints._directions import Decreasing as Decreasing, Increasing as Increasing
from fcca.constraints._fillable import Fillable as Fillable
from fcca.constraints._grid import Grid as Grid, Integer as Integer
from fcca.constraints._immutable import Immutable as Immutable
from fcca.constraints._implies import Implies as Implies
from fcca.constraints._linear import Linear as Linear, Rule as Rule
from fcca.constraints._max_changes import MaxChanges as MaxChanges
from fcca.constraints._one_hot import OneHot as OneHot

# isort: split
from fcca.constraints._check import broken_by, holds
from fcca.constraints._constraint import Constraint, check_rules
from fcca.constraints._yaml import load_rules, rules_from_yaml

# isort: split
# Internals for other subpackages.
from fcca.constraints._compile import compile_rules as compile_rules
from fcca.constraints._limits import (
    Implication as Implication,
    Limits as Limits,
    LinearRule as LinearRule,
    limits_for as limits_for,
)

__all__ = ["Constraint", "broken_by", "check_rules", "holds", "load_rules", "rules_from_yaml"]
__all__ += sorted(kind.__name__ for kind in Constraint.kinds.values())
