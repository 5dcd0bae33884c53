"""The rules a counterfactual must keep.

What a rule says is about what changes: a value that stays where it is breaks none, even where it is outside the bounds.

Examples
--------
>>> from fcca.constraints import *
>>> rules = [
...     Immutable("sex", "birthplace"),                   # stay as they are
...     Increasing("age"),                                # rises or stays
...     Decreasing("debt"),                               # falls or stays
...     Bounds("income", low=0, high=90_000),             # is in between once it changes
...     Bounds("rent", low=-0.2, high=0.2, relative=True),  # at most 20 % less or more
...     Bounds("age", by=(0, 5)),                         # at most 5 more
...     Integer("children"),                              # whole
...     Grid("loan", step=500, origin=100),               # 100, 600, 1100, …
...     Forbidden("job", [("nurse", "clerk")]),           # not from nurse to clerk
...     Allowed("housing", {"rents": ["owns"]}),          # only from rents to owns
...     Cost("income", 2),                                # twice as dear to change
...     Fillable("phone"),                                # may be filled in where it is missing
...     OneHot("red", "green", "blue"),                   # exactly one is 1
...     Rule("rent <= income"),                           # Linear({"rent": 1, "income": -1}, upper=0)
...     Implies("education rises", "age rises"),          # who learns gets older
...     MaxChanges(3),
... ]
>>> rules[0] == Immutable("sex", "birthplace")
True
>>> Rule("rent <= income").linear
(Linear({'income': -1, 'rent': 1}, upper=0),)
"""

from fcca.constraints._check import broken_by, holds
from fcca.constraints._compile import compile_rules, limits_for
from fcca.constraints._limits import Implication, Limits, LinearRule
from fcca.constraints._lookup import check_rules
from fcca.constraints._rules import (
    Allowed,
    Bounds,
    Constraint,
    Cost,
    Decreasing,
    Fillable,
    Forbidden,
    Grid,
    Immutable,
    Implies,
    Increasing,
    Integer,
    Linear,
    MaxChanges,
    OneHot,
    Rule,
)
from fcca.constraints._yaml import load_rules, rules_from_yaml

__all__ = [
    "Allowed",
    "Bounds",
    "Constraint",
    "Cost",
    "Decreasing",
    "Fillable",
    "Forbidden",
    "Grid",
    "Immutable",
    "Implication",
    "Implies",
    "Increasing",
    "Integer",
    "Limits",
    "Linear",
    "LinearRule",
    "MaxChanges",
    "OneHot",
    "Rule",
    "broken_by",
    "check_rules",
    "compile_rules",
    "holds",
    "limits_for",
    "load_rules",
    "rules_from_yaml",
]
