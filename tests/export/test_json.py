"""The JSON document is complete, and is checked completely before a tree is built."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from export.documents import chain, damaged
from export.trees import N_TREES, fitted, hard_rows
from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier, ThresholdTable, __version__
from fcca.exceptions import InvalidInputError, UnknownValuesWarning
from fcca.export import _from_json, _to_json, as_distilled, from_json, load, to_json
from mixed_tables import loans

pytestmark = pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning")


@pytest.fixture(scope="module")
def lender():
    X, y = loans()
    X.loc[X["income"].isna(), "age"] = np.nan
    model = RandomForestClassifier(30, max_depth=4, random_state=0)
    return FCCAClassifier(FCCADiscretizer(model), OptimalTreeClassifier(max_depth=4, regularization=0.0)).fit(X, y)


@pytest.fixture(scope="module")
def document(lender):
    found = json.loads(to_json(lender))
    assert {one["kind"] for one in found["conditions"]} == {"cut", "set", "missing"}
    return found


def test_the_document_says_all_of_the_tree(lender, document):
    assert (document["format"], document["version"], document["fcca"]) == ("fcca-tree", 2, __version__)
    assert document["classes"] == lender.classes_.tolist()
    assert [column["name"] for column in document["columns"]] == lender.feature_names_in_.tolist()
    table = lender.discretizer_.thresholds_
    assert [one["kind"] for one in document["conditions"]] == table.kind.tolist()
    assert [one["column"] for one in document["conditions"]] == table.feature.tolist()
    assert [one["count"] for one in document["conditions"]] == table.count.tolist()
    cuts = [one for one in document["conditions"] if one["kind"] == "cut"]
    for name in ("threshold", "cut", "below", "above"):
        assert [one[name] for one in cuts] == getattr(table, name)[table.kind == "cut"].tolist()
    tested = [node["condition"] for node in document["nodes"] if node["condition"] is not None]
    assert tested == lender.tree_.tree_.feature[lender.tree_.tree_.feature >= 0].tolist()
    assert document["columns"][3] == {"name": "grade", "categories": ["low", "mid", "top"], "missing": False}
    assert [node["rows"] for node in document["nodes"]] == lender.structure_.n_rows.tolist()
    assert [node["weight"] for node in document["nodes"]] == lender.structure_.weight.tolist()
    assert document["certificate"]["optimal"] is lender.tree_.is_optimal_
    assert document["certificate"]["objective"] == lender.tree_.objective_


def test_a_tree_survives_a_round_trip():
    for seed in range(N_TREES):
        classifier, _ = fitted(seed)
        text = to_json(classifier)
        tree = from_json(text)
        assert to_json(tree) == text
        assert from_json(text.encode()).rules() == tree.rules() == classifier.rules()


def test_all_conditions_survive_and_make_the_same_columns():
    kinds = set()
    for seed in range(N_TREES):
        classifier, X = fitted(seed)
        tree, discretizer = from_json(to_json(classifier)), classifier.discretizer_
        rows = hard_rows(classifier, X, 200, seed)
        assert tree.transform(rows).tolist() == discretizer.transform(rows).tolist()
        assert tree.get_feature_names_out().tolist() == discretizer.get_feature_names_out().tolist()
        table, expected = tree.thresholds, discretizer.thresholds_
        for name in ("feature", "threshold", "cut", "below", "above", "count"):
            assert np.array_equal(getattr(table, name), getattr(expected, name), equal_nan=True)
        assert (table.codes, table.kind.tolist()) == (expected.codes, expected.kind.tolist())
        assert table == as_distilled(classifier).thresholds
        assert tree.provenance == as_distilled(classifier).provenance
        kinds |= set(table.kind.tolist())
    assert kinds == {"cut", "set", "missing"}


def test_more_conditions_than_the_tree_tests_are_kept(lender):
    tree = from_json(to_json(lender))
    assert len(tree.thresholds) == len(lender.discretizer_.thresholds_) > len(set(lender.tree_.tree_.feature.tolist()))
    X, _ = loans()
    odd = X.assign(age="?")  # of columns without a condition, any value
    if "age" not in tree.thresholds.features_used:
        assert tree.transform(odd).tolist() == tree.transform(X).tolist()
    strange = X.assign(purpose="yacht")
    with pytest.warns(UnknownValuesWarning, match="400 unknown categories in column 'purpose'"):
        found = pd.DataFrame(tree.transform(strange), columns=tree.get_feature_names_out())
    assert not found.filter(like="purpose").to_numpy().any()
    with pytest.raises(InvalidInputError, match="another order"):
        tree.transform(X[["purpose", "income", "age", "grade"]])


def test_names_of_columns_can_be_given_where_there_are_none(lender):
    X, y = load_iris(return_X_y=True)
    classifier = FCCAClassifier(FCCADiscretizer(RandomForestClassifier(5, max_depth=2, random_state=0))).fit(X, y)
    tree, names = from_json(to_json(classifier)), ["a", "b", "c", "d"]
    expected = classifier.discretizer_.get_feature_names_out(names)
    assert tree.get_feature_names_out(names).tolist() == expected.tolist()
    with pytest.raises(InvalidInputError, match="must name the 4 columns"):
        tree.get_feature_names_out(names[:3])
    with pytest.raises(InvalidInputError, match="'income', 'purpose', 'age', 'grade'"):
        from_json(to_json(lender)).get_feature_names_out(names)


def test_a_tree_on_other_thresholds_than_its_own_is_not_written(lender):
    tree = from_json(to_json(lender))
    fewer = replace(tree, thresholds=tree.thresholds.select(np.arange(len(tree.thresholds)) > 0))
    with pytest.raises(InvalidInputError, match="is not one of its"):
        to_json(replace(tree, thresholds=fewer.thresholds.select(np.zeros(len(fewer.thresholds), dtype=bool))))
    endless = replace(tree.thresholds, count=np.full(len(tree.thresholds), np.inf))
    with pytest.raises(InvalidInputError, match="not finite"):
        to_json(replace(tree, thresholds=endless))


def test_trees_too_large_to_be_read_are_not_written(monkeypatch, lender):
    monkeypatch.setattr(_to_json, "LARGEST", 1000)
    with pytest.raises(InvalidInputError, match=r"Keep fewer conditions"):
        to_json(lender)


def test_without_provenance_it_is_read_too(lender):
    tree = replace(from_json(to_json(lender)), provenance=None)
    assert json.loads(to_json(tree))["provenance"] is None
    again = from_json(to_json(tree))
    assert again.provenance is None
    assert again.thresholds == tree.thresholds


def test_names_twice_in_one_object_are_refused(document):
    text = json.dumps(document)
    with pytest.raises(InvalidInputError, match="the name 'classes' occurs twice"):
        from_json(text.replace('"classes":', '"classes": ["a", "b"], "classes":', 1))


def test_columns_without_names_are_matched_by_position():
    X, y = load_iris(return_X_y=True)
    classifier = FCCAClassifier(FCCADiscretizer(RandomForestClassifier(5, max_depth=2, random_state=0))).fit(X, y)
    tree = from_json(to_json(classifier))
    assert tree.predict(X).tolist() == classifier.predict(X).tolist()
    assert tree.rules() == classifier.rules()
    with pytest.raises(InvalidInputError, match="3 column"):
        tree.predict(X[:, :3])


def test_other_columns_are_refused(lender):
    X, _ = loans()
    tree = from_json(to_json(lender))
    with pytest.raises(InvalidInputError, match="another order"):
        tree.predict(X[["purpose", "income", "age", "grade"]])
    with pytest.raises(InvalidInputError, match="salary"):
        tree.predict(X.rename(columns={"income": "salary"}))
    with pytest.raises(FrozenInstanceError):
        tree.classes = ()


def test_sparse_tables_are_refused():
    tree = from_json(chain(1))
    with pytest.raises(InvalidInputError, match="Sparse data was passed"):
        tree.predict(csr_matrix(np.zeros((2, 1))))


@pytest.mark.parametrize("read", [from_json, ThresholdTable.from_json])
def test_documents_are_utf_8_with_or_without_a_mark_and_nothing_else(read, tmp_path):
    text = chain(1) if read is from_json else ThresholdTable.from_list([("é", 6.94)], ["é"]).to_json()
    plain = read(text)
    for given in (text.encode(), text.encode("utf-8-sig"), "\ufeff" + text):
        assert repr(read(given)) == repr(plain)
        (tmp_path / "document.json").write_bytes(given if isinstance(given, bytes) else given.encode())
        assert repr(load(tmp_path / "document.json")) == repr(plain)
    half = text.encode().replace(b'"format"', b'"\xed\xa0\x80": 1, "format"', 1)  # half a pair, as UTF-8 never has it
    for wrong in (*(text.encode(f"utf-{code}") for code in ("16", "16-le", "16-be", "32", "32-le")), half):
        with pytest.raises(InvalidInputError, match="Not a JSON document"):
            read(wrong)
        (tmp_path / "document.json").write_bytes(wrong)
        with pytest.raises(InvalidInputError, match=r"document\.json"):
            load(tmp_path / "document.json")
    with pytest.raises(InvalidInputError, match=r"Not a JSON document in UTF-8: .* at byte"):
        read(half)


def test_the_limit_of_length_also_applies_to_files(monkeypatch, tmp_path):
    (tmp_path / "tree.json").write_text(chain(3))
    monkeypatch.setattr("fcca.export._save_and_load.LARGEST_TREE", 100)
    with pytest.raises(InvalidInputError, match="a tree may have at most 100"):
        load(tmp_path / "tree.json")


def test_a_document_in_a_file_is_parsed_once(monkeypatch, tmp_path):
    real, calls = json.loads, []
    (tmp_path / "tree.json").write_text(chain(3))
    monkeypatch.setattr(json, "loads", lambda *args, **kwargs: (calls.append(args), real(*args, **kwargs))[1])
    load(tmp_path / "tree.json")
    assert len(calls) == 1


def test_columns_without_a_test_may_hold_any_value():
    X, y = loans()
    tree = OptimalTreeClassifier(max_depth=1)
    classifier = FCCAClassifier(FCCADiscretizer(RandomForestClassifier(5, max_depth=2, random_state=0)), tree).fit(X, y)
    read = from_json(to_json(classifier))
    (asked,) = read.asked
    others = [name for j, name in enumerate(X.columns) if j != asked]
    odd = X.assign(**{name: pd.Series(["?"] * len(X), dtype=object) for name in others})
    assert read.predict(odd).tolist() == classifier.predict(X).tolist()


def test_every_damage_is_a_typed_error(document):
    from_json(json.dumps(document))
    cases = damaged(document)
    assert len(cases) > 120
    unnoticed = []
    for what, other in cases.items():
        try:
            from_json(json.dumps(other))
        except InvalidInputError:
            continue
        unnoticed.append(what)
    assert unnoticed == []


def test_a_node_with_two_parents_is_refused():
    document = json.loads(chain(2))
    leaf = {"condition": None, "weight": [1, 0], "rows": 1}
    document["nodes"] = [
        {"condition": 0, "left": 1, "right": 2, "weight": [3, 0], "rows": 3},
        {"condition": 1, "left": 2, "right": 3, "weight": [2, 0], "rows": 2},
        leaf,
        leaf,
    ]
    with pytest.raises(InvalidInputError, match="node 1 has 2 as its left child"):
        from_json(json.dumps(document))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "NaN",
        '{"format": "fcca-tree"',
        "[" * 100_000,
        b"\xff\xfe",
        "\ud800",
        "9" * 5000,
        b"PK\x03\x04",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_other_texts_are_a_typed_error(text):
    with pytest.raises(InvalidInputError):
        from_json(text)


def test_numbers_that_json_does_not_have_are_refused(document):
    text = json.dumps(document).replace('"gap": 0.0', '"gap": NaN')
    assert "NaN" in text
    with pytest.raises(InvalidInputError, match="NaN"):
        from_json(text)


def test_labels_that_are_not_finite_are_refused(document):
    text = json.dumps(document | {"classes": [0, 7.5]}).replace("7.5", "1e400", 1)
    with pytest.raises(InvalidInputError, match="finite"):
        from_json(text)


def test_a_promise_of_huge_nodes_takes_no_memory(document):
    with pytest.raises(InvalidInputError, match="node 0"):
        from_json(json.dumps(document | {"nodes": [0] * 200_000, "classes": list(range(400_000))}))


def test_documents_too_large_are_refused_unread(monkeypatch, document):
    text = json.dumps(document)
    monkeypatch.setattr(_from_json, "LARGEST", len(text) - 1)
    monkeypatch.setattr("fcca.utils._json_documents.json.loads", lambda *args, **kwargs: pytest.fail("it was read"))
    with pytest.raises(InvalidInputError, match="characters"):
        from_json(text)


def test_trees_too_deep_are_refused():
    assert from_json(chain(200)).structure.depth == 200
    with pytest.raises(InvalidInputError, match="201 levels"):
        from_json(chain(201))


def test_a_path_is_not_a_text(tmp_path):
    with pytest.raises(InvalidInputError, match="Path"):
        from_json(tmp_path)
