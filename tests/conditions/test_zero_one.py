"""A column of zeros and ones is asked as ``x = 1``, in every text."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fcca import FCCAClassifier, FCCADiscretizer, GTREDiscretizer, MidpointDiscretizer, ThresholdTable, report
from fcca.export import from_json, to_json, to_markdown, to_text

N = 300


def smokers(missing: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows whose label depends on a column of zeros and ones and on a number."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"smoker": rng.integers(0, 2, N).astype(float), "age": rng.integers(20, 80, N).astype(float)})
    if missing:
        X.loc[rng.random(N) < 0.1, "smoker"] = np.nan
    return X, np.where((X["smoker"] == 1) & (X["age"] > 50), "ill", "well")


@pytest.mark.parametrize("discretizer", [FCCADiscretizer(), GTREDiscretizer(), MidpointDiscretizer()], ids=type)
def test_every_discretizer_names_the_condition(discretizer):
    X, y = smokers()
    names = discretizer.fit(X, y).get_feature_names_out().tolist()
    assert "smoker = 1" in names
    assert not [name for name in names if name.startswith("smoker >")]


@pytest.mark.parametrize("missing", [False, True])
def test_all_texts_of_the_tree_agree(missing):
    X, y = smokers(missing)
    classifier = FCCAClassifier().fit(X, y)
    page = report.page(classifier)
    for text in (to_text(classifier), to_markdown(classifier), page):
        assert "smoker = 1" in text
        assert ("smoker = 0 or missing" if missing else "smoker = 0") in text
        assert "smoker >" not in text
    loaded = from_json(to_json(classifier))
    assert to_text(loaded) == to_text(classifier)
    assert to_json(loaded) == to_json(classifier)


@pytest.mark.parametrize("values", [(0, 2), (1, 2), (0, 1, 0.5), (0, 1, 2), (-1, 1)])
def test_other_columns_keep_their_cuts(values):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.choice(np.array(values, dtype=float), N)})
    found = FCCADiscretizer().fit(X, X["x"] > np.mean(values))
    assert all(name.startswith("x > ") for name in found.get_feature_names_out())


def test_unrounded_thresholds_keep_the_value_of_the_black_box():
    X, y = smokers()
    names = FCCADiscretizer(round_thresholds=False).fit(X, y).get_feature_names_out()
    assert any(name.startswith("smoker > 0.50000") for name in names)


def test_the_name_survives_a_file(tmp_path):
    X, y = smokers()
    table = FCCADiscretizer().fit(X, y).thresholds_
    assert ThresholdTable.from_json(table.to_json()).names() == table.names()
    assert (table.binarize(X)[:, table.names().index("smoker = 1")] == X["smoker"]).all()
