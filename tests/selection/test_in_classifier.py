"""FCCAClassifier on few thresholds: a number of them, the best number, other selections, and the path over numbers."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold

from fcca import FCCAClassifier, FCCADiscretizer, GTREDiscretizer, MidpointDiscretizer, OptimalTreeClassifier
from fcca.classifier import choose_granularity, choose_n_thresholds
from fcca.exceptions import InvalidInputError, UnknownValuesWarning
from fcca.selection import OptimalSelection


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :10], np.array(["malignant", "benign"])[y]


@pytest.fixture(scope="module")
def frozen(data):
    return FrozenEstimator(GradientBoostingClassifier(max_depth=1, n_estimators=40, random_state=0).fit(*data))


@pytest.fixture(scope="module")
def classifier(frozen):
    return FCCAClassifier(FCCADiscretizer(frozen), OptimalTreeClassifier(max_depth=2, regularization=0.01))


@pytest.fixture(scope="module")
def fitted(classifier, data):
    return clone(classifier).fit(*data)


@pytest.mark.parametrize("fit_to", ["labels", "target"])
def test_a_number_is_the_best_so_many_for_what_the_tree_learns(classifier, frozen, data, fit_to):
    X, y = data
    few = clone(classifier).set_params(n_thresholds=3, fit_to=fit_to).fit(X, y)
    assert few.n_thresholds_ == 3
    learned = y if fit_to == "labels" else frozen.predict(X)
    best = OptimalSelection(3).select(few.discretizer_.all_thresholds_, X, learned)
    assert few.discretizer_.thresholds_ == best.thresholds
    assert few.discretizer_.selection_.is_optimal
    assert set(few.rules()) == set(pickle.loads(pickle.dumps(few)).rules())
    assert not hasattr(few, "selection_path_")


def test_without_a_number_all_thresholds_are_given(fitted):
    assert fitted.n_thresholds_ == len(fitted.discretizer_.all_thresholds_)


def test_auto_is_the_smallest_number_no_worse_than_all(classifier, data):
    X, y = data
    auto = clone(classifier).set_params(n_thresholds="auto").fit(X, y)
    path = auto.selection_path_
    assert path["n_thresholds"].tolist() == list(range(1, 17))
    enough = path[(path["accuracy"] >= path["accuracy_all"]) & (path["log_loss"] <= path["log_loss_all"])]
    enough = enough[enough["auc"] >= enough["auc_all"]]
    n = enough["n_thresholds"].min() if len(enough) else None
    again = clone(classifier).set_params(n_thresholds=n).fit(X, y)
    assert auto.n_thresholds_ == again.n_thresholds_
    assert auto.rules() == again.rules()
    auto.set_params(n_thresholds=2).fit(X, y)
    assert not hasattr(auto, "selection_path_")


def test_another_selection_is_what_a_new_fit_would_give(classifier, fitted, data):
    selection = OptimalSelection(max_inconsistency=0.07)
    other = fitted.at_selection(selection)
    anew = clone(classifier).set_params(discretizer__selection=selection).fit(*data)
    assert other.rules() == anew.rules()
    assert other.fidelity_ == anew.fidelity_
    assert other.discretizer_.thresholds_ == anew.discretizer_.thresholds_
    assert other.n_thresholds_ == anew.n_thresholds_ < fitted.n_thresholds_
    assert other.get_params()["discretizer__selection__max_inconsistency"] == 0.07
    # The first one stays as it is, and the new one leads back to it.
    assert fitted.discretizer_.thresholds_ == fitted.discretizer_.all_thresholds_
    assert fitted.discretizer_.selection is None
    assert other.at_selection(None).rules() == fitted.rules()


def test_of_a_default_classifier_and_of_one_with_a_number(data):
    X, y = data
    few = FCCAClassifier(n_thresholds=2).fit(X, y)
    other = few.at_selection(OptimalSelection(3))
    assert (other.n_thresholds, other.n_thresholds_) == (None, 3)
    assert clone(other).fit(X, y).rules() == other.rules()
    coarse = few.at_granularity(0.8)
    assert (coarse.n_thresholds, coarse.discretizer.selection) == (None, None)
    assert coarse.rules() == FCCAClassifier(FCCADiscretizer(Q=0.8)).fit(X, y).rules()


def test_weights_and_a_pickle_take_their_rows_again(classifier, data):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    fitted = clone(classifier).fit(X, y, sample_weight=weight)
    anew = clone(classifier).set_params(n_thresholds=3).fit(X, y, sample_weight=weight)
    assert fitted.at_selection(OptimalSelection(3)).rules() == anew.rules()
    loaded = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(InvalidInputError, match="not in memory"):
        loaded.at_selection(OptimalSelection(3))
    assert loaded.at_selection(OptimalSelection(3), X, y, weight).rules() == anew.rules()


def test_on_the_thresholds_of_a_reference_ensemble(frozen, data):
    fitted = FCCAClassifier(GTREDiscretizer(frozen, column_elimination=False)).fit(*data)
    few = fitted.at_selection(OptimalSelection(3, fit_to="target"))
    assert few.n_thresholds_ == 3
    assert few.discretizer_.selection_.candidates == fitted.discretizer_.thresholds_


def test_the_path_is_what_refitting_gives(classifier, data):
    X, y = data
    cv = StratifiedKFold(3)
    proven = {"n_thresholds": [4, 1, 500], "selection": OptimalSelection(), "cv": cv}
    path = classifier.selection_path(X, y, **proven, per_fold=True)
    assert list(path.columns[:2]) == ["n_thresholds", "fold"]
    assert len(path) == 9
    for line in path.itertuples():
        train, test = list(cv.split(X, y))[line.fold]
        refitted = clone(classifier).set_params(n_thresholds=line.n_thresholds).fit(X.iloc[train], y[train])
        assert line.thresholds == refitted.n_thresholds_
        assert line.features == len(refitted.discretizer_.thresholds_.features_used)
        assert line.accuracy == pytest.approx(refitted.score(X.iloc[test], y[test]))
        assert line.fidelity == pytest.approx(refitted.fidelity(X.iloc[test]))
        assert line.inconsistency == pytest.approx(refitted.discretizer_.selection_.inconsistency)
        assert line.leaves == refitted.tree_.n_leaves_
        assert (line.optimal, line.selection_optimal) == (1, 1)
    means = classifier.selection_path(X, y, **proven)
    assert means["n_thresholds"].tolist() == [1, 4, 500]
    first = path[path["n_thresholds"] == 4]["accuracy"]
    line = means[means["n_thresholds"] == 4].iloc[0]
    assert line["accuracy"] == pytest.approx(first.mean())
    assert line["accuracy_se"] == pytest.approx(first.std(ddof=1) / np.sqrt(3))


def test_the_path_computes_all_numbers_of_a_fold_at_once(classifier, data, monkeypatch):
    calls, frontier = [], OptimalSelection.frontier

    def watched(self, table, X, y, k, sample_weight=None):
        calls.append(list(k))
        return frontier(self, table, X, y, k, sample_weight)

    monkeypatch.setattr(OptimalSelection, "frontier", watched)
    classifier.selection_path(*data, n_thresholds=[3, 1], cv=2)
    assert calls == [[1, 3], [1, 3]]


def test_the_path_keeps_to_a_selection(classifier, data):
    limited = OptimalSelection(forbid=["mean concave points"], max_features=1)
    path = classifier.selection_path(*data, n_thresholds=[2], selection=limited, cv=2)
    assert path["features"].tolist() == [1]
    own = clone(classifier).set_params(discretizer__selection=limited)
    assert own.selection_path(*data, n_thresholds=[2], cv=2).equals(path)


def test_ways_to_choose_a_number():
    path = pd.DataFrame(
        {"n_thresholds": [1, 2, 5, 9], "accuracy": [0.8, 0.89, 0.90, 0.90], "accuracy_se": [0.01, 0.01, 0.02, 0.02]}
    )
    assert choose_n_thresholds(path, "one_standard_error") == 2
    assert choose_n_thresholds(path, "best") == 5
    assert choose_n_thresholds(path.assign(accuracy_se=np.nan), "one_standard_error") == 5
    with_all = path.assign(accuracy_all=0.895, log_loss=[0.4, 0.3, 0.3, 0.2], log_loss_all=0.25)
    with_all = with_all.assign(auc=[0.8, 0.9, 0.91, 0.92], auc_all=0.9)
    assert choose_n_thresholds(with_all) == 9
    assert choose_n_thresholds(with_all.assign(log_loss_all=0.3)) == 5
    assert choose_n_thresholds(with_all.assign(log_loss_all=0.3, auc_all=0.92)) == 9
    assert choose_n_thresholds(with_all.assign(accuracy_all=0.91)) is None
    with pytest.raises(InvalidInputError, match="'no_worse', 'best' or 'one_standard_error'"):
        choose_n_thresholds(path, "tradeoff")
    with pytest.raises(InvalidInputError, match="per_fold=False"):
        choose_n_thresholds(path)


def test_contradictory_parameters_are_refused(classifier, fitted, data):
    X, y = data
    with pytest.raises(InvalidInputError, match="also sets the number of thresholds"):
        FCCAClassifier(FCCADiscretizer(selection=OptimalSelection(2)), n_thresholds=3).fit(X, y)
    for n in (0, 2.5, "all"):
        with pytest.raises(ValueError, match="n_thresholds"):
            FCCAClassifier(n_thresholds=n).fit(X, y)
    with pytest.raises(ValueError, match="predict_target"):
        FCCAClassifier(MidpointDiscretizer(), n_thresholds=2).fit(X, y)
    with pytest.raises(InvalidInputError, match="OptimalSelection or None"):
        fitted.at_selection(3)
    with pytest.raises(InvalidInputError, match="at least one number"):
        classifier.selection_path(X, y, n_thresholds=[])
    with pytest.raises(InvalidInputError, match="OptimalSelection or None"):
        classifier.selection_path(X, y, selection=3)
    with pytest.raises(InvalidInputError, match="cannot be split"):
        classifier.selection_path(X.iloc[:30], np.repeat(["a", "b"], 15), cv=20)


def test_a_discretizer_that_cannot_choose_says_so(data, frozen):
    class Other(FCCADiscretizer):
        set_selection = property()

    with pytest.raises(InvalidInputError, match="Other cannot choose"):
        FCCAClassifier(Other(frozen), n_thresholds=2).fit(*data)


def few_rows():
    random = np.random.default_rng(3)
    X = pd.DataFrame({"amount": random.normal(size=120), "kind": random.choice(["a", "b"], 120)})
    return X, np.where(X["amount"] + random.normal(scale=0.3, size=120) > 0, "yes", "no")


def test_a_category_of_a_single_row_does_not_prevent_auto():
    X, y = few_rows()
    X.loc[7, "kind"] = "rare"
    path = FCCAClassifier().selection_path(X, y, n_thresholds=[1, 2])
    assert path["accuracy"].notna().all()
    assert FCCAClassifier().granularity_path(X, y, Q=[0.5])["accuracy"].notna().all()


def test_a_missing_value_in_a_single_row_does_not_prevent_auto():
    X, y = few_rows()
    X.loc[3, "amount"] = np.nan
    assert FCCAClassifier().selection_path(X, y, n_thresholds=[1, 2])["accuracy"].notna().all()


def test_held_out_rows_of_unknown_categories_are_measured():
    X, y = few_rows()
    X["kind"] = np.where(np.arange(120) < 60, "a", "b")
    halves = [(np.arange(60), np.arange(60, 120))]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnknownValuesWarning)
        path = FCCAClassifier().selection_path(X, y, n_thresholds=[1], cv=halves)
    assert path["accuracy"].notna().all()


def test_rows_of_weight_zero_are_in_no_fold():
    X, y = few_rows()
    weight = (np.arange(120) % 3 > 0) * 1.0
    counted = weight > 0
    with_zeros = FCCAClassifier().selection_path(X, y, n_thresholds=[1, 2], sample_weight=weight)
    without = FCCAClassifier().selection_path(X[counted], y[counted], n_thresholds=[1, 2], sample_weight=weight[counted])
    pd.testing.assert_frame_equal(with_zeros, without)


@pytest.mark.parametrize("choose", [choose_n_thresholds, choose_granularity])
def test_a_path_that_cannot_be_chosen_from_is_refused(choose):
    with pytest.raises(InvalidInputError, match="it has no column"):
        choose(pd.DataFrame({"accuracy": [0.9]}))
    columns = ["n_thresholds", "lambda0", "Q", "thresholds", "accuracy", "accuracy_se"]
    columns += ["accuracy_all", "auc", "auc_all", "log_loss", "log_loss_all"]
    with pytest.raises(InvalidInputError, match="no rows"):
        choose(pd.DataFrame(columns=columns))


def test_a_selection_that_does_not_say_how_many_gives_the_limits(frozen, data):
    X, y = data
    limits = OptimalSelection(forbid=["mean texture"], max_nodes=50)
    classifier = FCCAClassifier(FCCADiscretizer(frozen, selection=limits), n_thresholds=3).fit(X, y)
    assert classifier.n_thresholds_ == 3
    assert "mean texture" not in classifier.discretizer_.thresholds_.features_used
    assert limits.n_thresholds is None
