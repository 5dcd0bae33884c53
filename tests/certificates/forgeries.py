"""Forged certificates: changes of a document, each with the check and the words that must report it."""

from __future__ import annotations

FORGERIES = {}


def forgery(check, *words, of="gb", **options):
    """Register a change of a document, with the check that must fail and words of its message."""

    def registered(change):
        FORGERIES[change.__name__.replace("_", " ")] = (of, change, check, words, options)
        return change

    return registered


def point_of(document, status="optimal"):
    return document["counterfactuals"]["status"].index(status)


def move_of(document, at):
    row = document["counterfactuals"]["row"][at]
    return document["counterfactuals"]["move_row"].index(row)


def without(document, at):
    """Remove a counterfactual, its moves and its status."""
    found = document["counterfactuals"]
    row = found["row"][at]
    document["statuses"][found["status"][at]] -= 1
    for name in ("row", "target", "status", "cost", "bound"):
        del found[name][at]
    kept = [k for k, of in enumerate(found["move_row"]) if of != row]
    for name in ("move_row", "move_feature", "move_from", "move_to"):
        found[name] = [found[name][k] for k in kept]


def conditions(document):
    return document["thresholds"]["found"]["conditions"]


def leaves(document):
    return [node for node in document["tree"]["nodes"] if node.get("condition") is None]
