"""Honest files of every kind, to be damaged."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

RULES = """\
immutable: [a, b]
increasing: c
decreasing: [d]
integer: [a]
fillable: [b]
bounds:
  a: {low: 0, high: 90000}
  b: {relative: [-0.2, 0.2]}
  c: {by: [0, 5]}
  d: [1, ~]
grid: {a: 1, b: {step: 0.5, origin: 0.25}}
cost: {a: 2, b: 0.5}
forbidden: {e: [[yes, no]]}
allowed: {f: {clerk: [nurse, cook]}}
one_hot: [[g, h], [i, j]]
max_changes: 3
rules: ["a <= b", "a + 2 * b >= 3 - c"]
implies: ["c rises -> a rises"]
"""


def numbers(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(2)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)


def categories(n: int = 150, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": rng.normal(30, 8, n).round(1),
            "job": pd.Categorical(rng.choice(["clerk", "nurse", "cook"], n)),
            "age": rng.integers(18, 90, n).astype(float),
        }
    )
    y = ((frame["income"] > 28) & (frame["job"] == "nurse")).to_numpy().astype(int)
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    return frame, y


def _saved(save: Callable[[str], Any], name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        save(str(path))
        return path.read_bytes()


@cache
def _distilled() -> list[Any]:
    from export.trees import fitted

    return [fitted(seed)[0] for seed in range(4)]


def trees() -> list[bytes]:
    from fcca.export import to_json

    return [to_json(classifier).encode() for classifier in _distilled()]


def tables() -> list[bytes]:
    return [classifier.discretizer_.thresholds_.to_json().encode() for classifier in _distilled()]


def certificates() -> list[bytes]:
    from fcca.certificates import certificate

    return [certificate(classifier).encode() for classifier in _distilled()]


def _skops(model: Any) -> bytes:
    import skops.io

    return bytes(skops.io.dumps(model))


def skops_of_scikit_learn() -> list[bytes]:
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = numbers()
    models = (
        RandomForestClassifier(3, max_depth=3, random_state=0),
        GradientBoostingClassifier(n_estimators=3, max_depth=2),
        HistGradientBoostingClassifier(max_iter=3, max_depth=3),
        make_pipeline(StandardScaler(), LogisticRegression()),
    )
    return [_skops(model.fit(X, y)) for model in models]


def skops_of_boosters() -> list[bytes]:
    return [_skops(model) for model in (_xgboost(), _lightgbm(), _catboost())]


def _xgboost(*, by_category: bool = False, many: bool = False, **parameters: Any) -> Any:
    from xgboost import XGBClassifier

    X, y = categories() if by_category else numbers()
    if many:
        y = (np.arange(len(y)) + y) % 3
    model = XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1, enable_categorical=by_category, **parameters)
    return model.fit(X, y)


def _lightgbm(*, by_category: bool = False, many: bool = False) -> Any:
    from lightgbm import LGBMClassifier

    X, y = categories() if by_category else numbers()
    if many:
        y = (np.arange(len(y)) + y) % 3
    model = LGBMClassifier(n_estimators=4, max_depth=3, n_jobs=1, verbose=-1, min_child_samples=5, min_data_per_group=5)
    return model.fit(X, y)


def _catboost(*, by_category: bool = False, many: bool = False, **parameters: Any) -> Any:
    from catboost import CatBoostClassifier

    X, y = categories() if by_category else numbers()
    if many:
        y = (np.arange(len(y)) + y) % 3
    options = {"iterations": 4, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1} | parameters
    chosen = {"cat_features": ["job"], "one_hot_max_size": 10} if by_category else {}
    return CatBoostClassifier(**options, **chosen).fit(X.fillna(0) if by_category else X, y)


def xgboost_json() -> list[bytes]:
    models = (_xgboost(), _xgboost(by_category=True), _xgboost(many=True), _xgboost(booster="dart"))
    return [_saved(model.save_model, "m.json") for model in models]


def xgboost_ubj() -> list[bytes]:
    models = (_xgboost(), _xgboost(by_category=True), _xgboost(many=True), _xgboost(booster="dart"))
    return [_saved(model.save_model, "m.ubj") for model in models]


def lightgbm_text() -> list[bytes]:
    models = (_lightgbm(), _lightgbm(by_category=True), _lightgbm(many=True))
    return [_saved(model.booster_.save_model, "m.txt") for model in models]


def _catboosts() -> list[Any]:
    return [_catboost(), _catboost(by_category=True), _catboost(many=True), _catboost(grow_policy="Lossguide")]


def catboost_binary() -> list[bytes]:
    return [_saved(model.save_model, "m.cbm") for model in _catboosts()]


def catboost_json() -> list[bytes]:
    return [_saved(lambda path, m=model: m.save_model(path, format="json"), "m.json") for model in _catboosts()]


def rules() -> list[bytes]:
    return [RULES.encode(), b"a: &x [1, 2]\nimmutable: *x\n", b'{"immutable": ["a"], "max_changes": 2}']


def csv() -> list[bytes]:
    frame, y = categories(40)
    return [
        frame.assign(label=y).to_csv(index=False).encode(),
        frame.assign(label=y).to_csv(index=False, sep="\t").encode(),
        b'a,"b, c",label\n1,"x\ny",yes\n2,,no\n' * 3,
    ]


def parquet() -> list[bytes]:
    frame, y = categories(40)
    return [
        _saved(frame.assign(label=y).to_parquet, "t.parquet"),
        _saved(lambda path: frame.assign(label=y).to_parquet(path, compression=None, row_group_size=10), "t.parquet"),
    ]


#: Kind: honest files, how they are structured, how a file's name ends.
KINDS: dict[str, tuple[Callable[[], list[bytes]], str | None, str]] = {
    "tree.json": (trees, "json", ".json"),
    "thresholds.json": (tables, "json", ".json"),
    "certificate.json": (certificates, "json", ".json"),
    "skops": (skops_of_scikit_learn, "zip", ".skops"),
    "skops of boosters": (skops_of_boosters, "zip", ".skops"),
    "XGBoost json": (xgboost_json, "json", ".json"),
    "XGBoost ubj": (xgboost_ubj, "numbers", ".ubj"),
    "LightGBM": (lightgbm_text, "lines", ".txt"),
    "CatBoost cbm": (catboost_binary, "numbers", ".cbm"),
    "CatBoost json": (catboost_json, "json", ".json"),
    "rules.yaml": (rules, "lines", ".yaml"),
    "csv": (csv, "lines", ".csv"),
    "parquet": (parquet, "numbers", ".parquet"),
}
