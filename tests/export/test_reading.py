"""The forms for people: text and Markdown."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import fcca.export
from export.documents import chain
from export.trees import N_TREES, fitted
from fcca import FCCAClassifier, FCCADiscretizer
from fcca.export import EXPORTERS, from_json, to_markdown, to_text
from mixed_tables import holds, loans, rule_holds


@pytest.fixture(scope="module")
def lender():
    X, y = loans()
    return FCCAClassifier(FCCADiscretizer(RandomForestClassifier(20, max_depth=3, random_state=0))).fit(X, y), X


def test_the_lines_of_the_text_lead_to_the_classes_of_the_tree(lender):
    classifier, X = lender
    lines = to_text(classifier).splitlines()
    assert re.fullmatch(r"Decision tree, depth \d, \d leaves, proven optimal", lines[0])
    reached = np.zeros(len(X), dtype=int)
    path: list[str] = []
    for line in lines[1:]:
        depth = (len(line) - len(line.lstrip())) // 4
        said, _, leaf = line.strip().partition("  → ")
        path = [*path[:depth], said]
        if leaf:
            rows = rule_holds(" and ".join(path) + " → ", X)
            reached += rows
            answer, share, n_rows = re.fullmatch(r"(.+)  \(([\d.]+) of ([\d,]+) rows?\)", leaf).groups()
            assert set(classifier.predict(X[rows])) == {answer}
            assert int(n_rows) == rows.sum()
            shares = classifier.structure_.share[classifier.apply(X[rows])]
            assert f"{shares.max():.2f}" == share
    assert (reached == 1).all()
    assert holds("income is missing", X).any()


def test_the_rules_of_the_markdown_are_those_of_the_classifier(lender):
    classifier, _ = lender
    lines = [line for line in to_markdown(classifier).splitlines() if line.startswith("| `")]
    said = [line.split(" | ")[0].strip("| ").replace("`", "") for line in lines]
    assert said == [rule.split(" → ")[0] for rule in classifier.rules()]


def test_names_cannot_break_a_line_or_a_cell():
    for seed in range(N_TREES):
        classifier, _ = fitted(seed)
        n_leaves = classifier.structure_.n_leaves
        text, markdown = to_text(classifier), to_markdown(classifier)
        assert sum("→" in line for line in text.splitlines()) == n_leaves
        table = markdown.split("|---|---|---:|---:|\n")[1].splitlines()
        assert len(table) == n_leaves
        for line in table:
            cells = re.split(r"(?<!\\)\|", line)
            assert len(cells) == 6, line
            without_code = re.sub(r"(`+) ?.+? ?\1(?!`)", "", line)
            assert not re.search(r"[<`]", without_code), line
        assert "\u202e" not in text + markdown


def test_a_tree_of_one_leaf_is_written():
    tree = next(fitted(seed)[0] for seed in range(N_TREES) if fitted(seed)[0].structure_.n_leaves == 1)
    assert to_text(tree).splitlines()[0].startswith("Decision tree, depth 0, 1 leaf, ")
    assert "| always |" in to_markdown(tree)


def test_the_deepest_tree_can_be_written():
    tree = from_json(chain(200))
    assert len(to_text(tree).splitlines()) == 1 + 2 * 200
    assert to_markdown(tree).count("\n") == 201 + 4


def test_a_tree_without_proof_states_its_gap(lender):
    from dataclasses import replace

    tree = from_json(EXPORTERS["json"].write(lender[0]))
    far = replace(tree, certificate=replace(tree.certificate, optimal=False, objective=0.1031, lower_bound=0.1))
    assert "within 3.1 % of optimal" in to_text(far)
    assert "within 3.1 % of optimal" in to_markdown(far)


def test_exporters_are_public_functions():
    for exporter in EXPORTERS.values():
        assert exporter.function in fcca.export.__all__
        assert exporter.function in dir(fcca.export)
    with pytest.raises(AttributeError, match="to_stone"):
        _ = fcca.export.to_stone
