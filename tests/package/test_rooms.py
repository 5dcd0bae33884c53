"""Private modules stay in their room, and private attributes in their object."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import fcca

PACKAGE = Path(fcca.__file__).parent
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
NAMED_TUPLE_METHODS = {"_replace", "_asdict", "_fields"}

#: Private attributes of scikit-learn that have no public equivalent, by the module that reads them.
OF_SCIKIT_LEARN = {
    "cli/_models.py": {"_curve_scorer", "_get_pos_label"},
    "models/files/_sklearn_objects.py": {
        "_bin_mapper",
        "_dual_coef_",
        "_intercept_",
        "_n_support",
        "_predictors",
        "_probA",
        "_probB",
        "_raw_predict_init",
    },
    "models/pipelines/_steps.py": {"_n_features_outs", "_transformer_to_input_indices"},
    "models/readers/_calibration.py": {"_get_estimator"},
    "models/readers/_decision_threshold.py": {"_curve_scorer", "_get_pos_label"},
    "models/readers/_ensembles.py": {"_weights_not_none"},
    "models/readers/_forests.py": {"_support_missing_values"},
    "models/readers/_gradient_boosting.py": {"_raw_predict_init"},
    "models/readers/_hist_gradient_boosting.py": {"_preprocessor", "_predictors", "_baseline_prediction"},
    "discretizers/_fit_callbacks.py": {"_init_callback_context"},
}


def name_of(path):
    return path.relative_to(PACKAGE).as_posix()


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def private_attributes(tree):
    """Private attributes that are read from anything but self, cls and super()."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            parent = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", None) == "super"
            if not own and not parent and node.attr not in NAMED_TUPLE_METHODS:
                yield node.attr


def foreign_private_modules(path, tree):
    """Private modules of other rooms that a module imports."""
    return [
        module
        for module in imported_modules(tree)
        if module.startswith("fcca.")
        and module != "fcca._core"
        and module.split(".")[1] != room_of(path)
        and any(map(is_private, module.split(".")[1:]))
    ]


def test_no_room_imports_a_private_module_of_another():
    found = {name_of(path): foreign_private_modules(path, tree) for path, tree in TREES.items()}
    assert {name: modules for name, modules in found.items() if modules} == {}


def test_no_code_reads_a_private_attribute_of_another_object():
    found = {name_of(path): set(private_attributes(tree)) for path, tree in TREES.items()}
    assert {name: attributes for name, attributes in found.items() if attributes} == OF_SCIKIT_LEARN


def test_every_public_room_is_there_after_import_fcca():
    program = "import fcca; print(*sorted(room for room in fcca._ROOMS if getattr(fcca, room).__name__ == f'fcca.{room}'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    rooms = {room_of(path) for path in TREES} - {"__init__"}
    assert set(done.stdout.split()) == rooms - {"cells", "cli", "conditions", "milp", "quality", "tables", "utils"}


@pytest.mark.parametrize("room", sorted({room_of(path) for path in TREES} - {"__init__"}))
def test_public_names_of_a_room_exist(room):
    module = import_module(f"fcca.{room}")
    assert all(hasattr(module, name) for name in getattr(module, "__all__", ()))
