"""Errors and warnings.

Every error is also the built-in type that users of scikit-learn expect.
"""


class FCCAError(Exception):
    """Base of all errors of fcca."""


class InvalidInputError(FCCAError, ValueError):
    """The data or a parameter cannot be used as given."""


class UnsupportedModelError(FCCAError, TypeError):
    """No exact counterfactual search exists for this classifier."""


class NoCounterfactualError(FCCAError, ValueError):
    """No row has a counterfactual, so there are no thresholds."""


class WorkerDiedError(FCCAError, RuntimeError):
    """Worker processes died repeatedly before they returned a result."""


class UnverifiedCounterfactualWarning(UserWarning):
    """Some counterfactuals do not flip the black box and were not counted."""


class UnfinishedSearchWarning(UserWarning):
    """Some searches were stopped by a time limit or a node limit before a proof."""


class ConstantFeatureWarning(UserWarning):
    """Some columns are constant, so they have no threshold."""


class LightWeightsWarning(UserWarning):
    """The sample weights sum to far less than the number of rows.

    The default regularization is then too strong.
    """
