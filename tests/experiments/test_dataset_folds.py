import numpy as np
import pandas as pd
import pytest
from dataset_tables import real_table
from sklearn.model_selection import StratifiedKFold

from experiments.datasets import load
from fcca.exceptions import InvalidInputError
from real_data import FOLDER


@pytest.mark.parametrize("name", ["boston", "arrhythmia", "ionosphere", "magic", "particle", "vehicle"])
def test_the_folds_are_the_papers(monkeypatch, name):
    table = real_table(name)
    monkeypatch.setenv("FCCA_DATA", FOLDER)
    data = load(name)
    external = table.sample(n=len(table) - 5000 if name == "magic" else 0, random_state=100)
    training = table.drop(index=external.index)
    folds = data.folds()
    assert len(folds) == 5
    for fold, (fitted, tested) in zip(folds, StratifiedKFold(5).split(training, training["label"]), strict=True):
        np.testing.assert_array_equal(fold.training, training.index[fitted])
        np.testing.assert_array_equal(fold.held_out, training.index[tested])
        np.testing.assert_array_equal(fold.external, external.index)
    if data.complete and name != "arrhythmia":  # whose 452 rows the paper prints as 453
        assert (len(training), len(external)) == (data.paper.training_rows, data.paper.external_rows)


def big(folder, rows=19_020):
    generator = np.random.default_rng(3)
    table = pd.DataFrame(generator.random((rows, 10)), columns=[f"A{j}" for j in range(1, 11)])
    table["label"] = (generator.random(rows) < 0.35).astype(int)
    table.to_csv(folder / "magic.csv", index=False)
    return load("magic")


def test_every_row_of_a_big_set_is_used_once(folder):
    data = big(folder)
    folds = data.folds()
    held_out = np.concatenate([fold.held_out for fold in folds])
    assert sorted([*held_out, *folds[0].external]) == list(range(data.rows))
    assert (len(held_out), len(folds[0].external)) == (5_000, 14_020)
    assert all(not set(fold.training) & {*fold.held_out, *fold.external} for fold in folds)


def test_a_part_of_a_big_set_is_all_for_the_folds(folder):
    data = big(folder, rows=6_000)
    training, external = data.split()
    assert (len(training), len(external), data.complete) == (6_000, 0, False)


def test_a_class_with_fewer_rows_than_folds_is_refused(folder):
    pd.DataFrame({"a": range(20), "label": [0] * 16 + [1] * 4}).to_csv(folder / "mine.csv", index=False)
    with pytest.raises(InvalidInputError, match=r"rarest class of mine has 4 row.*at least 5"):
        load("mine").folds()
