"""A tree without the black box and the training rows of its classifier."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from fcca.classifier import FCCAClassifier
from fcca.exceptions import InvalidInputError
from fcca.export._provenance import Provenance, provenance_of
from fcca.tables import Column, Columns, check_columns, column_names
from fcca.thresholds import ThresholdTable
from fcca.trees import OptimalTreeClassifier, ReasonsMixin, TreeStructure
from fcca.utils import is_label, proof_in_words

Label = str | int | float | bool

__all__ = ["Certificate", "DistilledTree", "as_distilled"]


class Condition(NamedTuple):
    """A yes/no question on one column, usable as a dictionary key.

    Attributes
    ----------
    kind : {"cut", "special", "set", "missing"}
        ``x > threshold``, ``x is -9`` for a special value, ``x in {categories}`` or ``x is missing``.
    column : int
        Position of the column in the table.
    threshold : float
        The threshold of a cut, or the special value; 0 for other kinds.
    codes : tuple of int
        The category codes of a set; empty for other kinds.
    """

    kind: str
    column: int
    threshold: float = 0.0
    codes: tuple[int, ...] = ()


def conditions_in(table: ThresholdTable) -> list[Condition]:
    """Return the conditions of a threshold table, in the order of the table."""
    numbers = np.where(np.isnan(table.threshold), 0.0, table.threshold).tolist()
    entries = zip(table.kind.tolist(), table.feature.tolist(), numbers, table.codes, strict=True)
    return [Condition(kind, j, number, codes or ()) for kind, j, number, codes in entries]


@dataclass(frozen=True)
class Certificate:
    """The proof that a tree is optimal, or almost optimal, on its training rows.

    The tree is compared with all trees that test the same conditions and respect the same limits. These limits are
    ``max_depth`` and the attributes listed with it.

    Attributes
    ----------
    optimal : bool
        True if it is proven that none of these trees has a smaller objective.
    objective : float
        ``cost of the leaves / total training weight + regularization * number of leaves``. The criterion defines the cost
        of a leaf.
    lower_bound : float
        None of these trees has an objective below this value.
    gap : float
        ``(objective - lower_bound) / objective``.
    regularization : float
        Cost per leaf.
    criterion : str
        As in :class:`~fcca.OptimalTreeClassifier`.
    max_depth, max_leaf_nodes, min_samples_leaf, min_weight_fraction_leaf
        The limits, as in :class:`~fcca.OptimalTreeClassifier`.
    """

    optimal: bool
    objective: float
    lower_bound: float
    gap: float
    regularization: float
    criterion: str
    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_leaf: int
    min_weight_fraction_leaf: float

    @classmethod
    def of(cls, tree: OptimalTreeClassifier) -> Certificate:
        """Copy the objective, the bound and the limits from a fitted tree."""
        return cls(
            optimal=bool(tree.is_optimal_),
            objective=float(tree.objective_),
            lower_bound=float(tree.lower_bound_),
            gap=float(tree.gap_),
            regularization=float(tree.regularization_),
            criterion=tree.criterion,
            max_depth=None if tree.max_depth is None else int(tree.max_depth),
            max_leaf_nodes=None if tree.max_leaf_nodes is None else int(tree.max_leaf_nodes),
            min_samples_leaf=int(tree.min_samples_leaf),
            min_weight_fraction_leaf=float(tree.min_weight_fraction_leaf),
        )

    def in_words(self) -> str:
        """Return a phrase such as ``proven optimal`` or ``within 3.1 % of optimal``.

        The percentage says by how much, at most, the objective exceeds the smallest possible one.
        """
        return proof_in_words(self.objective, self.lower_bound, self.optimal)


@dataclass(frozen=True)
class DistilledTree(ReasonsMixin):
    """A stand-alone decision tree that predicts rows without the black box.

    It accepts rows in raw units and contains no training rows. :func:`fcca.export.from_json` returns it. Every exporter
    accepts it in place of a fitted classifier.

    Attributes
    ----------
    structure : TreeStructure
        The nodes. A category is stored as a code: its position among the categories in ``columns``.
    columns : Columns
        The columns of the table. Each has a name, its categories, and a flag for missing values.
    classes : tuple
        The class labels, which are strings or numbers.
    certificate : Certificate
        The proof that the tree is optimal, or how far it can be from optimal.
    takes_missing : bool
        True if rows with missing values are accepted. If False, a missing value raises an error, as in the classifier.
    fcca_version : str
        The version of fcca that fitted the tree.
    thresholds : ThresholdTable or None
        All conditions that the tree could choose from; None for a version 1 document, which does not store them.
    provenance : Provenance or None
        How the tree was made: versions, parameters and counts. None for a version 1 document.

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
    >>> bool((tree.transform(X) == classifier.discretizer_.transform(X)).all())
    True
    >>> tree.provenance.discretizer.name, tree.provenance.statuses
    ('fcca.discretizers.FCCADiscretizer', {'optimal': 569})
    """

    structure: TreeStructure
    columns: Columns
    classes: tuple[Label, ...]
    certificate: Certificate
    takes_missing: bool
    fcca_version: str
    thresholds: ThresholdTable | None = None
    provenance: Provenance | None = None

    @property
    def asked(self) -> tuple[int, ...]:
        """Positions of the columns that the tree tests."""
        return tuple(sorted({int(j) for j in self.structure.feature if j >= 0}))

    @property
    def leaves(self) -> list[int]:
        """Indices of the leaves among the nodes."""
        return [node for node, test in enumerate(self.tests) if test is None]

    @cached_property
    def heaviest(self) -> NDArray[np.intp]:
        """Index in ``classes`` of the class that each node predicts.

        A node predicts the class with the largest training weight.
        """
        heaviest: NDArray[np.intp] = self.structure.probability.argmax(axis=1)
        return heaviest

    def class_of(self, node: int) -> Label:
        """Return the class that a node predicts: the one with the largest weight."""
        return self.classes[int(self.heaviest[node])]

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes as an array, of dtype object if their types differ."""
        one_type = len({type(label) for label in self.classes}) == 1
        return np.array(self.classes, dtype=None if one_type else object)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the table."""
        return len(self.columns)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the columns. Accessing it raises an AttributeError if the tree was fitted without names."""
        if not self.columns.named:
            raise AttributeError("the tree was fitted without column names")
        return np.array(self.columns.names, dtype=object)

    @cached_property
    def tests(self) -> tuple[Condition | None, ...]:
        """The condition that each node tests; None for leaves."""
        return tuple(None if j < 0 else self._test(node, j) for node, j in enumerate(self.structure.feature.tolist()))

    def _test(self, node: int, column: int) -> Condition:
        if node in self.structure.asks_missing:
            return Condition("missing", column)
        codes = self.structure.categories.get(node)
        if codes is not None:
            return Condition("set", column, codes=codes)
        return Condition(self.structure.kind_of(node), column, float(self.structure.threshold[node]))

    def labels_of(self, condition: Condition) -> list[Label]:
        """Return the labels of the categories in a condition of kind "set"."""
        return [self.columns.label(condition.column, code) for code in condition.codes]

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Find the leaf of every row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            All columns of the training table. Columns that the tree does not test may hold any value.

        Returns
        -------
        ndarray of shape (n_rows,)
            Index of the leaf of each row among the nodes.
        """
        return self.structure.leaf_of(self._encoded(X, self.asked))

    def _encoded(self, X: Any, used: Iterable[int]) -> NDArray[np.float64]:
        """Encode a table as numbers, with codes for categories.

        Only the columns whose positions are in ``used`` are checked. Other columns may hold any value.
        """
        names = column_names(X)
        if names is not None and self.columns.named:
            known = list(self.columns.names)
            check_columns(names, len(names), known, len(known), knower="the tree was made for")
        return self.columns.for_prediction(used).encode(X, handle_unknown="warn")

    def transform(self, X: Any) -> NDArray[np.int8]:
        """Compute the binary columns, one per condition of ``thresholds``.

        The result is the same as ``discretizer_.transform(X)`` of the classifier.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            All columns of the training table. Columns without a condition may hold any value.

        Returns
        -------
        ndarray of shape (n_rows, n_conditions)
        """
        table = self._all_thresholds()
        return table.binarize(self._encoded(X, table.feature.tolist()))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the binary columns, such as ``"RM > 6.94"``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns, for a tree fitted without names.

        Returns
        -------
        ndarray of str
        """
        table = self._all_thresholds()
        if input_features is not None:
            given, known = [str(name) for name in np.asarray(input_features, dtype=object)], list(table.feature_names)
            if len(given) != len(known) or (self.columns.named and given != known):
                raise InvalidInputError(f"input_features must name the {len(known)} columns {known}, got {given}.")
            table = table.renamed(given)
        return np.asarray(table.names(), dtype=object)

    def _all_thresholds(self) -> ThresholdTable:
        if self.thresholds is None:
            raise InvalidInputError(
                "The binary columns can be computed only if all conditions of the classifier are known. This tree was read "
                "from a version 1 document, which stores only the conditions that the tree tests. Export the classifier "
                "again with fcca.export.to_json or fcca distill."
            )
        return self.thresholds

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class.

        The probability of a class is its share of the training weight in the row's leaf. Half a row of every class is added
        to each leaf, so that no probability is 0.
        """
        return self.structure.probability[self.apply(X)]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest training weight in each row's leaf."""
        return self.classes_[self.heaviest[self.apply(X)]]

    def rules(self) -> list[str]:
        """Return one line of text per leaf, such as ``"LSTAT ≤ 9.725 and RM > 6.94 → 1 (0.97)"``.

        A line has the conditions that lead to the leaf, the predicted class, and its share of the leaf's training weight.
        """
        classes = np.array(self.classes, dtype=object)
        return self.structure.rules(self.columns.names, classes, self.columns)

    def _described(self) -> tuple[TreeStructure, NDArray[Any], Sequence[str], Columns]:
        return self.structure, self.classes_, self.columns.names, self.columns


def as_distilled(tree: Any) -> DistilledTree:
    """Return the tree of a fitted FCCAClassifier as a DistilledTree.

    If ``tree`` is already a DistilledTree, it is returned unchanged.
    """
    if isinstance(tree, DistilledTree):
        return tree
    if not isinstance(tree, FCCAClassifier):
        raise InvalidInputError(
            f"Expected a fitted FCCAClassifier or a DistilledTree, got {type(tree).__name__}. Fit one with "
            "FCCAClassifier(…).fit(X, y)."
        )
    check_is_fitted(tree)
    from fcca import __version__

    table = tree.discretizer_.thresholds_
    columns = _plain_columns(tree, table)
    return DistilledTree(
        structure=tree.structure_,
        columns=columns,
        classes=tuple(plain_label(label, "class") for label in tree.classes_.tolist()),
        certificate=Certificate.of(tree.tree_),
        takes_missing=table.columns is not None,
        fcca_version=__version__,
        thresholds=_plain_thresholds(table, columns),
        provenance=provenance_of(tree),
    )


def _plain_columns(tree: FCCAClassifier, table: ThresholdTable) -> Columns:
    """Describe the columns without the details that only the black box needs.

    A description keeps the name, the categories, and whether values can be missing. Labels become built-in strings and
    numbers.
    """
    names = getattr(tree, "feature_names_in_", None)
    given = None if names is None else [str(name) for name in names]
    if table.columns is None:
        return Columns.numbers(tree.n_features_in_, given)
    columns = []
    for j, column in enumerate(table.columns):
        labels = None if column.categories is None else tuple(plain_label(label, "category") for label in column.categories)
        columns.append(Column(column.name if given is None else given[j], labels, column.missing))
    return Columns(tuple(columns))


def _plain_thresholds(table: ThresholdTable, columns: Columns) -> ThresholdTable:
    """Return the threshold table with the names and labels of ``columns``.

    ``columns`` are the descriptions that :func:`_plain_columns` returns.
    """
    labels = tuple(
        None if codes is None else tuple(columns.label(j, code) for code in codes)
        for j, codes in zip(table.feature.tolist(), table.codes, strict=True)
    )
    known = None if table.columns is None else columns
    return replace(table, feature_names=columns.names, labels=labels, columns=known)


def plain_label(label: Any, what: str) -> Label:
    """Convert a label to a built-in string, number or boolean.

    ``what`` names the kind of label in the error message, such as "class".
    """
    plain = label.item() if isinstance(label, np.generic) else label
    if not is_label(plain):
        raise InvalidInputError(
            f"The {what} {label!r} of type {type(label).__name__} cannot be written. Expected a string or a finite number. "
            "Convert it to a string before fitting, for example with astype(str)."
        )
    # Converted, because subclasses of str and int may print as anything.
    return next(kind(plain) for kind in (bool, str, int, float) if isinstance(plain, kind))
