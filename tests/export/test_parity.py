"""Every exporter whose output can be run or read back predicts exactly the same as the classifier."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from export.onnx_runner import answers_of
from export.rules_reader import apply_rules
from export.sql_engines import DuckDB
from export.trees import N_TREES, as_dictionaries, fitted, hard_rows
from fcca.export import EXPORTERS, from_json
from real_data import imported

pytestmark = pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning")

N_ROWS = 1000


def run_python(text: str, X: pd.DataFrame):
    module: dict[str, object] = {}
    exec(compile(text, "tree.py", "exec"), module)
    rows = as_dictionaries(X)
    shares = [module["predict_proba"](row) for row in rows]
    return [module["predict"](row) for row in rows], [list(share.values()) for share in shares]


def run_json(text: str, X: pd.DataFrame):
    tree = from_json(text)
    return tree.predict(X).tolist(), tree.predict_proba(X).tolist()


def run_onnx(model: bytes, X: pd.DataFrame):
    label, probabilities, leaf = answers_of(model, X)
    assert (leaf >= 0).all()
    return label.tolist(), probabilities.tolist()


def run_rules(text: str, X: pd.DataFrame):
    rules, refused = apply_rules(text, X)
    assert not refused.any()
    return [rule["class"] for rule in rules], [rule["probabilities"] for rule in rules]


def run_sql(text: str, X: pd.DataFrame):
    database = DuckDB()
    database.load(pa.Table.from_pandas(X.assign(**{name: X[name].astype(object) for name in X.columns[3:]})))
    answers = database.answers(text)["prediction"]
    database.close()
    return answers, None  # test_sql asks for shares, too


#: How a text of each exporter is run: a text and rows in, answers and shares out; None where it was not asked for them.
RUNNERS = {"python": run_python, "json": run_json, "onnx": run_onnx, "rules": run_rules, "sql": run_sql}
#: Libraries that some exporters need, or the running of what they write.
LIBRARIES = {"onnx": ("onnx", "onnxruntime"), "sql": ("sqlglot", "duckdb")}


@pytest.fixture
def name(request) -> str:
    for library in LIBRARIES.get(request.param, ()):
        imported(library)
    return request.param


def test_every_exporter_that_predicts_has_a_runner():
    assert set(RUNNERS) == {name for name, exporter in EXPORTERS.items() if exporter.answers}


@pytest.mark.parametrize("name", RUNNERS, indirect=True)
def test_all_predictions_are_equal(name):
    kinds = {"cut": 0, "set": 0, "missing": 0, "leaf": 0}
    on_cuts = 0
    for seed in range(N_TREES):
        classifier, X = fitted(seed)
        rows = hard_rows(classifier, X, N_ROWS, seed)
        answers, shares = RUNNERS[name](EXPORTERS[name].write(classifier), rows)
        assert answers == classifier.predict(rows).tolist()
        assert shares == classifier.predict_proba(rows).tolist() or (name == "sql" and shares is None)
        nodes = classifier.structure_
        kinds["set"] += len(nodes.categories)
        kinds["missing"] += len(nodes.asks_missing)
        kinds["cut"] += int(np.isfinite(nodes.threshold).sum())
        kinds["leaf"] += nodes.n_leaves == 1
        for node in np.flatnonzero(np.isfinite(nodes.threshold)):
            on_cuts += int((rows.iloc[:, nodes.feature[node]] == nodes.threshold[node]).sum())
    assert min(kinds.values()) > 0, kinds  # every kind of node was there
    assert on_cuts > 10 * N_ROWS


@pytest.mark.parametrize("name", EXPORTERS, indirect=True)
def test_a_tree_read_back_is_written_identically(name):
    for seed in range(12):
        classifier, _ = fitted(seed)
        tree = from_json(EXPORTERS["json"].write(classifier))
        assert EXPORTERS[name].write(tree) == EXPORTERS[name].write(classifier)
