"""Registry of the supported classifiers and their readers.

Classifiers are found by the dotted names of their classes, so no library is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from itertools import takewhile
from typing import Any

from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fcca.exceptions import UnsupportedModelError
from fcca.models._model import Model
from fcca.models.pipelines import _wrappers
from fcca.models.pipelines._steps import step_weights


@dataclass(frozen=True)
class Reader:
    """Registry entry of one supported class of classifiers.

    A module of ``fcca.models.readers`` has up to three functions for the class. ``read(estimator)`` converts a fitted
    classifier. The optional ``check(estimator)`` checks the parameters before fitting. The optional
    ``weights(estimator, weight)`` returns the keyword arguments that pass row weights to ``fit``. Without this function,
    the weights are passed as ``sample_weight``.

    Attributes
    ----------
    module : str
        Name of the module.
    kind : str
        Suffix of the functions if the module reads several classes, as in ``read_bagging``.
    checks_fitted : bool
        Whether ``read`` itself checks that the classifier is fitted.
    takes_missing : bool
        Whether missing values in numeric columns are passed to the classifier. Otherwise, :func:`prepared` fills them in.
    is_around : bool
        Whether the class wraps another classifier, ``estimator``, and passes the table to it unchanged.
    """

    module: str
    kind: str = ""
    checks_fitted: bool = False
    takes_missing: bool = False
    is_around: bool = False

    def function(self, verb: str) -> Any:
        """Import the module of this reader, and return one of its functions.

        ``verb`` is "read", "check" or "weights". Return None if the module has no such function.
        """
        module = import_module(f"fcca.models.readers.{self.module}")
        return getattr(module, f"{verb}_{self.kind}" if self.kind else verb, None)


READERS: dict[str, Reader] = {
    "catboost.core.CatBoostClassifier": Reader("_catboost", takes_missing=True),
    "fcca.classifier.FCCAClassifier": Reader("_small_trees", "classifier", checks_fitted=True),
    "fcca.export.DistilledTree": Reader("_small_trees", "distilled", checks_fitted=True),
    "fcca.models.readers.CatBoostModel": Reader("_catboost", "native"),
    "fcca.models.readers.DecidedAt": Reader("_decision_threshold"),
    "fcca.models.readers.LightGBMBooster": Reader("_lightgbm", "native"),
    "fcca.models.readers.XGBoostBooster": Reader("_xgboost", "native"),
    "fcca.trees.OptimalTreeClassifier": Reader("_small_trees", "optimal", checks_fitted=True),
    "interpret.glassbox.ExplainableBoostingClassifier": Reader("_ebm"),
    "lightgbm.sklearn.LGBMClassifier": Reader("_lightgbm", takes_missing=True),
    "sklearn.calibration.CalibratedClassifierCV": Reader("_calibration", is_around=True),
    "sklearn.ensemble.AdaBoostClassifier": Reader("_ensembles", "adaboost"),
    "sklearn.ensemble.BaggingClassifier": Reader("_ensembles", "bagging"),
    "sklearn.ensemble.ExtraTreesClassifier": Reader("_forests", takes_missing=True),
    "sklearn.ensemble.GradientBoostingClassifier": Reader("_gradient_boosting"),
    "sklearn.ensemble.HistGradientBoostingClassifier": Reader("_hist_gradient_boosting", takes_missing=True),
    "sklearn.ensemble.RandomForestClassifier": Reader("_forests", takes_missing=True),
    "sklearn.ensemble.VotingClassifier": Reader("_ensembles", "voting"),
    "sklearn.linear_model.LogisticRegression": Reader("_linear_models"),
    "sklearn.linear_model.LogisticRegressionCV": Reader("_linear_models"),
    "sklearn.linear_model.PassiveAggressiveClassifier": Reader("_linear_models"),
    "sklearn.linear_model.Perceptron": Reader("_linear_models"),
    "sklearn.linear_model.RidgeClassifier": Reader("_linear_models"),
    "sklearn.linear_model.RidgeClassifierCV": Reader("_linear_models"),
    "sklearn.linear_model.SGDClassifier": Reader("_linear_models"),
    "sklearn.model_selection.FixedThresholdClassifier": Reader("_decision_threshold", checks_fitted=True, is_around=True),
    "sklearn.model_selection.TunedThresholdClassifierCV": Reader("_decision_threshold", is_around=True),
    "sklearn.multiclass.OneVsRestClassifier": Reader("_one_vs_rest", is_around=True),
    "sklearn.svm.LinearSVC": Reader("_linear_models"),
    "sklearn.svm.SVC": Reader("_linear_models", "svc"),
    "sklearn.tree.DecisionTreeClassifier": Reader("_forests", takes_missing=True),
    "sklearn.tree.ExtraTreeClassifier": Reader("_forests", takes_missing=True),
    "xgboost.sklearn.XGBClassifier": Reader("_xgboost", takes_missing=True),
}

SEARCHES = frozenset(
    f"sklearn.model_selection.{name}"
    for name in ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
)
FROZEN = "sklearn.frozen.FrozenEstimator"
PIPELINE = "sklearn.pipeline.Pipeline"


def public_names(estimator: Any) -> list[str]:
    """Return the dotted public names of a class and its bases.

    ``estimator`` is an object of the class. Private modules are left out: ``sklearn.svm._classes.SVC`` becomes
    ``sklearn.svm.SVC``.
    """
    names = []
    for cls in type(estimator).__mro__:
        parts = takewhile(lambda part: not part.startswith("_"), cls.__module__.split("."))
        names.append(".".join([*parts, cls.__name__]))
    return names


def class_names(names: Iterable[str]) -> frozenset[str]:
    """Return class names without their modules."""
    return frozenset(name.rpartition(".")[2] for name in names)


def supported_models() -> list[str]:
    """List the class names of the supported classifiers."""
    return sorted(class_names(name for name in READERS if not name.startswith("fcca.")))


def _find(estimator: Any) -> tuple[str, Reader | None]:
    for name in public_names(estimator):
        if name in READERS:
            return name, READERS[name]
        if name in SEARCHES or name in (FROZEN, PIPELINE):
            return name, None
    raise UnsupportedModelError(
        f"{type(estimator).__name__} is not supported. Supported classifiers: {', '.join(supported_models())}. They may "
        "be the last step of a Pipeline with encoders, imputers and scalers. They may also be inside a parameter search "
        "such as GridSearchCV, or inside a FrozenEstimator. For trained boosters of xgboost.train, lightgbm.train and "
        "catboost.CatBoost, use fcca.models.as_classifier(booster), or CounterfactualExplainer(booster, X)."
    )


def unwrapped(estimator: Any) -> Any:
    """Return the classifier inside pipelines, parameter searches and FrozenEstimator."""
    name, reader = _find(estimator)
    if reader is not None:
        return estimator
    return unwrapped(estimator.steps[-1][1] if name == PIPELINE else estimator.estimator)


def check_supported(estimator: Any) -> None:
    """Check that a fitted or unfitted classifier is supported.

    A supported classifier can be converted by :func:`read_model` after fitting. For all others, raise an
    UnsupportedModelError.
    """
    name, reader = _find(estimator)
    if reader is not None:
        check = reader.function("check")
        if check is not None:
            check(estimator)
    elif name == PIPELINE:
        _wrappers.check_pipeline(estimator, check_supported)
    else:
        check_supported(estimator.estimator)


def is_linear(estimator: Any) -> bool:
    """Return True if a fitted or unfitted classifier is linear.

    The classifier may be inside a Pipeline or another wrapper.
    """
    name, reader = _find(estimator)
    if reader is not None and not reader.is_around:
        return reader.module == "_linear_models"
    inner = estimator.steps[-1][1] if name == PIPELINE else estimator.estimator
    return inner is not None and is_linear(inner)


def weight_parameters(estimator: Any, weight: Any) -> dict[str, Any]:
    """Return the keyword arguments that pass row weights to ``estimator.fit``.

    For a Pipeline, these are arguments such as ``step__sample_weight`` for each step that supports weights.
    """
    name, reader = _find(estimator)
    if name == PIPELINE:
        parameters: dict[str, Any] = {}
        for step, transformer in estimator.steps[:-1]:
            parameters |= {f"{step}__{key}": value for key, value in step_weights(transformer, weight).items()}
        step, last = estimator.steps[-1]
        return parameters | {f"{step}__{key}": value for key, value in weight_parameters(last, weight).items()}
    if name == FROZEN:
        return {}
    if reader is None:
        return weight_parameters(estimator.estimator, weight)
    weights = reader.function("weights")
    if weights is not None:
        found: dict[str, Any] = weights(estimator, weight)
        return found
    if not has_fit_parameter(estimator, "sample_weight"):
        raise UnsupportedModelError(
            f"{type(estimator).__name__} does not support sample_weight. Fit without weights, or fit the classifier "
            "yourself and wrap it in a FrozenEstimator."
        )
    return {"sample_weight": weight}


def read_part(estimator: Any) -> Model:
    """Convert a fitted classifier to a :class:`Model`.

    The classifier may be a part of an ensemble. Unlike :func:`read_model`, this function accepts a classifier fitted on
    a single class.
    """
    name, reader = _find(estimator)
    if reader is None or not reader.checks_fitted:
        check_is_fitted(estimator)
    if reader is not None:
        model: Model = reader.function("read")(estimator)
        return model
    if name == PIPELINE:
        return _wrappers.read_pipeline(estimator, read_part)
    return read_part(estimator.estimator if name == FROZEN else _wrappers.best_estimator(estimator))


def read_model(estimator: Any, decision_threshold: float | None = None) -> Model:
    """Convert a fitted classifier to a :class:`Model`.

    A model is the common form of classifiers of all libraries, which the searches use.

    Parameters
    ----------
    estimator : fitted classifier
        A classifier of one of the classes in :func:`supported_models`. It may be the last step of a Pipeline with encoders,
        imputers and scalers. It may also be inside a parameter search or a FrozenEstimator.
    decision_threshold : float or None, default=None
        For two classes: predict the second class if its probability is at least this threshold, as with
        :func:`fcca.models.decide_at`. None uses the predictions of the classifier.

    Returns
    -------
    Model
        A :class:`LinearModel` or a :class:`TreeEnsemble` with the same predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from fcca import read_model
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> read_model(RidgeClassifier().fit(X, y)).coef.shape
    (1, 30)
    """
    if decision_threshold is not None:
        estimator = _decide_at(estimator, decision_threshold)
    model = read_part(estimator)
    if len(model.classes) < 2:
        raise UnsupportedModelError(
            f"{type(estimator).__name__} was fitted on a single class ({model.classes[0]}), so there is no other class to "
            "change to. Fit it on rows of at least two classes."
        )
    return model


def _decide_at(estimator: Any, threshold: float) -> Any:
    _find(estimator)  # raises the error for an unsupported classifier first
    return import_module("fcca.models.readers._decision_threshold").decide_at(estimator, threshold)
