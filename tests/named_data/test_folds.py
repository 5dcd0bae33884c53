import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

from fcca.datasets import load
from fcca.exceptions import InvalidInputError
from named_data.tables import real_table
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
    for seed in (None, 7):
        folds = data.folds(seed=seed)
        held_out = np.concatenate([fold.held_out for fold in folds])
        assert sorted([*held_out, *folds[0].external]) == list(range(data.rows))
        assert (len(held_out), len(folds[0].external)) == (5_000, 14_020)
        assert all(not set(fold.training) & {*fold.held_out, *fold.external} for fold in folds)


def test_a_part_of_a_big_set_is_all_for_the_folds(folder):
    data = big(folder, rows=6_000)
    training, external = data.split()
    assert (len(training), len(external), data.complete) == (6_000, 0, False)


def test_a_seed_gives_other_folds_and_always_the_same_ones():
    data = load("breast_cancer")
    first, again, plain = data.folds(seed=1), data.folds(seed=1), data.folds()
    np.testing.assert_array_equal(first[0].held_out, again[0].held_out)
    assert set(first[0].held_out) != set(plain[0].held_out)
    assert len(data.folds(3)) == 3


@pytest.mark.parametrize("n", [0, 1, 51])
def test_a_number_of_folds_that_cannot_be_is_refused(n):
    with pytest.raises(InvalidInputError, match="at most 50"):
        load("iris").folds(n)
