"""Convert a tree to an ONNX model with exactly the same predictions.

All comparisons are in float64. The model walks from the root to a leaf, one level per step, and computes the indices of
nodes as integers. So nothing is rounded. The probabilities are constants of the model.

A refused value is a value for which the classifier raises an error. A refused row has such a value in a tested column.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.export._distilled_tree import DistilledTree, Label, as_distilled

OPSET, ML_OPSET, IR_VERSION = 13, 2, 8  # old versions, for runtimes of several years
ROWS = "rows"
EXACT: int = 2**53  # all whole numbers below it are distinct in float64
SMALLEST: int = -(2**63)
DTYPES: dict[str, Any] = {"float64": np.float64, "int64": np.int64, "string": np.object_}


def to_onnx(classifier: Any) -> bytes:
    """Convert the tree to an ONNX model, for example for ONNX Runtime.

    Needs the extra ``fcca[onnx]``.

    Parameters
    ----------
    classifier : FCCAClassifier or DistilledTree
        A fitted classifier, or a tree that was read from a file.

    Returns
    -------
    bytes
        The model has one input of shape (rows,) per column that the tree tests, with the column's name:

        - numbers are float64, with NaN for a missing value;
        - categories that are strings stay strings, with the empty string for a missing value. If the empty string is a
          category, ``"<missing>"`` is the missing value;
        - categories that are numbers are float64, with NaN for a missing value. Whole numbers too large for float64 are
          int64, and the smallest int64 that is not a category is the missing value.

        The outputs are, in this order, ``label``, ``probabilities`` of shape (rows, classes) in float64, and ``leaf``, the
        index of the leaf among the nodes in int64. Labels are strings or int64 (booleans as 0 and 1). If a class is not a
        whole number, they are float64.

        No set of categories contains an unknown category. The classifier raises an error for rows with an infinite number.
        For such a row, the model returns leaf -1 and probabilities NaN. Its label is NaN, the empty
        string or -1. If the empty string or -1 is a class, the label is ``"<refused>"`` or the smallest int64 that is not a
        class.

        If the tree has one leaf, the only input is the first column of the table. It is used to count the rows. An output
        whose name is already the name of an input gets the suffix ``_``. The metadata describes the model in JSON:
        ``fcca.inputs`` (name, type, missing value), ``fcca.outputs``, ``fcca.classes``, ``fcca.refused_label``,
        ``fcca.version`` and ``fcca.certificate``.

    Raises
    ------
    InvalidInputError
        If the tree cannot be written in ONNX. A reason is a column without a name. Another is a mix of strings and numbers
        in the classes, or in the categories of a column. Further reasons are whole numbers beyond int64 and strings that
        are not valid Unicode.
    UnsupportedModelError
        If the library onnx is not installed.

    Examples
    --------
    >>> import onnxruntime
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier
    >>> from fcca.export import to_onnx
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier().fit(X, y)
    >>> session = onnxruntime.InferenceSession(to_onnx(classifier))
    >>> label, probabilities, leaf = session.run(None, {one.name: X[one.name].to_numpy() for one in session.get_inputs()})
    >>> bool((label == classifier.predict(X)).all() and (probabilities == classifier.predict_proba(X)).all())
    True
    """
    onnx = _library()
    tree = as_distilled(classifier)
    _check_unicode(tree)
    inputs = [_input(tree, j) for j in tree.asked or (0,)]
    graph = _Graph(onnx, {one.name for one in inputs})
    outputs = {name: graph.fresh(name) for name in ("label", "probabilities", "leaf")}
    kind, labels, refused_label = _labels(tree.classes)
    node, is_refused = _walk(graph, tree, inputs)
    _add_outputs(graph, tree, node, is_refused, np.array(labels, dtype=DTYPES[kind]), outputs)
    model = graph.model(inputs, outputs, kind, len(tree.classes))
    model.producer_name, model.producer_version = "fcca", tree.fcca_version
    onnx.helper.set_model_props(
        model,
        {
            "fcca.version": tree.fcca_version,
            "fcca.certificate": tree.certificate.in_words(),
            "fcca.classes": json.dumps(tree.classes),
            "fcca.refused_label": json.dumps(refused_label),
            "fcca.inputs": json.dumps([{"name": one.name, "type": one.kind, "missing": one.missing} for one in inputs]),
            "fcca.outputs": json.dumps(list(outputs.values())),
        },
    )
    written: bytes = model.SerializeToString(deterministic=True)
    return written


def _library() -> Any:
    try:
        onnx = import_module("onnx")
        import_module("onnx.helper")
        import_module("onnx.numpy_helper")
    except ImportError as error:
        raise UnsupportedModelError(
            "The library onnx is required to write an ONNX model, but it is not installed. Install it: pip install "
            "'fcca[onnx]'."
        ) from error
    return onnx


# --- inputs and outputs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Input:
    """An input of the model: a column that the tree tests.

    Attributes
    ----------
    column : int
        Position of the column in the table.
    name : str
    kind : {"float64", "int64", "string"}
        Type of the input.
    missing : str or int
        The value that stands for a missing value; ``"NaN"`` for float64.
    """

    column: int
    name: str
    kind: str
    missing: str | int


def _input(tree: DistilledTree, j: int) -> _Input:
    name, categories = tree.columns.names[j], tree.columns[j].categories
    if not name:
        raise InvalidInputError(
            f"Column {j} has an empty name, but every input of an ONNX model must have a name. Rename the column before "
            "fitting, or write the tree with to_json."
        )
    if categories is None:
        kind = "float64"
    elif j in tree.asked:
        kind = _kind(categories, f"categories of column {name!r}")
    else:  # used only to count the rows
        kind = "string" if any(isinstance(label, str) for label in categories) else "float64"
    if kind == "int64" and all(abs(int(label)) < EXACT for label in categories or ()):
        kind = "float64"
    return _Input(j, name, kind, "NaN" if kind == "float64" else _other_label(categories or (), "<missing>", SMALLEST))


def _labels(classes: Sequence[Label]) -> tuple[str, list[Label], str | int]:
    """Return the type of the labels, the list of labels, and the label for refused rows.

    The list holds the classes and, as its last item, the label for refused rows.
    """
    kind = _kind(classes, "classes")
    if kind == "float64":
        return kind, [*classes, float("nan")], "NaN"
    refused = _other_label(classes, "<refused>", -1)
    return kind, [*classes, refused], refused


def _kind(labels: Sequence[Label], what: str) -> str:
    """Return the type of labels: ``string``, ``int64`` (also for booleans) or ``float64``.

    ``what`` names the labels in error messages, such as "classes".
    """
    numbers = [label for label in labels if not isinstance(label, str)]
    if not numbers:
        return "string"
    if len(numbers) < len(labels):
        raise InvalidInputError(
            f"The {what} are both strings and numbers, but a tensor of ONNX has one type. Convert them to strings before "
            "fitting, for example with astype(str), or write the tree with to_json."
        )
    whole = [number for number in numbers if not isinstance(number, float)]
    if len(whole) == len(numbers) and all(SMALLEST <= number < -SMALLEST for number in whole):
        return "int64"
    if len(whole) < len(numbers) and all(abs(number) < EXACT for number in whole):
        return "float64"
    raise InvalidInputError(
        f"The {what} have numbers that neither int64 nor float64 can represent exactly. Convert them to strings before "
        "fitting, for example with astype(str), or write the tree with to_json."
    )


def _other_label(labels: Sequence[Label], text: str, number: int) -> str | int:
    """Return a placeholder that differs from every label.

    The placeholder stands for missing values or refused rows. With string labels, it is the empty string. If the empty
    string is a label, ``text`` is used, with underscores added if necessary. With numeric labels, it is ``number``. If
    ``number`` is a label, the smallest int64 that is not a label is used.
    """
    if isinstance(labels[0], str):
        if "" not in labels:
            return ""
        while text in labels:
            text += "_"
        return text
    if number not in labels:
        return number
    return next(other for other in range(SMALLEST, SMALLEST + len(labels) + 1) if other not in labels)


def _check_unicode(tree: DistilledTree) -> None:
    """Check that all strings of the tree are valid Unicode.

    JSON and Python allow lone surrogates, which are halves of a character, but ONNX does not.
    """
    asked = [label for j in tree.asked for label in tree.columns[j].categories or ()]
    for text in (tree.fcca_version, *tree.columns.names, *tree.classes, *asked):
        try:
            str(text).encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError(
                f"The string {text!r} is not valid Unicode, so an ONNX model cannot contain it. Change it before fitting, "
                "or write the tree with to_json."
            ) from error


# --- the graph -----------------------------------------------------------------------------------------------------------


@dataclass
class _Graph:
    """The ONNX graph under construction.

    Attributes
    ----------
    onnx : module
    taken : set of str
        Names that are already used.
    nodes, constants : list
        Operations and constant tensors that were added so far.
    known : dict
        Names of the constants that :meth:`whole` added, by their values.
    """

    onnx: Any
    taken: set[str]
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    known: dict[tuple[int, ...], str] = field(default_factory=dict)

    def fresh(self, name: str) -> str:
        """Return an unused name: ``name``, with underscores added if it is already used."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def constant(self, values: NDArray[Any]) -> str:
        """Add a constant tensor and return its name."""
        name = self.fresh(f"constant_{len(self.constants)}")
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def whole(self, *values: int) -> str:
        """Return the name of a constant tensor with these whole numbers.

        The tensor is added on the first call. Later calls with the same numbers return the same name.
        """
        if values not in self.known:
            self.known[values] = self.constant(np.array(values, dtype=np.int64))
        return self.known[values]

    def add(self, operator: str, *given: str, out: str | None = None, **attributes: Any) -> str:
        """Add an operation to the graph, and return the name of its output.

        Parameters
        ----------
        operator : str
            Name of an ONNX operator.
        *given : str
            Names of the inputs.
        out : str, optional
            Name of the output. By default, a new name.
        **attributes
            Attributes of the operator.
        """
        out = self.fresh(f"value_{len(self.nodes)}") if out is None else out
        domain = "ai.onnx.ml" if operator == "LabelEncoder" else ""
        node = self.onnx.helper.make_node(operator, list(given), [out], name=f"node_{len(self.nodes)}", domain=domain)
        node.attribute.extend(self.onnx.helper.make_attribute(key, value) for key, value in sorted(attributes.items()))
        self.nodes.append(node)
        return out

    def cast(self, value: str, dtype: Any) -> str:
        """Add a conversion to another type; return the name of its output."""
        return self.add("Cast", value, to=self.number_of(dtype))

    def number_of(self, dtype: Any) -> int:
        """Return the number by which ONNX identifies a type."""
        number: int = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return number

    def model(self, inputs: Sequence[_Input], outputs: dict[str, str], label: str, n_classes: int) -> Any:
        """Return the finished ONNX model.

        Parameters
        ----------
        inputs : sequence of _Input
        outputs : dict of str to str
            Names of the outputs ``label``, ``probabilities`` and ``leaf``.
        label : str
            Type of the label output.
        n_classes : int
        """
        make = self.onnx.helper

        def declared(name: str, kind: str, *shape: int) -> Any:
            return make.make_tensor_value_info(name, self.number_of(DTYPES[kind]), [ROWS, *shape])

        graph = make.make_graph(
            self.nodes,
            "fcca",
            [declared(one.name, one.kind) for one in inputs],
            [
                declared(outputs["label"], label),
                declared(outputs["probabilities"], "float64", n_classes),
                declared(outputs["leaf"], "int64"),
            ],
            self.constants,
        )
        versions = [make.make_opsetid("", OPSET), make.make_opsetid("ai.onnx.ml", ML_OPSET)]
        return make.make_model(graph, opset_imports=versions, ir_version=IR_VERSION)


def _walk(graph: _Graph, tree: DistilledTree, inputs: Sequence[_Input]) -> tuple[str, str | None]:
    """Add operations that find the leaf of every row.

    Return the names of two outputs: the index of the leaf among the nodes, and a mask of the refused rows. The second name
    is None if the tree tests no numeric column, because only infinite numbers are refused.
    """
    nodes = tree.structure
    zero = graph.onnx.numpy_helper.from_array(np.zeros(1, dtype=np.int64))
    node = graph.add("ConstantOfShape", graph.add("Shape", inputs[0].name), value=zero)
    if nodes.depth == 0:
        return node, None
    order: list[int] = []
    parts: list[str] = []
    refused: list[str] = []
    for one in inputs:
        value = graph.add("Reshape", one.name, graph.whole(-1, 1))
        tests = np.flatnonzero(nodes.feature == one.column).tolist()
        plain = tree.columns[one.column].categories is None
        tested, holds, is_refused = (_numbers if plain else _categories)(graph, tree, one, value, tests)
        order += tested
        parts.append(holds)
        refused += [] if is_refused is None else [is_refused]
    conditions = graph.add("Concat", *parts, axis=1)
    column_of = np.zeros(len(nodes.feature), dtype=np.int64)
    column_of[order] = np.arange(len(order))
    # A leaf leads to itself, so rows that arrive early stay where they are.
    is_leaf, itself = nodes.feature < 0, np.arange(len(nodes.feature))
    ways = np.stack([np.where(is_leaf, itself, nodes.left), np.where(is_leaf, itself, nodes.right)], axis=1)
    columns, children = graph.constant(column_of), graph.constant(ways.ravel().astype(np.int64))
    for _ in range(nodes.depth):
        asked = graph.add("Reshape", graph.add("Gather", columns, node), graph.whole(-1, 1))
        goes_right = graph.add("Reshape", graph.add("GatherElements", conditions, asked, axis=1), graph.whole(-1))
        way = graph.add("Add", graph.add("Mul", node, graph.whole(2)), graph.cast(goes_right, np.int64))
        node = graph.add("Gather", children, way)
    if not refused:
        return node, None
    any_refused = refused[0]
    for other in refused[1:]:
        any_refused = graph.add("Or", any_refused, other)
    return node, graph.add("Reshape", any_refused, graph.whole(-1))


def _numbers(graph: _Graph, tree: DistilledTree, one: _Input, value: str, tests: list[int]) -> tuple[list[int], str, str]:
    """Add operations that evaluate all conditions on a numeric column.

    ``tests`` are the nodes that test the column. Returns a new order of these nodes, and the names of two outputs. The first
    output is a matrix of truth values, with one column per node in the new order. The second is a mask of the refused rows.
    """
    nodes = tree.structure
    missing_tests = [node for node in tests if node in nodes.asks_missing]
    special = [node for node in tests if node in nodes.asks_special]
    cuts = [node for node in tests if nodes.kind_of(node) == "cut"]
    is_missing = graph.add("IsNaN", value)
    # NaN is neither greater than nor equal to a number, so a missing value makes cuts and special values false.
    parts = [graph.add("Greater", value, graph.constant(nodes.threshold[cuts][None, :]))] if cuts else []
    parts += [graph.add("Equal", value, graph.constant(nodes.threshold[special][None, :]))] if special else []
    parts += [is_missing] * len(missing_tests)
    return cuts + special + missing_tests, graph.add("Concat", *parts, axis=1), graph.add("IsInf", value)


def _categories(
    graph: _Graph, tree: DistilledTree, one: _Input, value: str, tests: list[int]
) -> tuple[list[int], str, None]:
    """Add operations that evaluate all conditions on a categorical column.

    The result is as in :func:`_numbers`, but no row is refused. A constant table has one row per category, with the truth
    value of every condition. Its last two rows are for a missing value and for an unknown category.
    """
    nodes, labels = tree.structure, list(tree.columns[one.column].categories or ())
    n = len(labels)
    table = np.zeros((n + 2, len(tests)), dtype=np.bool_)
    for at, node in enumerate(tests):
        table[[n] if node in nodes.asks_missing else list(nodes.categories[node]), at] = True
    code = graph.add("Reshape", _code(graph, one, value, labels), graph.whole(-1))
    return tests, graph.add("Gather", graph.constant(table), code), None


def _code(graph: _Graph, one: _Input, value: str, labels: list[Any]) -> str:
    """Add operations that look up the code of each category, and return the output's name.

    The code is the index of the category in ``labels``. With n labels, the code is n for a missing value, and n + 1 for an
    unknown category.
    """
    n = len(labels)
    if one.kind == "string":
        keys, codes = [*labels, one.missing], list(range(n + 1))
        return graph.add("LabelEncoder", value, keys_strings=keys, values_int64s=codes, default_int64=n + 1)
    keys = labels if one.kind == "float64" else [*labels, one.missing]
    same = graph.add("Equal", value, graph.constant(np.array([keys], dtype=DTYPES[one.kind])))
    # At most one key is hit. Codes are counted back from n + 1, the code without a hit.
    back = graph.constant(np.arange(len(keys), dtype=np.int64)[None, :] - (n + 1))
    hit = graph.add("ReduceSum", graph.add("Mul", graph.cast(same, np.int64), back), graph.whole(1), keepdims=1)
    code = graph.add("Add", hit, graph.whole(n + 1))
    return code if one.kind == "int64" else graph.add("Where", graph.add("IsNaN", value), graph.whole(n), code)


def _add_outputs(
    graph: _Graph,
    tree: DistilledTree,
    node: str,
    is_refused: str | None,
    labels: NDArray[Any],
    outputs: dict[str, str],
) -> None:
    """Add the three outputs: label, probabilities and leaf.

    Each is read from a constant table with one line per leaf and a last line for refused rows.
    """
    nodes = tree.structure
    leaves = tree.leaves
    place = np.zeros(len(nodes.feature), dtype=np.int64)
    place[leaves] = np.arange(len(leaves))
    share = nodes.probability[leaves]
    at = graph.add("Gather", graph.constant(place), node)
    if is_refused is not None:
        at = graph.add("Where", is_refused, graph.whole(len(leaves)), at)
    nothing = np.full((1, share.shape[1]), np.nan)
    label = np.append(tree.heaviest[leaves], len(labels) - 1)
    tables = {
        "label": labels[label],
        "probabilities": np.concatenate([share, nothing]),
        "leaf": np.array([*leaves, -1], dtype=np.int64),
    }
    for name, table in tables.items():
        graph.add("Gather", graph.constant(table), at, out=outputs[name])
