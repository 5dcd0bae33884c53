"""Exported scorecards give exactly the same scores as the scorecard."""

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from export.sql_engines import DuckDB, Postgres, SQLite
from export.trees import as_dictionaries
from fcca import FCCAScorecard
from fcca.exceptions import InvalidInputError
from fcca.export import load, save, scorecard_from_json, scorecard_to_json, scorecard_to_python, scorecard_to_sql
from fcca.export._check_stored import check_stored
from fcca.export._scorecard_to_sql import SCORECARD_ADDITIONS
from fcca.export._sql_options import DIALECTS
from fcca.models.files import damage_as_invalid_input
from fcca.scorecard import Scorecard
from real_data import imported
from scorecard.cards import fitted, hard_rows

pytestmark = pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning")

CASES = [(seed, {"round_points": rounded}) for seed in range(4) for rounded in (True, False)]


def as_arrow(rows: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(rows.assign(purpose=rows["purpose"].astype(object)), preserve_index=False)


@pytest.mark.parametrize("engine", [DuckDB, SQLite, Postgres])
@pytest.mark.parametrize(("seed", "parameters"), CASES)
def test_sql_gives_the_same_scores(seed, parameters, engine):
    imported("sqlglot")
    card, _, _ = fitted(seed, **parameters)
    rows = hard_rows(card, seed)
    database = engine()
    database.load(as_arrow(rows))
    found = database.answers(scorecard_to_sql(card, dialect=engine.__name__.lower(), add=SCORECARD_ADDITIONS))
    database.close()
    assert found["score"] == card.score_points(rows).tolist()
    assert found["log_odds"] == card.decision_function(rows).tolist()
    assert found["prediction"] == card.predict(rows).tolist()
    np.testing.assert_allclose(found["probability"], card.predict_proba(rows)[:, 1], rtol=1e-14)
    points = card.contributions(rows)
    for name in points:
        assert found[f"points_{name}"] == points[name].tolist()


@pytest.mark.parametrize(("seed", "parameters"), CASES)
def test_python_gives_the_same_scores(seed, parameters):
    card, _, _ = fitted(seed, **parameters)
    rows = hard_rows(card, seed)
    module: dict = {}
    exec(compile(scorecard_to_python(card), "scorecard.py", "exec"), module)
    given = as_dictionaries(rows)
    assert [module["score"](row) for row in given] == card.score_points(rows).tolist()
    assert [module["log_odds"](row) for row in given] == card.decision_function(rows).tolist()
    assert [module["predict"](row) for row in given] == card.predict(rows).tolist()
    np.testing.assert_allclose(
        [list(module["predict_proba"](row).values()) for row in given], card.predict_proba(rows), rtol=1e-14
    )
    assert [module["points"](row) for row in given] == card.contributions(rows).to_dict("records")
    with pytest.raises(ValueError, match="Expected a finite number"):
        module["score"](given[0] | {"income": float("inf"), "age": float("inf")})


@pytest.mark.parametrize(("seed", "parameters"), CASES)
def test_a_scorecard_read_back_gives_the_same_scores(seed, parameters):
    card, _, _ = fitted(seed, **parameters)
    rows, text = hard_rows(card, seed), scorecard_to_json(card)
    read = scorecard_from_json(text)
    assert scorecard_to_json(read) == text
    assert read.score_points(rows).tolist() == card.score_points(rows).tolist()
    assert read.predict(rows).tolist() == card.predict(rows).tolist()
    pd.testing.assert_frame_equal(read.table, card.table_)
    pd.testing.assert_frame_equal(read.reasons(rows), card.reasons(rows))
    assert scorecard_to_sql(read) == scorecard_to_sql(card)
    assert scorecard_to_python(read) == scorecard_to_python(card)


@pytest.mark.parametrize("suffix", [".json", ".skops"])
def test_a_saved_scorecard_gives_the_same_scores(suffix, tmp_path):
    if suffix == ".skops":
        imported("skops.io")
    card, _, _ = fitted(0)
    save(card, tmp_path / f"card{suffix}")
    loaded, rows = load(tmp_path / f"card{suffix}"), hard_rows(card, 0)
    assert type(loaded) is (Scorecard if suffix == ".json" else FCCAScorecard)
    assert loaded.score_points(rows).tolist() == card.score_points(rows).tolist()
    assert loaded.predict_proba(rows).tolist() == card.predict_proba(rows).tolist()
    assert scorecard_to_json(loaded) == scorecard_to_json(card)
    if suffix == ".skops":
        pd.testing.assert_frame_equal(loaded.table_, card.table_)
        assert loaded.trends_ == card.trends_
        assert loaded.thresholds_ == card.thresholds_


TAMPERED = {
    "a bin too few": lambda card: vars(card.scorecard_.used[0]).update(coefficient=np.zeros(1)),
    "a scale": lambda card: vars(card.scorecard_).update(pdo=-1.0),
    "no scorecard": lambda card: vars(card).update(scorecard_=7),
    "no thresholds": lambda card: vars(card).update(thresholds_=7),
    "other classes": lambda card: vars(card).update(classes_=np.array(["a", "b"])),
    "other columns": lambda card: vars(card).update(n_features_in_=7),
    "other names": lambda card: vars(card).update(feature_names_in_=np.array(["a", "b", "c"], dtype=object)),
    "unknown trends": lambda card: vars(card).update(trends_={"age": "up"}),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_scorecard_is_refused(name):
    card = pickle.loads(pickle.dumps(fitted(0)[0]))
    check_stored(card)
    TAMPERED[name](card)
    with pytest.raises(InvalidInputError), damage_as_invalid_input(Path("file"), "a file"):
        check_stored(card)


def test_infinite_numbers_give_null():
    imported("sqlglot")
    card, _, _ = fitted(0)
    used = next(name for name in card.scorecard_.features_used if name != "purpose")
    rows = hard_rows(card, 0, 3)
    rows[used] = [np.inf, -np.inf, 1.0]
    database = DuckDB()
    database.load(as_arrow(rows))
    found = database.answers(scorecard_to_sql(card, add=["score", "prediction"]))
    database.close()
    assert (
        [value is None for value in found["score"]]
        == [value is None for value in found["prediction"]]
        == [True, True, False]
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_can_be_written(dialect):
    imported("sqlglot")
    card, _, _ = fitted(0)
    assert "points_" in scorecard_to_sql(card, ("public", "loans"), dialect, add=SCORECARD_ADDITIONS, prefix="p")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"add": "bins"}, "add must be one or more of score, points"),
        ({"prefix": 3}, "The prefix must be a string"),
        ({"dialect": "oracle"}, "The dialect must be one of"),
        ({"add": "points", "prefix": "x"}, None),
    ],
)
def test_wrong_options_are_refused(options, message):
    imported("sqlglot")
    card, _, _ = fitted(0)
    if message is None:
        assert "xpoints_" in scorecard_to_sql(card, **options)
        return
    with pytest.raises(InvalidInputError, match=message):
        scorecard_to_sql(card, **options)


def damages():
    """Entries to replace, and what the error says."""
    yield ("classes",), [1, 2, 3], "must have two classes"
    yield ("favourable",), "other", "must have two classes"
    yield ("pdo",), 0, "'pdo' and 'base_odds' must be above 0"
    yield ("bins", 0, "column"), 7, "is on column 7"
    yield ("bins", 0, "coefficient"), [0.0], "must have a coefficient"
    yield ("bins", 0, "cuts"), [2.0, 1.0], "ascending order"
    yield ("bins", 0, "groups"), [[0]], "must hold each category"
    yield ("bins", 0, "groups"), [[]], "must hold each category"
    yield ("bins", -1, "groups"), [[0, 1, 2, 3, 4], []], "must hold each category"
    yield ("bins", -1, "groups"), [], "must hold each category"
    for pairs in ([[1.0, 2.0], [3.0]], [[1.0]] * 3, [], [[1.0, -2.0]]):
        yield ("bins", 0, "weight"), pairs, "two weights of at least 0"
    yield ("columns",), [], "must have columns"
    yield ("version",), 2, "reads only version 1"


@pytest.mark.parametrize(("path", "value", "message"), list(damages()))
def test_damaged_documents_are_refused(path, value, message):
    card, _, _ = fitted(0)
    document = json.loads(scorecard_to_json(card))
    entry = document
    for name in path[:-1]:
        entry = entry[name]
    entry[path[-1]] = value
    with pytest.raises(InvalidInputError, match=message):
        scorecard_from_json(json.dumps(document))


def test_other_estimators_are_refused():
    with pytest.raises(InvalidInputError, match="Expected a fitted FCCAScorecard or a Scorecard, got str"):
        scorecard_to_python("scorecard")
