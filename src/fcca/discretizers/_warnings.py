"""Issue warnings that point at the line of the user's code."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence

from fcca.exceptions import ConstantFeatureWarning

PACKAGES = ("fcca", "sklearn")


def warn_caller(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the calling line outside fcca and scikit-learn.

    Parameters
    ----------
    message : str
    category : type of Warning
    """
    frame, level = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_constant_features(names: Sequence[str]) -> None:
    """Warn about columns that have only one value.

    Parameters
    ----------
    names : sequence of str
        Names of these columns. If there are none, no warning is issued.
    """
    if names:
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        warn_caller(f"{len(names)} column(s) have only one value and were left out: {shown}", ConstantFeatureWarning)
