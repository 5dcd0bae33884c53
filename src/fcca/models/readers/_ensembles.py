"""Read scikit-learn's AdaBoostClassifier, BaggingClassifier and VotingClassifier of trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import has_fit_parameter

from fcca.exceptions import UnsupportedModelError
from fcca.models._labels import aligned
from fcca.models._links import Opposed, Share, Softmax
from fcca.models._model import TreeBlock, TreeEnsemble
from fcca.models._nodes import joined
from fcca.models._registry import check_supported, read_part, unwrapped
from fcca.tables import Column, Columns

Floats = NDArray[np.float64]


def _cannot_average(owner: Any, inner: Any) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{type(owner).__name__} averages the probabilities of {type(unwrapped(inner)).__name__}. This is supported only "
        "for classifiers whose probabilities are averages over leaves of trees: DecisionTreeClassifier, "
        "ExtraTreeClassifier, RandomForestClassifier, ExtraTreesClassifier, and BaggingClassifier of single trees. Use one "
        "of these, or explain the inner classifiers one by one."
    )


def _cannot_vote(owner: Any, inner: Any) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{type(owner).__name__} counts the votes of {type(unwrapped(inner)).__name__}, but only votes of single decision "
        "trees are supported. Use DecisionTreeClassifier or ExtraTreeClassifier"
        + (", or forests with voting='soft'." if hasattr(owner, "voting") else ".")
    )


def _check_averaged(owner: Any, inner: Any) -> None:
    check_supported(inner)
    if not isinstance(
        unwrapped(inner), (DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier)
    ):
        raise _cannot_average(owner, inner)


def _check_voter(owner: Any, inner: Any) -> None:
    check_supported(inner)
    if not isinstance(unwrapped(inner), DecisionTreeClassifier):
        raise _cannot_vote(owner, inner)


def _read_averaged(owner: Any, inner: Any) -> TreeEnsemble:
    """Read ``inner``, whose probabilities must be unweighted averages over leaves of trees.

    Otherwise, raise an error that names ``owner``, the ensemble around ``inner``.
    """
    model = read_part(inner)
    if not isinstance(model, TreeEnsemble) or not isinstance(model.link, Share) or model.n_outputs != len(model.classes):
        raise _cannot_average(owner, inner)
    # Blocks without weights only divide the work between several jobs.
    if any(part.divisor != 1 or part.weight != 1 for part in model.parts):
        raise _cannot_average(owner, inner)
    return model


def _read_votes(owner: Any, inner: Any) -> tuple[TreeEnsemble, NDArray[np.intp]]:
    """Read ``inner``, which must be a single tree.

    Return its model and, for each node, the position of the class that it would predict if it were a leaf. If ``inner`` is
    not a single tree, raise an error that names ``owner``, the ensemble around it.
    """
    model = read_part(inner)
    if not isinstance(model, TreeEnsemble) or len(model.roots) != 1 or model.parts or model.single_precision:
        raise _cannot_vote(owner, inner)
    return model, model.answers((model.base + model.value) / model.divisor)


def _of_one_table(
    estimator: Any, models: Sequence[TreeEnsemble], *, takes_missing: bool = True
) -> tuple[list[TreeEnsemble], Columns | None]:
    """Give the models the same category codes, and describe the columns.

    The names of the columns are those that ``estimator`` was fitted on. With ``takes_missing=False``, no column supports
    missing values. Return the models, and the columns. The columns are None for plain numbers without names.
    """
    models, columns = aligned(models)
    names = getattr(estimator, "feature_names_in_", None)
    if columns is None and names is None:
        return models, None
    known = [Column() for _ in range(models[0].n_features)] if columns is None else list(columns.columns)
    if names is not None:
        known = [replace(column, name=str(name)) for column, name in zip(known, names, strict=True)]
    if not takes_missing:
        known = [replace(column, missing=False) for column in known]
    plain = names is None and not any(column.missing or column.categories is not None or column.name for column in known)
    return models, None if plain else Columns(tuple(known))


def check_adaboost(estimator: Any) -> None:
    """Check before fitting that the inner classifier of AdaBoost is a single tree."""
    if estimator.estimator is not None:
        _check_voter(estimator, estimator.estimator)


def read_adaboost(estimator: Any) -> TreeEnsemble:
    """Convert a fitted AdaBoostClassifier of single trees to a TreeEnsemble.

    Each tree votes for the class that it predicts. The value of a leaf is its vote, multiplied by the weight of the tree.
    """
    classes = estimator.classes_
    n_classes = len(classes)
    trees = []
    for inner, weight in zip(estimator.estimators_, estimator.estimator_weights_, strict=False):
        model, votes = _read_votes(estimator, inner)
        if n_classes == 2:
            # The vote for the second class minus the vote for the first, its negative: exactly twice the weight.
            value = np.where(model.classes[votes] == classes[1], 2 * weight, -2 * weight)[:, None]
        else:
            value = np.where(model.classes[votes][:, None] == classes, weight, -1 / (n_classes - 1) * weight)
        # AdaBoost does not support missing values.
        trees.append(replace(model, value=value, missing_left=None))
    trees, known = _of_one_table(estimator, trees, takes_missing=False)
    return TreeEnsemble(
        classes=classes,
        n_features=estimator.n_features_in_,
        columns=known,
        link=Opposed() if n_classes == 2 else Softmax(1 / (n_classes - 1)),
        base=np.zeros(1 if n_classes == 2 else n_classes),
        divisor=float(estimator.estimator_weights_.sum()),
        **joined(trees).arguments(),
    )


def check_bagging(estimator: Any) -> None:
    """Check before fitting that BaggingClassifier contains trees or forests."""
    if estimator.estimator is not None:
        _check_averaged(estimator, estimator.estimator)


def _bag(model: TreeEnsemble, columns: NDArray[np.integer[Any]], estimator: Any) -> TreeEnsemble:
    """Extend the model of one classifier inside BaggingClassifier to all columns and classes.

    ``estimator`` is the BaggingClassifier. The inner classifier may have been fitted on some columns and
    classes only. ``columns`` are the positions of these columns in the table.
    """
    value = np.zeros((len(model.value), len(estimator.classes_)))
    # The labels of the inner classifiers are positions in the classes of the ensemble.
    value[:, np.asarray(model.classes, dtype=np.intp)] = model.value
    feature = np.where(model.feature < 0, -1, np.asarray(columns)[model.feature]).astype(np.int32)
    known = None
    if model.columns is not None:
        # Columns outside of the bag may have missing values. A column that occurs twice has the same values.
        found = dict(zip(np.asarray(columns).tolist(), model.columns.columns, strict=True))
        known = Columns(tuple(found.get(j, Column(missing=True)) for j in range(estimator.n_features_in_)))
    return replace(model, value=value, feature=feature, n_features=estimator.n_features_in_, columns=known)


def _sizes_of_jobs(n: int, n_jobs: int | None) -> list[int]:
    jobs = min(effective_n_jobs(n_jobs), n)
    return [n // jobs + (job < n % jobs) for job in range(jobs)]


def read_bagging(estimator: Any) -> TreeEnsemble:
    """Convert a fitted BaggingClassifier of trees or forests to a TreeEnsemble.

    Each tree or forest may use only some of the columns.
    """
    bags = [
        _bag(_read_averaged(estimator, inner), columns, estimator)
        for inner, columns in zip(estimator.estimators_, estimator.estimators_features_, strict=True)
    ]
    bags, known = _of_one_table(estimator, bags)
    if all(len(bag.roots) == 1 for bag in bags):
        sizes = _sizes_of_jobs(len(bags), estimator.n_jobs)
        # predict_proba sums the trees of each job, then the sums of the jobs, and rounds accordingly.
        parts = tuple(TreeBlock(size, 1.0, 1.0) for size in sizes) if len(sizes) > 1 else ()
    else:
        parts = tuple(TreeBlock(len(bag.roots), bag.divisor, 1.0) for bag in bags)
    return TreeEnsemble(
        classes=estimator.classes_,
        n_features=estimator.n_features_in_,
        columns=known,
        link=Share(),
        base=np.zeros(len(estimator.classes_)),
        divisor=float(estimator.n_estimators),
        parts=parts,
        **joined(bags).arguments(),
    )


def _voters(estimator: Any) -> list[Any]:
    return [inner for _, inner in estimator.estimators if inner != "drop"]


def check_voting(estimator: Any) -> None:
    """Check before fitting that the classifiers inside VotingClassifier are supported."""
    for inner in _voters(estimator):
        (_check_averaged if estimator.voting == "soft" else _check_voter)(estimator, inner)


def weights_voting(estimator: Any, weight: Any) -> dict[str, Any]:
    """Return the keyword arguments that pass row weights to ``VotingClassifier.fit``.

    Raise an error if one of the inner classifiers does not support ``sample_weight``.
    """
    for inner in _voters(estimator):
        if not isinstance(inner, FrozenEstimator) and not has_fit_parameter(inner, "sample_weight"):
            raise UnsupportedModelError(
                f"VotingClassifier passes weights to all of its classifiers, but {type(inner).__name__} does not support "
                "sample_weight. Fit without weights, or fit this classifier yourself and wrap it in a FrozenEstimator."
            )
    return {"sample_weight": weight}


def read_voting(estimator: Any) -> TreeEnsemble:
    """Convert a fitted VotingClassifier to a TreeEnsemble.

    With ``voting="soft"``, the classifiers inside must be trees or forests. With ``voting="hard"``, they must be single
    trees.
    """
    soft = estimator.voting == "soft"
    weights = estimator._weights_not_none
    shares = np.ones(len(estimator.estimators_)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not soft and np.any(shares < 0):
        raise UnsupportedModelError(f"VotingClassifier(weights={weights}) has negative weights. Use weights >= 0.")
    models, parts = (_soft if soft else _hard)(estimator, shares)
    models, known = _of_one_table(estimator, models)
    divisor = 1.0
    if soft:
        # The divisor, rounded as in numpy.
        divisor = float(np.average(np.ones((len(shares), 1, 1)), axis=0, weights=weights, returned=True)[1][0, 0])
    return TreeEnsemble(
        classes=estimator.classes_,
        n_features=models[0].n_features,
        columns=known,
        link=Share(),
        base=np.zeros(len(estimator.classes_)),
        divisor=divisor,
        parts=parts,
        **joined(models).arguments(),
    )


def _soft(estimator: Any, weights: Floats) -> tuple[list[TreeEnsemble], tuple[TreeBlock, ...]]:
    models = [_read_averaged(estimator, inner) for inner in estimator.estimators_]
    parts = tuple(
        TreeBlock(len(each.roots), each.divisor, float(weight)) for each, weight in zip(models, weights, strict=True)
    )
    return models, parts


def _hard(estimator: Any, weights: Floats) -> tuple[list[TreeEnsemble], tuple[TreeBlock, ...]]:
    models = []
    for inner, weight in zip(estimator.estimators_, weights, strict=True):
        model, votes = _read_votes(estimator, inner)
        models.append(replace(model, value=weight * np.eye(len(estimator.classes_))[votes]))
    return models, ()
