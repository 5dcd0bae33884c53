"""The option ``--class-names``: names to show instead of the labels of the classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from fcca.cli._checks import class_names_of
from fcca.exceptions import InvalidInputError
from fcca.export import DistilledTree
from fcca.utils import close_to


class ClassNames:
    """Names to show instead of the labels of classes. Computations use the labels.

    Parameters
    ----------
    text : str or None
        Value of ``--class-names``, such as ``0=good,1=bad``. With None, the labels are shown.
    classes : iterable
        The labels of all classes.
    of : str
        What has these classes, for error messages, such as "the model".
    """

    def __init__(self, text: str | None, classes: Iterable[Any], of: str) -> None:
        given: Mapping[str, str] = {} if text is None else class_names_of(text)
        self.labels = list(classes)
        texts = [str(label) for label in self.labels]
        unknown = [label for label in given if label not in texts]
        if unknown:
            raise InvalidInputError(
                f"--class-names has a name for {unknown[0]!r}, which is not a class of {of}. {close_to(unknown[0], texts)}"
            )
        shown = [given.get(label, label) for label in texts]
        repeated = [name for name in shown if shown.count(name) > 1]
        if repeated:
            raise InvalidInputError(
                f"--class-names gives two classes of {of} the name {repeated[0]!r}. Give every class a different name."
            )
        #: The names by label; empty without the option.
        self.by_label: dict[Any, str] = dict(zip(self.labels, shown, strict=True)) if given else {}

    def name(self, label: Any) -> Any:
        """Return the name of a class, or its label without the option."""
        return self.by_label.get(label, label)

    def all(self, labels: Iterable[Any]) -> list[Any]:
        """Return the names of several classes."""
        return [self.name(label) for label in labels]

    def label(self, option: str, text: str | None) -> Any:
        """Return the label of the class that another option names; None without that option.

        Parameters
        ----------
        option : str
            Name of the option, for the error message.
        text : str or None
            Value of the option.
        """
        if text is None:
            return None
        named = {str(self.name(label)): label for label in self.labels}
        if text not in named:
            raise InvalidInputError(f"{option} is {text}, which is not a class. {close_to(text, named)}")
        return named[text]

    def of_tree(self, tree: DistilledTree) -> DistilledTree:
        """Return a tree that predicts the names."""
        return replace(tree, classes=tuple(self.all(tree.classes))) if self.by_label else tree
