"""Read OneVsRestClassifier.

:class:`EachAgainstRest` is also the link of linear models with one classifier per class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.multiclass import OneVsRestClassifier

from fcca.exceptions import UnsupportedModelError
from fcca.models._labels import aligned
from fcca.models._links import Link, Share
from fcca.models._model import LinearModel, Model, TreeBlock, TreeEnsemble
from fcca.models._nodes import joined
from fcca.models._precision import last_score_of_first_class
from fcca.models._registry import check_supported, read_part, unwrapped

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EachAgainstRest(Link):
    """Link for one score per class.

    The score of a class comes from a binary classifier of this class against all others.

    Attributes
    ----------
    links : tuple of Link
        For each class, the function from its score to its probability. These probabilities are divided by their sum.
    by_probability : bool
        Whether the class with the largest rounded probability is predicted, instead of the class with the largest score.
        Probabilities are compared before they are divided by their sum.
    last_of_equals : bool
        Whether the last of the tied classes is predicted in a tie, instead of the first.
    """

    links: tuple[Link, ...]
    by_probability: bool = False
    last_of_equals: bool = False

    def every_class(self, scores: Floats) -> Floats:
        """Return the probabilities of all classes."""
        each = np.column_stack([link.second_class(scores[:, k]) for k, link in enumerate(self.links)])
        total = each.sum(axis=1, keepdims=True)
        each = np.where(total == 0, 1.0, each)
        probabilities: Floats = each / each.sum(axis=1, keepdims=True)
        return probabilities

    def ranking(self, scores: Floats) -> Floats:
        """Compute one value per class. The class with the largest value is predicted."""
        if self.by_probability:
            each = [link.both_classes(scores[:, k])[:, 1] for k, link in enumerate(self.links)]
            scores = np.column_stack(each).astype(np.float64)
        if self.last_of_equals:
            largest = scores == scores.max(axis=1, keepdims=True)
            return np.where(largest, np.arange(scores.shape[1], dtype=np.float64), -1.0)
        return scores


@cache
def _answers_last_of_equals() -> bool:
    """Return True if OneVsRestClassifier predicts the last of tied classes.

    This depends on the installed version of scikit-learn.
    """
    equals = OneVsRestClassifier(DummyClassifier()).fit(np.zeros((3, 1)), [0, 1, 2])
    return bool(equals.predict(np.zeros((1, 1)))[0] == 2)


def check(estimator: Any) -> None:
    """Check before fitting that the inner classifier is supported."""
    check_supported(estimator.estimator)


def _refused(estimator: Any, inner: Any, why: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{type(estimator).__name__} of {type(unwrapped(inner)).__name__} is not supported: {why}. Supported inner "
        "classifiers: linear models, gradient boosting, AdaBoost, trees and forests with two classes."
    )


def _one_score(estimator: Any, inner: Any, model: Model) -> Model:
    """Convert the model of one class against all others to a single-score model.

    ``inner`` is the classifier of this model, and ``estimator`` the OneVsRestClassifier around it. Both are named in errors.
    """
    if model.n_outputs == 1:
        return model
    if not isinstance(model, TreeEnsemble) or not isinstance(model.link, Share) or model.n_outputs != 2:
        raise _refused(estimator, inner, "the inner classifier has one score for each of its two classes")
    return model.of_class(1)


def read(estimator: Any) -> Model:
    """Convert a fitted OneVsRestClassifier to a Model.

    The model has a single score for two classes, and one score per class for more than two.
    """
    if estimator.multilabel_:
        raise UnsupportedModelError(
            "OneVsRestClassifier was fitted on several labels per row, which is not supported. Fit one classifier for each "
            "label."
        )
    models = []
    for inner, label in zip(estimator.estimators_, estimator.classes_[-len(estimator.estimators_) :], strict=True):
        if type(inner).__name__ == "_ConstantPredictor":
            raise UnsupportedModelError(
                f"OneVsRestClassifier could not learn the class {label!r}, because either all of its training rows or none "
                "of them have this class. Fit it again on rows of at least two classes, without classes that do not occur."
            )
        models.append(_one_score(estimator, inner, read_part(inner)))
    by_probability = not hasattr(estimator.estimators_[0], "decision_function")
    if len(models) == 1:
        return _of_two(estimator, models[0], by_probability)
    link = EachAgainstRest(tuple(model.link for model in models), by_probability, _answers_last_of_equals())
    linear = [model for model in models if isinstance(model, LinearModel)]
    trees = [model for model in models if isinstance(model, TreeEnsemble)]
    inner = estimator.estimators_[0]
    if len(linear) == len(models):
        return _stacked(estimator, inner, linear, link)
    if len(trees) == len(models):
        return _side_by_side(estimator, inner, trees, link)
    raise _refused(estimator, inner, "some of the inner classifiers are linear and some are trees")


def _of_two(estimator: Any, model: Model, by_probability: bool) -> Model:
    """Return the model of a OneVsRestClassifier for two classes.

    For two classes, scikit-learn fits a single classifier, of the second class against the first.
    """

    def answers_first(score: Floats) -> NDArray[np.bool_]:
        return model.link.both_classes(score)[:, 1] <= 0.5 if by_probability else score <= 0.0

    return replace(model, classes=estimator.classes_, boundary=last_score_of_first_class(answers_first))


def _stacked(estimator: Any, inner: Any, models: Sequence[LinearModel], link: Link) -> LinearModel:
    first = models[0]
    if any(model.columns != first.columns for model in models):
        raise _refused(estimator, inner, "its classifiers have different categories for the same column")
    intercept = [model.intercept + model.coef @ (first.centre - model.centre) for model in models]
    missing = None
    if first.missing is not None:
        # The intercept contains the difference of centres, to which a missing value does not contribute.
        missing = np.column_stack(
            [
                np.zeros(first.n_features)
                if model.missing is None
                else model.missing - (model.coef * (first.centre - model.centre)).T
                for model in models
            ]
        )
    return LinearModel(
        classes=estimator.classes_,
        n_features=first.n_features,
        link=link,
        columns=first.columns,
        coef=np.concatenate([model.coef for model in models]),
        intercept=np.concatenate(intercept),
        centre=first.centre,
        effects={j: np.concatenate([model.effects[j] for model in models], axis=1) for j in first.effects},
        missing=missing,
    )


def _side_by_side(estimator: Any, inner: Any, models: Sequence[TreeEnsemble], link: Link) -> TreeEnsemble:
    n = len(models)
    models, columns = aligned(models)
    forests = []
    for k, model in enumerate(models):
        value = np.zeros((len(model.value), n))
        value[:, [k]] = model.value
        forests.append(replace(model, value=value))
    divisor, parts = _division(estimator, inner, models)
    if len({model.single_precision for model in models}) > 1:
        raise _refused(estimator, inner, "some of its classifiers sum their trees in float32, others in float64")
    return TreeEnsemble(
        classes=estimator.classes_,
        n_features=models[0].n_features,
        link=link,
        columns=columns,
        base=np.concatenate([model.base for model in models]),
        divisor=divisor,
        parts=parts,
        single_precision=models[0].single_precision,
        **joined(forests).arguments(),
    )


def _division(estimator: Any, inner: Any, models: Sequence[TreeEnsemble]) -> tuple[float, tuple[TreeBlock, ...]]:
    """Return ``divisor`` and ``parts`` for the TreeEnsemble that joins ``models``."""
    divisors = {model.divisor for model in models}
    if len(divisors) == 1 and not any(model.parts for model in models):
        return models[0].divisor, ()
    if len(divisors) == 1 and all(model.parts for model in models):
        return models[0].divisor, tuple(part for model in models for part in model.parts)
    if any(model.parts or model.base.any() for model in models):
        raise _refused(estimator, inner, "the inner classifiers average their trees in different ways")
    return 1.0, tuple(TreeBlock(len(model.roots), model.divisor, 1.0) for model in models)
