"""Documents of trees, good and damaged."""

from __future__ import annotations

import copy
import json


def chain(depth: int) -> str:
    """A tree that tests the same column at every node."""
    nodes, rows = [], depth + 1
    for level in range(depth):
        nodes.append({"condition": level, "left": 2 * level + 1, "right": 2 * level + 2, "weight": [rows - level, 0]})
        nodes.append({"condition": None, "weight": [1, 0]})
    nodes.append({"condition": None, "weight": [1, 0]})
    document = {
        "format": "fcca-tree",
        "version": 1,
        "fcca": "0.1.0",
        "classes": ["a", "b"],
        "columns": [{"name": "x", "categories": None, "missing": False}],
        "missing_values": False,
        "conditions": [{"kind": "cut", "column": 0, "threshold": level} for level in range(depth)],
        "nodes": [node | {"rows": node["weight"][0]} for node in nodes],
        "certificate": {
            "optimal": True, "objective": 0.1, "lower_bound": 0.1, "gap": 0, "regularization": 0.01, "max_depth": None,
        },
    }  # fmt: skip
    return json.dumps(document)


def damaged(document: dict) -> dict[str, dict]:
    """Documents with one error each, by the name of the error."""
    found = {}

    def change(what: str, *path, to=None, drop: bool = False) -> None:
        other = copy.deepcopy(document)
        at = other
        for key in path[:-1]:
            at = at[key]
        if drop:
            del at[path[-1]]
        else:
            at[path[-1]] = to
        found[what] = other

    for key in document:
        change(f"no {key}", key, drop=True)
        change(f"{key} is null", key, to=None) if key != "provenance" else None
        change(f"{key} is a list of lists", key, to=[[]])
        change(f"{key} is a text", key, to="text") if key != "fcca" else None
    change("another format", "format", to="fcca.thresholds")
    change("another version", "version", to=3)
    change("version true", "version", to=True)
    change("no classes at all", "classes", to=[])
    change("a class twice", "classes", to=["bad", "bad"])
    change("a class that is a list", "classes", to=["bad", ["good"]])
    change("no columns at all", "columns", to=[])
    change("a name twice", "columns", 1, "name", to=document["columns"][0]["name"])
    change("one name missing", "columns", 1, "name", to=None)
    change("a name that is a number", "columns", 1, "name", to=7)
    change("no categories at all", "columns", 1, "categories", to=[])
    change("a category twice", "columns", 1, "categories", to=["car", "car"])
    change("gaps that are a number", "columns", 1, "missing", to=1)
    change("no gaps, but asked for", "missing_values", to=False)
    change("an unknown kind", "conditions", 0, "kind", to="cuts")
    change("a column that is not there", "conditions", 0, "column", to=99)
    change("a negative column", "conditions", 0, "column", to=-1)
    change("a column true", "conditions", 0, "column", to=True)
    cut = next(at for at, one in enumerate(document["conditions"]) if one["kind"] == "cut")
    some = next(at for at, one in enumerate(document["conditions"]) if one["kind"] == "set")
    change("a threshold that is a text", "conditions", cut, "threshold", to="1.0")
    change("a threshold too large", "conditions", cut, "threshold", to=10**400)
    change("a cut of categories", "conditions", cut, "column", to=document["conditions"][some]["column"])
    change("a set of numbers", "conditions", some, "column", to=document["conditions"][cut]["column"])
    change("an unknown category", "conditions", some, "categories", to=["yacht"])
    change("an empty set", "conditions", some, "categories", to=[])
    everything = document["columns"][document["conditions"][some]["column"]]["categories"]
    change("a set of all categories", "conditions", some, "categories", to=everything)
    change("no nodes at all", "nodes", to=[])
    change("an unknown condition", "nodes", 0, "condition", to=99)
    change("a condition true", "nodes", 0, "condition", to=True)
    change("no condition", "nodes", 0, "condition", drop=True)
    change("a leaf instead", "nodes", 0, "condition", to=None)
    change("a way round in circles", "nodes", 0, "left", to=0)
    change("a child that is not there", "nodes", 0, "left", to=10**6)
    change("two ways to one node", "nodes", 0, "left", to=document["nodes"][0]["right"])
    change("a negative child", "nodes", 0, "left", to=-1)
    change("too few weights", "nodes", 0, "weight", to=[1.0])
    change("a negative weight", "nodes", 1, "weight", 0, to=-1.0)
    change("a weight too large", "nodes", 1, "weight", 0, to=10**400)
    change("weights that do not add up", "nodes", 1, "weight", 0, to=10**6)
    change("rows that do not add up", "nodes", 1, "rows", to=10**6)
    change("half a row", "nodes", 1, "rows", to=1.5)
    change("a node that is a list", "nodes", 1, to=[])
    change("a proof that is a number", "certificate", "optimal", to=1)
    change("a bound that is a text", "certificate", "lower_bound", to="0.1")
    change("half a depth", "certificate", "max_depth", to=1.5)
    if document["version"] == 1:
        return found
    for name in ("cut", "below", "above", "count"):
        change(f"no {name} of a condition", "conditions", cut, name, drop=True)
        change(f"a {name} that is a text", "conditions", cut, name, to="1.0")
    change("no model's own number", "conditions", cut, "cut", to=None)
    change("no count of a set", "conditions", some, "count", drop=True)
    change("values that are not around", "conditions", cut, "below", to=document["conditions"][cut]["above"])
    change("a threshold on the value above", "conditions", cut, "threshold", to=document["conditions"][cut]["above"])
    change("a condition twice", "conditions", to=[document["conditions"][0], *document["conditions"]])
    change("conditions in another order", "conditions", to=document["conditions"][::-1])
    larger = [label for label in everything if label not in document["conditions"][some]["categories"]]
    change("the larger side of a split", "conditions", some, "categories", to=larger)
    change("another objective", "certificate", "objective", to=document["certificate"]["objective"] + 0.01)
    change("a bound above the objective", "certificate", "lower_bound", to=document["certificate"]["objective"] + 0.01)
    change("a proof without its bound", "certificate", "lower_bound", to=document["certificate"]["objective"] - 0.01)
    change("another gap", "certificate", "gap", to=0.5)
    change("a leaf that costs less than nothing", "certificate", "regularization", to=-0.1)
    change("a tree that is too deep for its proof", "certificate", "max_depth", to=1)
    change("no depth", "certificate", "max_depth", drop=True)
    for name in document["provenance"]:
        change(f"a provenance without {name}", "provenance", name, drop=True)
        change(f"a provenance whose {name} is a list of lists", "provenance", name, to=[[]])
    change("other rows", "provenance", "rows", to=document["provenance"]["rows"] + 1)
    change("another weight", "provenance", "weight", to=document["provenance"]["weight"] * 2)
    change("another target", "provenance", "fit_to", to="both")
    change("a fidelity above 1", "provenance", "fidelity", to=1.01)
    change("an accuracy below 0", "provenance", "accuracy", to=-0.01)
    change("an unknown status", "provenance", "counterfactuals", to={"perfect": 1})
    change("less than no counterfactuals", "provenance", "counterfactuals", to={"optimal": -1})
    change("a version that is a number", "provenance", "libraries", "numpy", to=2)
    change("a rule that is a number", "provenance", "rules", to=[1])
    change("too many rules", "provenance", "rules", to=["rule"] * 201)
    change("a long rule", "provenance", "rules", to=["r" * 201])
    change("a class that is a number", "provenance", "tree", "class", to=1)
    change("a long class", "provenance", "tree", "class", to="c" * 201)
    change("a parameter that is a list", "provenance", "tree", "parameters", "max_depth", to=[3])
    change("a long parameter", "provenance", "tree", "parameters", "max_depth", to="3" * 201)
    change("a long name of a parameter", "provenance", "tree", "parameters", to={"m" * 201: 3})
    change("too many parameters", "provenance", "tree", "parameters", to={str(n): n for n in range(201)})
    change("a selection that is a text", "provenance", "selection", to="all")
    return found
