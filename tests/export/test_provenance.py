"""The provenance of a tree is plain, short, the same in every process, and has no dates or paths."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from fcca import FCCAClassifier, FCCADiscretizer, GTREDiscretizer, OptimalTreeClassifier
from fcca.constraints import Immutable, MaxChanges
from fcca.export import from_json, to_json
from fcca.export._provenance import LONGEST_TEXT, MOST_ENTRIES, _in_text, _part, plain_parameter, provenance_of
from fcca.selection import OptimalSelection
from mixed_tables import loans
from real_data import imported


@pytest.fixture(scope="module")
def table():
    X, y = loans(200)
    return X[["income", "age"]].fillna(2.0), (y == "good").astype(int)


def boosting(**parameters):
    return GradientBoostingClassifier(n_estimators=6, max_depth=1, random_state=0, **parameters)


def test_it_names_all_parts_with_their_parameters(table):
    X, y = table
    model = make_pipeline(StandardScaler(), boosting())
    discretizer = FCCADiscretizer(model, Q=0.2, constraints=[Immutable("age"), MaxChanges(1)])
    tree = OptimalTreeClassifier(max_depth=2, regularization=0.02)
    classifier = FCCAClassifier(discretizer, tree, n_thresholds=2).fit(X, y, sample_weight=np.full(len(y), 2.0))
    found = from_json(to_json(classifier)).provenance
    assert found == provenance_of(classifier)
    assert found.libraries == {"numpy": np.__version__, "scikit-learn": sklearn.__version__}
    assert found.black_box.name == "sklearn.pipeline.Pipeline"
    assert found.black_box.parameters["gradientboostingclassifier"] == "sklearn.ensemble.GradientBoostingClassifier"
    assert found.black_box.parameters["gradientboostingclassifier__n_estimators"] == 6
    assert (found.discretizer.name, found.discretizer.parameters["Q"]) == ("fcca.discretizers.FCCADiscretizer", 0.2)
    assert (found.tree.name, found.tree.parameters["max_depth"]) == ("fcca.trees.OptimalTreeClassifier", 2)
    assert (found.selection.name, found.selection.parameters["n_thresholds"]) == ("fcca.selection.OptimalSelection", 2)
    assert found.rules == ("Immutable('age')", "MaxChanges(1)")
    assert (found.fit_to, found.n_rows, found.weight) == ("mixture", len(y), 2.0 * len(y))
    assert found.statuses == classifier.discretizer_.statuses_
    assert found.fidelity == classifier.fidelity_
    assert found.accuracy == pytest.approx(classifier.score(X, y))


def test_unknown_entries_are_none(table):
    X, y = table
    for classifier in (
        FCCAClassifier(GTREDiscretizer(boosting()), fit_to="target"),
        FCCAClassifier(FCCADiscretizer(boosting()), OptimalTreeClassifier(class_weight="balanced")),
    ):
        found = provenance_of(classifier.fit(X, y))
        assert found.accuracy is None
        assert found.selection is None
        assert (found.statuses is None) == isinstance(classifier.discretizer, GTREDiscretizer)


def test_parameters_without_effect_are_left_out(table):
    X, y = table
    plain = FCCAClassifier(FCCADiscretizer(boosting()), OptimalTreeClassifier(max_depth=2)).fit(X, y)
    tree = OptimalTreeClassifier(max_depth=2, time_limit=600)
    discretizer = FCCADiscretizer(FrozenEstimator(boosting(verbose=0).fit(X, y)), n_jobs=2, time_limit_per_row=60)
    assert to_json(FCCAClassifier(discretizer, tree).fit(X, y)) == to_json(plain)
    cached = make_pipeline(StandardScaler(), boosting(), memory=None)
    named = provenance_of(FCCAClassifier(FCCADiscretizer(cached)).fit(X, y)).black_box.parameters
    assert not {name.rpartition("__")[2] for name in named} & {"memory", "n_jobs", "verbose", "time_limit"}


def test_the_libraries_of_the_black_box_are_named(table):
    X, y = table
    xgboost = imported("xgboost")
    model = make_pipeline(StandardScaler(), xgboost.XGBClassifier(n_estimators=3, n_jobs=1))
    found = provenance_of(FCCAClassifier(FCCADiscretizer(model)).fit(X, y))
    assert found.libraries["xgboost"] == xgboost.__version__
    assert found.black_box.parameters["xgbclassifier__missing"] == "nan"


@pytest.mark.slow
def test_every_process_writes_the_same():
    code = (
        "from sklearn.datasets import load_iris; from sklearn.ensemble import RandomForestClassifier\n"
        "from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier; from fcca.export import to_json\n"
        "from fcca.selection import OptimalSelection\n"
        "X, y = load_iris(return_X_y=True)\n"
        "model = RandomForestClassifier(4, max_depth=2, random_state=0, class_weight={0: 1, 1: 1, 2: 2})\n"
        "chosen = OptimalSelection(3, forbid={'x0', 'x1'})\n"
        "print(to_json(FCCAClassifier(FCCADiscretizer(model, selection=chosen)).fit(X, y)))\n"
    )
    written = set()
    for seed in ("0", "1"):
        environment = {"PYTHONHASHSEED": seed, "PATH": "", "HOME": str(Path.home())}
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        written.add(result.stdout)
    assert len(written) == 1
    chosen = json.loads(written.pop())["provenance"]["selection"]
    assert chosen["parameters"]["forbid"] == "{'x0', 'x1'}"


class Odd(BaseEstimator):
    """Takes anything."""

    def __init__(self, given=None):
        self.given = given


def test_hostile_and_huge_values_become_short_texts():
    nested: list[object] = []
    nested.append(nested)
    values = [
        "x" * 10**6, ["x" * 10**6] * 1000, dict.fromkeys(range(1000), "y" * 999), set(range(5000)), {"b", "a"}, nested,
        10**5000, -(2**63), 2**62, float("nan"), -np.inf, np.float32(0.5), np.zeros((3, 10**6), dtype=np.int8), b"\xff",
        len, print, Odd, Odd(), lambda x: x, iter([1]), np.array([1, "a"], dtype=object), frozenset({3, 1, 2}), 1 + 2j, None,
        True, np.bool_(True), "\ud800\x00\u202e", Path("/home/somebody/secret"), np.random.RandomState(0), range(9),
    ]  # fmt: skip
    for value in values:
        plain = plain_parameter(value)
        assert plain is None or type(plain) in (bool, int, float, str)
        assert len(str(plain)) <= LONGEST_TEXT
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert "0x" not in str(plain)
        assert "secret" not in str(plain)
    assert plain_parameter({"b", "a"}) == "{'a', 'b'}"
    assert plain_parameter((1, "a", None)) == "(1, 'a', None)"
    assert plain_parameter(list(range(30))).endswith("18, 19, …]")
    assert plain_parameter(float("nan")) == "nan"
    assert plain_parameter(10**5000) == "a whole number of 16,610 bits"
    assert plain_parameter([[[[1]]]]) == "[[[list of 1]]]"
    assert _in_text(np.int64(3)) == "3"


def test_the_number_of_parameters_is_limited():
    part = _part(Odd(), {f"{n:04}": n for n in range(1000)} | {"p" * 999: 1})
    assert list(part.parameters) == [f"{n:04}" for n in range(MOST_ENTRIES)]


def test_documents_with_hostile_parameters_are_read(table):
    X, y = table
    steps = make_pipeline(FunctionTransformer(kw_args={"x" * 500: ["</script>", "\ud800", "\u202e"]}), StandardScaler())
    classifier = FCCAClassifier(FCCADiscretizer(boosting())).fit(X, y)
    classifier.discretizer_.estimator_ = make_pipeline(*steps, classifier.discretizer_.estimator_, Odd(10**5000))
    classifier.discretizer_.selection = OptimalSelection(1, forbid=["\x00" * 10**5])
    text = to_json(classifier)
    text.encode()
    assert to_json(from_json(text)) == text
    assert len(text) < 40_000


def test_seed_objects_are_described(table):
    X, y = table
    model = RandomForestClassifier(3, max_depth=2, random_state=np.random.RandomState(0))
    found = provenance_of(FCCAClassifier(FCCADiscretizer(model)).fit(X, y)).black_box.parameters["random_state"]
    assert found == "numpy.random.mtrand.RandomState"
