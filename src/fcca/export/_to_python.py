"""Convert a tree to a Python module without dependencies.

Column names, categories and classes may come from an untrusted file. They enter the module only as ``repr`` of built-in
strings and numbers, and in comments with line breaks escaped. So they cannot become code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fcca.exceptions import InvalidInputError
from fcca.export._distilled_tree import Condition, DistilledTree, as_distilled
from fcca.utils import printable

DEEPEST = 90  # Python allows 100 levels of indentation

HEAD = '''\
"""A decision tree, written by fcca. Plain Python without dependencies.

predict({{column: value, ...}}) returns the class of a row. predict_proba returns the probability of each class: its share
among the training rows of the same leaf, smoothed by half a row per class. Only the columns in COLUMNS are used.
A missing value is None or NaN. An unknown category is in no set of categories. An infinite number raises a ValueError.
"""

FCCA_VERSION = {version}
CLASSES = {classes}
COLUMNS = {columns}
'''

PREDICT = '''

def predict(row):
    """Return the predicted class of a row, which is a dictionary of columns and values."""
    return CLASSES[CLASS_OF_LEAF[_leaf(row)]]


def predict_proba(row):
    """Return the probability of each class, as a dictionary of classes and probabilities."""
    return dict(zip(CLASSES, SHARES[_leaf(row)]))
'''

MISSING = """

def _value(row, name):
    try:
        return row[name]
    except KeyError:
        raise ValueError(f"The row has no column {name!r}. Give None for a missing value.") from None


def _is_missing(value):
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"
"""

NUMBER = """

def _number(row, name):
    value = _value(row, name)
    if _is_missing(value):
        return float("nan")
    try:
        number = None if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or number in (float("inf"), float("-inf")):
        raise ValueError(f"Column {name!r} is {value!r}. Expected a finite number.")
    return number
"""

CATEGORY = """

def _category(row, name, known):
    value = _value(row, name)
    if _is_missing(value):
        return None
    try:
        hash(value)
    except TypeError:
        raise ValueError(f"Column {name!r} is {value!r}. Expected a category.") from None
    return known.index(value) if value in known else -1
"""


def to_python(classifier: Any) -> str:
    """Convert the tree to the source code of a Python module without dependencies.

    The module has the functions ``predict(row)`` and ``predict_proba(row)``, where a row is a dictionary. They return the
    same predictions as the classifier, also for missing values and unknown categories. Predictions agree even for values
    equal to a threshold, or one floating-point step above or below it. The module raises a ValueError for an infinite
    number in a column that the tree tests.

    Parameters
    ----------
    classifier : FCCAClassifier or DistilledTree
        A fitted classifier, or a tree that was read from a file.

    Returns
    -------
    str
        Python source code.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier
    >>> from fcca.export import to_python
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier().fit(X, y)
    >>> module = {}
    >>> exec(to_python(classifier), module)
    >>> bool(module["predict"](X.iloc[0].to_dict()) == classifier.predict(X)[0])
    True
    """
    tree = as_distilled(classifier)
    nodes = tree.structure
    if nodes.depth > DEEPEST:
        raise InvalidInputError(
            f"The tree has {nodes.depth} levels, but Python code can have at most {DEEPEST} nested levels. Write the tree "
            "with to_json, or fit a tree with a smaller max_depth."
        )
    asked = tree.asked
    class_of_leaf = {leaf: int(tree.heaviest[leaf]) for leaf in tree.leaves}
    probability = nodes.probability.tolist()
    shares = {leaf: tuple(probability[leaf]) for leaf in tree.leaves}
    parts = [
        HEAD.format(
            version=repr(str(tree.fcca_version)),
            classes=repr(tuple(tree.classes)),
            columns=repr(tuple(tree.columns.names[j] for j in asked)),
        ),
        "".join(_categories(tree)),
        f"# By leaf: the position of its class, and the share of every class.\nCLASS_OF_LEAF = {class_of_leaf!r}\n",
        "".join(["SHARES = {\n", *(f"    {leaf!r}: {share!r},\n" for leaf, share in shares.items()), "}\n"]),
        PREDICT,
    ]
    kinds = {tree.columns[j].categories is None for j in asked}
    if asked:
        parts.append(MISSING)
    if True in kinds:
        parts.append(NUMBER)
    if False in kinds:
        parts.append(CATEGORY)
    parts.append("\n\ndef _leaf(row):\n" + "".join(f"    {line}\n" for line in _body(tree)))
    return "".join(parts)


def _categories(tree: DistilledTree) -> Iterator[str]:
    """Yield a line of code with the categories of each tested column."""
    for j in tree.asked:
        categories = tree.columns[j].categories
        if categories is not None:
            yield f"CATEGORIES_{j} = {tuple(categories)!r}\n"


def _body(tree: DistilledTree) -> Iterator[str]:
    for j in tree.asked:
        name = repr(tree.columns.names[j])
        if tree.columns[j].categories is None:
            yield f"x{j} = _number(row, {name})"
        else:
            yield f"x{j} = _category(row, {name}, CATEGORIES_{j})"
    yield from _branch(tree, 0)


def _branch(tree: DistilledTree, node: int) -> Iterator[str]:
    nodes, test = tree.structure, tree.tests[node]
    if test is None:
        rows = int(nodes.n_rows[node])
        yield f"return {node}  # {printable(tree.class_of(node))}, {rows:,} training row{'' if rows == 1 else 's'}"
        return
    comment = printable(nodes.test_in_words(node, True, tree.columns.names, tree.columns))
    yield f"if {_written(test, tree)}:  # {comment}"
    for line in _branch(tree, int(nodes.right[node])):
        yield f"    {line}"
    left = int(nodes.left[node])
    others = _branch(tree, left)
    if tree.tests[left] is None:
        yield "else:"
        yield from (f"    {line}" for line in others)
    else:
        yield f"el{next(others)}"
        yield from others


def _written(test: Condition, tree: DistilledTree) -> str:
    """Return a condition as a Python expression.

    For a missing value, which is NaN or None here, the expression is False, unless the condition is "is missing". For an
    unknown category, which is -1 here, it is False.
    """
    kind, j, threshold, codes = test
    if kind == "missing":
        return f"x{j} != x{j}" if tree.columns[j].categories is None else f"x{j} is None"
    if kind == "set":
        return f"x{j} == {codes[0]}" if len(codes) == 1 else f"x{j} in {tuple(int(code) for code in codes)!r}"
    return f"x{j} == {threshold!r}" if kind == "special" else f"x{j} > {threshold!r}"
