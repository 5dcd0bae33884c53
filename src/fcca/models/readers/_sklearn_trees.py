"""Many trees' nodes in one set of arrays, as TreeEnsemble has them; shared by all readers of scikit-learn's trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.models._model import TreeEnsemble
from fcca.models._precision import largest_float64_below_float32_cut

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """The part of a TreeEnsemble that is the same whatever the leaves are summed to; fields as there."""

    roots: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: Floats
    native_threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Floats
    missing_left: NDArray[np.bool_] | None
    categories: dict[int, NDArray[np.int64]]

    @classmethod
    def of(cls, model: TreeEnsemble) -> Nodes:
        """Take a model's nodes out of it."""
        return cls(**{field.name: getattr(model, field.name) for field in fields(cls)})

    def arguments(self) -> dict[str, Any]:
        """As arguments of TreeEnsemble."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def joined(forests: Sequence[Nodes]) -> Nodes:
    """All trees of all forests, in their order."""
    sizes = [len(nodes.feature) for nodes in forests]
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

    def shifted(children: NDArray[np.int32], by: np.int64) -> NDArray[np.int32]:
        return np.where(children < 0, -1, children + by).astype(np.int32)

    missing = [nodes.missing_left for nodes in forests if nodes.missing_left is not None]
    return Nodes(
        roots=np.concatenate([nodes.roots + by for nodes, by in zip(forests, first, strict=True)]),
        feature=np.concatenate([nodes.feature for nodes in forests]),
        threshold=np.concatenate([nodes.threshold for nodes in forests]),
        native_threshold=np.concatenate([nodes.native_threshold for nodes in forests]),
        left=np.concatenate([shifted(nodes.left, by) for nodes, by in zip(forests, first, strict=True)]),
        right=np.concatenate([shifted(nodes.right, by) for nodes, by in zip(forests, first, strict=True)]),
        value=np.concatenate([nodes.value for nodes in forests]),
        # One that takes no missing values keeps the others from getting any.
        missing_left=np.concatenate(missing) if len(missing) == len(forests) else None,
        categories={
            int(node + by): codes
            for nodes, by in zip(forests, first, strict=True)
            for node, codes in nodes.categories.items()
        },
    )


def join_trees(trees: Sequence[Any], values: Sequence[Floats], *, takes_missing: bool) -> Nodes:
    """Nodes of fitted ``tree_`` structures, which cast X to float32 and send ``x <= threshold`` to the left.

    Parameters
    ----------
    trees : sequence of sklearn.tree._tree.Tree
    values : sequence of ndarray of shape (n_nodes, n_outputs)
        What each tree's nodes count, were they leaves.
    takes_missing : bool
        Whether the classifier lets missing values reach its trees.
    """
    forests = []
    for tree, value in zip(trees, values, strict=True):
        leaf = tree.children_left < 0
        native = tree.threshold
        forests.append(
            Nodes(
                roots=np.zeros(1, dtype=np.int64),
                feature=np.where(leaf, -1, tree.feature).astype(np.int32),
                threshold=native,
                native_threshold=native,
                left=tree.children_left.astype(np.int32),
                right=tree.children_right.astype(np.int32),
                value=np.asarray(value, dtype=np.float64),
                missing_left=tree.missing_go_to_left.astype(bool) if takes_missing else None,
                categories={},
            )
        )
    nodes = joined(forests)
    return Nodes(**(nodes.arguments() | {"threshold": largest_float64_below_float32_cut(nodes.native_threshold)}))
