"""Read the nodes of scikit-learn's ``tree_`` objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.models._nodes import Nodes, joined
from fcca.models._precision import largest_float64_below_float32_cut

Floats = NDArray[np.float64]


def join_trees(trees: Sequence[Any], values: Sequence[Floats], *, takes_missing: bool) -> Nodes:
    """Read fitted ``tree_`` objects and join their nodes.

    These trees test ``float32(x) <= threshold``. The thresholds of the result are exact for float64.

    Parameters
    ----------
    trees : sequence of sklearn.tree._tree.Tree
    values : sequence of ndarray of shape (n_nodes, n_outputs)
        One array per tree: the vector that each node would add to the scores if it were a leaf.
    takes_missing : bool
        Whether the classifier passes missing values to its trees.
    """
    nodes = joined([_nodes(tree, value, takes_missing) for tree, value in zip(trees, values, strict=True)])
    return replace(nodes, threshold=largest_float64_below_float32_cut(nodes.native_threshold))


def _nodes(tree: Any, value: Floats, takes_missing: bool) -> Nodes:
    return Nodes(
        roots=np.zeros(1, dtype=np.int64),
        feature=np.where(tree.children_left < 0, -1, tree.feature).astype(np.int32),
        threshold=tree.threshold,
        native_threshold=tree.threshold,
        left=tree.children_left.astype(np.int32),
        right=tree.children_right.astype(np.int32),
        value=np.asarray(value, dtype=np.float64),
        missing_left=tree.missing_go_to_left.astype(bool) if takes_missing else None,
    )
