"""DistilledTree: what a fitted classifier's tree is once black box and training rows are gone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fcca._columns import Columns
from fcca._frames import check_columns, column_names
from fcca._proof import proof_in_words
from fcca.classifier import FCCAClassifier
from fcca.exceptions import InvalidInputError
from fcca.trees import TreeStructure

Label = str | int | float | bool

__all__ = ["Certificate", "DistilledTree", "as_distilled"]


@dataclass(frozen=True)
class Certificate:
    """What is proven of a tree.

    Attributes
    ----------
    optimal : bool
        Whether no tree of this depth on these conditions is better.
    objective, lower_bound : float
        Error share + regularization · leaves of this tree, and a proven lower bound for any of this depth.
    gap : float
        ``(objective - lower_bound) / objective``.
    regularization : float
        What a leaf costs.
    max_depth : int or None
        Depth up to which trees were searched; None for any.
    """

    optimal: bool
    objective: float
    lower_bound: float
    gap: float
    regularization: float
    max_depth: int | None

    def in_words(self) -> str:
        """``proven optimal`` or ``within 3.1 % of optimal``."""
        return proof_in_words(self.objective, self.lower_bound, self.optimal)


@dataclass(frozen=True)
class DistilledTree:
    """A decision tree in the units of its table, without the black box and the rows that it was made from.

    Made by :func:`fcca.export.from_json`; every exporter takes it as it takes a fitted classifier.

    Attributes
    ----------
    structure : TreeStructure
        Nodes; categories by their codes, positions in ``columns``.
    columns : Columns
        Names, categories and gaps of the table's columns.
    classes : tuple
        Texts or numbers.
    certificate : Certificate
    takes_missing : bool
        Whether rows may have missing values. Where no training row had any, they are refused, as the classifier does.
    fcca_version : str
        Of the fcca that made it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier
    >>> from fcca.export import from_json, to_json
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier().fit(X, y)
    >>> tree = from_json(to_json(classifier))
    >>> bool((tree.predict(X) == classifier.predict(X)).all())
    True
    """

    structure: TreeStructure
    columns: Columns
    classes: tuple[Label, ...]
    certificate: Certificate
    takes_missing: bool
    fcca_version: str

    @property
    def asked(self) -> tuple[int, ...]:
        """Positions of the columns that the tree asks for."""
        return tuple(sorted({int(j) for j in self.structure.feature if j >= 0}))

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Number of the leaf that every row ends in.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The columns that the tree was made for; of those that it does not ask for, any value.
        """
        names = column_names(X)
        if names is not None and self.columns.named:
            known = list(self.columns.names)
            check_columns(names, len(names), known, len(known), knower="the tree was made for")
        return self.structure.leaf_of(self._for_rows().encode(X))

    def _for_rows(self) -> Columns:
        columns = self.columns.for_answers(self.asked)
        return columns if self.takes_missing else Columns(tuple(replace(column, missing=False) for column in columns))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Share of each class in the training weight of a row's leaf."""
        leaves = self.apply(X)
        return self.structure.probability[leaves]

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of every row: the heaviest of its leaf."""
        heaviest = self.predict_proba(X).argmax(axis=1)
        one_type = len({type(label) for label in self.classes}) == 1
        answers: NDArray[Any] = np.array(self.classes, dtype=None if one_type else object)[heaviest]
        return answers

    def rules(self) -> list[str]:
        """One line per leaf, such as ``"LSTAT ≤ 9.725 and RM > 6.94 → 1 (0.97)"``."""
        classes = np.array(self.classes, dtype=object)
        return self.structure.rules(self.columns.names, classes, self.columns)


def as_distilled(tree: Any) -> DistilledTree:
    """A fitted classifier's tree, or the tree that was given."""
    if isinstance(tree, DistilledTree):
        return tree
    if not isinstance(tree, FCCAClassifier):
        raise InvalidInputError(
            f"Expected a fitted FCCAClassifier or a DistilledTree, got {type(tree).__name__}. Make one with "
            "FCCAClassifier(…).fit(X, y)."
        )
    check_is_fitted(tree)
    from fcca import __version__

    table, grown = tree.discretizer_.thresholds_, tree.tree_
    columns = table.columns
    if columns is None:
        names = getattr(tree, "feature_names_in_", None)
        columns = Columns.numbers(tree.n_features_in_, None if names is None else [str(name) for name in names])
    else:
        plain = ({"categories": _plain_labels(column.categories, "category")} for column in columns)
        columns = Columns(tuple(replace(column, **only) for column, only in zip(columns, plain, strict=True)))
    return DistilledTree(
        structure=tree.structure_,
        columns=columns,
        classes=_plain_labels(tuple(tree.classes_.tolist()), "class") or (),
        certificate=Certificate(
            optimal=bool(grown.is_optimal_),
            objective=float(grown.objective_),
            lower_bound=float(grown.lower_bound_),
            gap=float(grown.gap_),
            regularization=float(grown.regularization_),
            max_depth=None if grown.max_depth is None else int(grown.max_depth),
        ),
        takes_missing=table.columns is not None,
        fcca_version=__version__,
    )


def _plain_labels(labels: tuple[Any, ...] | None, what: str) -> tuple[Label, ...] | None:
    """Labels as Python's own texts and numbers, which every form can hold."""
    if labels is None:
        return None
    plain = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
    for label in plain:
        if not isinstance(label, str | int | float) or label in (np.inf, -np.inf):
            raise InvalidInputError(
                f"The {what} {label!r} of type {type(label).__name__} cannot be written: texts and finite numbers can. "
                "Turn it into a text before fitting, for example with astype(str)."
            )
    # Subclasses of str and int may print as anything.
    return tuple(next(kind(label) for kind in (bool, str, int, float) if isinstance(label, kind)) for label in plain)
