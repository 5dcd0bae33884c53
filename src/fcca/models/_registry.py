"""Which reader reads which class, by the class's dotted name, so that no library is imported before it is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fcca.exceptions import UnsupportedModelError
from fcca.models import _wrappers
from fcca.models._model import Model


@dataclass(frozen=True)
class Reader:
    """Names of functions in one module: ``read`` a fitted classifier, ``check`` its parameters before it is fitted."""

    module: str
    read: str = "read"
    check: str | None = None

    def function(self, name: str) -> Callable[[Any], Any]:
        """Import one of the two."""
        function: Callable[[Any], Any] = getattr(import_module(f"fcca.models.{self.module}"), name)
        return function


READERS: dict[str, Reader] = {
    "sklearn.ensemble.GradientBoostingClassifier": Reader("_gradient_boosting", check="check"),
    "sklearn.linear_model.LogisticRegression": Reader("_linear"),
    "sklearn.linear_model.LogisticRegressionCV": Reader("_linear"),
    "sklearn.linear_model.PassiveAggressiveClassifier": Reader("_linear"),
    "sklearn.linear_model.Perceptron": Reader("_linear"),
    "sklearn.linear_model.RidgeClassifier": Reader("_linear"),
    "sklearn.linear_model.RidgeClassifierCV": Reader("_linear"),
    "sklearn.linear_model.SGDClassifier": Reader("_linear"),
    "sklearn.svm.LinearSVC": Reader("_linear"),
    "sklearn.svm.SVC": Reader("_linear", read="read_svc", check="check_svc"),
}

SEARCHES = frozenset(
    f"sklearn.model_selection.{name}"
    for name in ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
)
FROZEN = "sklearn.frozen.FrozenEstimator"
PIPELINE = "sklearn.pipeline.Pipeline"


def _public_names(estimator: Any) -> list[str]:
    """Dotted names of the class and its bases, without private modules: sklearn.svm._classes.SVC is sklearn.svm.SVC."""
    names = []
    for cls in type(estimator).__mro__:
        parts = [part for part in cls.__module__.split(".") if not part.startswith("_")]
        names.append(".".join([*parts, cls.__name__]))
    return names


def supported_models() -> list[str]:
    """Names of the classifiers that can be read."""
    return sorted(name.rsplit(".", 1)[1] for name in READERS)


def _find(estimator: Any) -> tuple[str, Reader | None]:
    for name in _public_names(estimator):
        if name in READERS:
            return name, READERS[name]
        if name in SEARCHES or name in (FROZEN, PIPELINE):
            return name, None
    raise UnsupportedModelError(
        f"{type(estimator).__name__} cannot be read. Supported classifiers: {', '.join(supported_models())}; also behind "
        f"{', '.join(_wrappers.PUBLIC_SCALERS)} in a Pipeline, inside GridSearchCV and its siblings, or in FrozenEstimator."
    )


def check_supported(estimator: Any) -> None:
    """Raise UnsupportedModelError for a classifier that could not be read once fitted; nothing is fitted for this."""
    name, reader = _find(estimator)
    if reader is not None:
        if reader.check is not None:
            reader.function(reader.check)(estimator)
    elif name == PIPELINE:
        _wrappers.check_pipeline(estimator, check_supported)
    else:
        check_supported(estimator.estimator)


def weight_parameters(estimator: Any, weight: Any) -> dict[str, Any]:
    """The parameters by which ``estimator.fit`` takes the rows' weights, in every step that they matter to."""
    name, reader = _find(estimator)
    if name == PIPELINE:
        parameters: dict[str, Any] = {}
        for step, transformer in estimator.steps[:-1]:
            parameters |= {f"{step}__{key}": value for key, value in _wrappers.scaler_weights(transformer, weight).items()}
        step, last = estimator.steps[-1]
        return parameters | {f"{step}__{key}": value for key, value in weight_parameters(last, weight).items()}
    if name == FROZEN:
        return {}
    if reader is None:
        return weight_parameters(estimator.estimator, weight)
    if not has_fit_parameter(estimator, "sample_weight"):
        raise UnsupportedModelError(
            f"{type(estimator).__name__} takes no sample_weight. Fit without weights, or fit it yourself and freeze it."
        )
    return {"sample_weight": weight}


def read_model(estimator: Any) -> Model:
    """Read a fitted classifier into the neutral model.

    Parameters
    ----------
    estimator : fitted classifier
        One of :func:`supported_models`, alone or inside a Pipeline with scalers, a parameter search or FrozenEstimator.

    Returns
    -------
    Model

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from fcca import read_model
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> read_model(RidgeClassifier().fit(X, y)).coef.shape
    (1, 30)
    """
    name, reader = _find(estimator)
    check_is_fitted(estimator)
    if reader is not None:
        model: Model = reader.function(reader.read)(estimator)
        return model
    if name == PIPELINE:
        return _wrappers.read_pipeline(estimator, read_model)
    return read_model(estimator.estimator if name == FROZEN else _wrappers.best_estimator(estimator))
