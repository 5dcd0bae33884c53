"""Three and six classes: counterfactuals by brute force and by HiGHS, rates by definition, trees by pystreed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fcca import CounterfactualExplainer, FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem
from fcca.metrics import compression_rate, inconsistency_rate
from oracles import brute_force
from real_data import data_file, imported

DATA = ["ctg3", "satimage6"]
SMALL = {
    "stumps": lambda: GradientBoostingClassifier(n_estimators=6, max_depth=1, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0),
    "forest": lambda: RandomForestClassifier(n_estimators=4, max_depth=3, random_state=0),
}
WHOLE = {
    "stumps": lambda: GradientBoostingClassifier(n_estimators=20, max_depth=1, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=10, max_depth=3, random_state=0),
    "forest": lambda: RandomForestClassifier(n_estimators=8, max_depth=4, random_state=0),
    "large forest": lambda: RandomForestClassifier(n_estimators=20, max_depth=4, random_state=0),
    "one against the rest": lambda: OneVsRestClassifier(GradientBoostingClassifier(n_estimators=10, random_state=0)),
}
SLOW_FOR_HIGHS = {"large forest"}


def table(name, n_rows=None, columns=None):
    frame = pd.read_csv(data_file(name)).sample(frac=1, random_state=0)
    X, y = frame.iloc[:n_rows, :-1], frame["label"].iloc[:n_rows].to_numpy()
    return (X if columns is None else X.iloc[:, columns]), y


def engine_for(model, X):
    engine = CounterfactualEngine(model, CounterfactualProblem())
    engine.observe(X)
    return engine


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("kind", SMALL)
def test_no_cheaper_change_among_all_combinations(name, kind):
    X, y = table(name, columns=[4, 7, 9, 17])
    X = X.to_numpy(dtype=float)
    model = SMALL[kind]().fit(X, y)
    engine = engine_for(model, X)
    own = engine.class_index(engine.predict(X))
    rows = np.arange(25)
    names = [str(j) for j in range(X.shape[1])]
    to_any = engine.solve(X, rows, own[rows], feature_names=names)
    for i in rows:
        least = brute_force.least_cost(model, X, X[i], engine.problem)
        assert to_any.cost[i] == pytest.approx(least, abs=1e-9)
    for target in range(len(model.classes_)):
        asked = np.flatnonzero(own != target)[:8]
        wanted = np.full(len(asked), target, dtype=np.int32)
        to_one = engine.solve(X, asked, own[asked], feature_names=names, target=wanted)
        for k, i in enumerate(asked):
            least = brute_force.least_cost(model, X, X[i], engine.problem, target=target)
            assert to_one.cost[k] == pytest.approx(least, abs=1e-9)
            assert to_one.status[k] == ("infeasible" if least == np.inf else "optimal")


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.verify if kind in SLOW_FOR_HIGHS else ()) for kind in WHOLE]
)
def test_all_columns_cost_what_highs_says(name, kind):
    X, y = table(name, n_rows=1500)
    model = WHOLE[kind]().fit(X, y)
    X = X.to_numpy(dtype=float)
    rows = np.arange(3)
    found = {}
    for method in ("search", "milp"):
        engine = CounterfactualEngine(model, CounterfactualProblem(), method=method)
        engine.observe(X)
        own = engine.class_index(engine.predict(X))
        found[method] = engine.solve(X, rows, own[rows], feature_names=[str(j) for j in range(X.shape[1])])
    assert (found["search"].status == "optimal").all()
    assert found["search"].cost == pytest.approx(found["milp"].cost, abs=1e-6)


@pytest.mark.parametrize("name", DATA)
def test_the_discretizer_counts_and_the_rates_are_those_of_their_definition(name):
    X, y = table(name, n_rows=1500)
    model = GradientBoostingClassifier(n_estimators=30, max_depth=1, random_state=0)
    discretizer = FCCADiscretizer(model, Q=0.5).fit(X, y)
    found = discretizer.counterfactuals_
    assert set(found.status) == {"optimal"}
    # Every row that the classifier gets right is asked, whatever its confidence: with many classes p0 starts at 0.
    right = np.flatnonzero(discretizer.estimator_.predict(X) == y)
    np.testing.assert_array_equal(np.sort(found.rows), right)
    changed = discretizer.estimator_.predict(pd.DataFrame(found.apply(X.to_numpy(dtype=float)), columns=X.columns))
    assert (changed != y[found.rows]).all()
    np.testing.assert_array_equal(changed, found.target)
    np.testing.assert_array_equal(discretizer.all_thresholds_.count.sum(), len(found.moves.point))

    B = pd.DataFrame(discretizer.transform(X))
    groups = pd.Series(y).groupby([B[column] for column in B])
    assert compression_rate(B) == pytest.approx(1 - groups.ngroups / len(X))
    minority = groups.size() - groups.agg(lambda labels: labels.value_counts().iloc[0])
    assert inconsistency_rate(B, y) == pytest.approx(minority.sum() / len(X))


@pytest.mark.parametrize("name", DATA)
def test_the_tree_is_as_good_as_pystreeds(name):
    pystreed = imported("pystreed")
    X, y = table(name, n_rows=2000)
    discretizer = FCCADiscretizer(GradientBoostingClassifier(n_estimators=30, max_depth=1, random_state=0), Q=0.7)
    B = discretizer.fit_transform(X, y)
    tree = OptimalTreeClassifier(max_depth=3, regularization=0.001, criterion="error").fit(B, y)
    assert tree.is_optimal_
    peer = pystreed.STreeDClassifier("cost-complex-accuracy", max_depth=3, cost_complexity=0.001).fit(B.astype(np.int32), y)
    leaves = peer.get_tree().get_num_branching_nodes() + 1
    theirs = (peer.predict(B.astype(np.int32)) != y).mean() + 0.001 * leaves
    assert tree.objective_ == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("name", DATA)
def test_the_whole_way_from_the_table_to_words(name):
    X, y = table(name, n_rows=1500)
    classifier = FCCAClassifier(
        discretizer=FCCADiscretizer(GradientBoostingClassifier(n_estimators=30, max_depth=1, random_state=0), Q=0.7)
    ).fit(X, y)
    assert set(classifier.predict(X)) <= set(y)
    assert classifier.predict_proba(X).shape == (len(X), len(np.unique(y)))
    assert classifier.score(X, y) > 0.6
    explainer = CounterfactualExplainer(classifier.discretizer_.estimator_, X)
    target = np.unique(y)[-1]
    explained = explainer.explain(X.iloc[:20], target=target)
    solved = explained.status == "optimal"
    assert solved.any()
    changed = pd.DataFrame(explained.x, columns=X.columns)[solved]
    np.testing.assert_array_equal(explainer.classifier.predict(changed), target)


@pytest.mark.parametrize("name", DATA)
def test_linear_models_of_many_classes(name):
    X, y = table(name, n_rows=600, columns=range(8))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(X, y)
    explained = CounterfactualExplainer(model, X).explain(X.iloc[:10])
    assert (explained.status == "optimal").all()
    assert (model.predict(pd.DataFrame(explained.x, columns=X.columns)) != model.predict(X.iloc[:10])).all()
