"""The errors and warnings of fcca.

Every error is also an instance of the built-in exception that scikit-learn raises in the same case, such as ValueError.
"""


class FCCAError(Exception):
    """Base class of all errors that fcca raises."""


class InvalidInputError(FCCAError, ValueError):
    """The data or a parameter cannot be used as given."""


class UnsupportedModelError(FCCAError, TypeError):
    """fcca cannot compute exact counterfactuals for this type of classifier."""


class NoCounterfactualError(FCCAError, ValueError):
    """No row has a counterfactual, so no thresholds can be found."""


class WorkerDiedError(FCCAError, RuntimeError):
    """Worker processes died repeatedly before they returned a result."""


class UnverifiedCounterfactualWarning(UserWarning):
    """Some counterfactuals do not flip the prediction of the black box, so they were left out."""


class UnfinishedSearchWarning(UserWarning):
    """A time limit or another limit stopped some searches before their result was proven."""


class UnknownValuesWarning(UserWarning):
    """Some rows have categories or missing values that no training row has in the same column."""


class ConstantFeatureWarning(UserWarning):
    """Some columns have a single value, so no threshold can be found in them."""


class SpecialValuesWarning(UserWarning):
    """Some columns have values, such as -9, that look like special values."""


class SampledRowsWarning(UserWarning):
    """Only some rows were searched for counterfactuals, so the shares of thresholds have confidence intervals."""


class LightWeightsWarning(UserWarning):
    """The sample weights sum to far less than the number of rows.

    Results that depend on the number of rows, such as the default regularization of a tree, are then misleading.
    """
