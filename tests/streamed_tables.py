"""Tables for ``fcca distill`` in chunks, and a run over one in chunks and in memory."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from command_line import distill, loans, table

SAME_FILES = ("thresholds.csv", "thresholds.json", "tree.json")
NOT_COMPARED = ("streamed", "seconds", "files", "quality")


def people(n: int = 150, seed: int = 0) -> pd.DataFrame:
    """Numbers of several types, a boolean column with gaps, and a label that hangs on two of them."""
    rng = np.random.default_rng(seed)
    frame = table(n, seed)
    frame["age"] = rng.integers(18, 80, n).astype("int16")
    frame["score"] = rng.normal(size=n).astype("float32")
    frame["label"] = np.where((frame["height"] + frame["age"] / 40 > 1) ^ (rng.random(n) < 0.05), "yes", "no")
    return frame


def with_gaps(n: int = 150) -> pd.DataFrame:
    frame = people(n)
    rng = np.random.default_rng(1)
    frame.loc[rng.random(n) < 0.2, "height"] = np.nan
    frame["member"] = pd.array(np.where(rng.random(n) < 0.1, None, frame["member"]), dtype="boolean")
    return frame


def categories(n: int = 200) -> pd.DataFrame:
    frame = loans(n)
    rng = np.random.default_rng(2)
    frame["grade"] = pd.Categorical(rng.choice(["low", "mid", "top"], n), categories=["top", "mid", "low"])
    frame["region"] = rng.integers(1, 5, n)
    frame.loc[rng.random(n) < 0.05, "purpose"] = "?"
    return frame


def check_same_figures(streamed: dict, in_memory: dict) -> None:
    """Statistics of rows in chunks equal the statistics of the same rows in memory."""
    for name in ("of", "rows", "confusion"):
        assert streamed[name] == in_memory[name], name
    # What the black box is worth is only known in memory.
    longer = f"{streamed['verdict']} The black box is no better, either"
    assert streamed["verdict"] == in_memory["verdict"] or in_memory["verdict"].startswith(longer)
    for name in ("tree", "commonest_class"):
        assert streamed[name] == pytest.approx(in_memory[name]), name
    known = ("accuracy", "balanced_accuracy")
    assert [streamed["black_box"][name] for name in known] == pytest.approx([in_memory["black_box"][name] for name in known])
    assert (streamed["cart"], streamed["black_box"]["auc"]) == (None, None)
    assert in_memory["cart"] is not None
    if streamed["of"] == "held_out":
        assert [line["options"] for line in streamed["advice"]] == [line["options"] for line in in_memory["advice"]]


def both(tmp_path, frame, *options: object, row_group_size: int = 64) -> tuple[dict, dict]:
    """The JSON of a run in chunks and of one in memory, whose files are the same."""
    path = tmp_path / "t.parquet"
    frame.to_parquet(path, row_group_size=row_group_size)
    found = []
    for mode in ("--stream", "--no-stream"):
        result = distill(path, mode, "--json", "--out", tmp_path / mode[2:], *options)
        assert result.exit_code == 0, result.output
        found.append(json.loads(result.stdout))
    for name in SAME_FILES:
        assert (tmp_path / "stream" / name).read_bytes() == (tmp_path / "no-stream" / name).read_bytes(), name
    if "--no-counterfactuals" not in options:
        lines = [pd.read_parquet(tmp_path / mode / "counterfactuals.parquet") for mode in ("stream", "no-stream")]
        pd.testing.assert_frame_equal(*lines, check_exact=True)
    assert [one["streamed"] for one in found] == [True, False]
    for name in found[0]:
        if name not in NOT_COMPARED:
            assert found[0][name] == found[1][name], name
    check_same_figures(*(one["quality"] for one in found))
    return found[0], found[1]
