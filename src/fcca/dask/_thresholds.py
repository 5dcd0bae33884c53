"""The thresholds of a black box, from a table in pieces, without a tree."""

from __future__ import annotations

from fcca.classifier import FCCAClassifier
from fcca.discretizers import FCCADiscretizer
from fcca.streaming._distill import Pieces, distilled, with_thresholds
from fcca.trees import OptimalTreeClassifier


def fitted_discretizer(pieces: Pieces, discretizer: FCCADiscretizer) -> FCCADiscretizer:
    """Fit a discretizer on a table in pieces: the same as on the whole table at once.

    Parameters
    ----------
    pieces : Pieces
    discretizer : FCCADiscretizer
        Not fitted; its black box is fitted, in a FrozenEstimator.
    """
    discretizer._validate_params()
    if discretizer.selection is not None:
        # A selection is measured on the distinct rows, which are counted for a tree: the smallest one costs next to nothing.
        smallest = FCCAClassifier(discretizer, OptimalTreeClassifier(max_depth=1, regularization=1.0))
        found: FCCADiscretizer = distilled(pieces, smallest).classifier.discretizer_
        return found
    with_thresholds(pieces, discretizer)
    return discretizer
