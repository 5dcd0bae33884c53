"""Distinct rows with counts: keys are equal where no condition differs, and counts add up in any order."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fcca import ThresholdTable
from fcca.discretizers import CountedRows, RowCoder
from fcca.tables import Column, Columns

LABELS = ("a", "b", "c", "d", "e")
BESIDE_CUTS = (-1.0, 0.0, 0.1, 2.0)


@st.composite
def _tables(draw):
    """Conditions of all kinds on two columns of numbers and one of categories."""
    columns = Columns((Column("x", missing=True), Column("y"), Column("z", LABELS, missing=True)))
    cuts = draw(st.lists(st.tuples(st.integers(0, 1), st.sampled_from(BESIDE_CUTS)), max_size=6))
    sets = draw(st.lists(st.sets(st.sampled_from(LABELS), min_size=1, max_size=4), max_size=4))
    missing = draw(st.sets(st.sampled_from([0, 2])))
    feature = [j for j, _ in cuts] + [2] * len(sets) + sorted(missing)
    threshold = [cut for _, cut in cuts] + [np.nan] * (len(sets) + len(missing))
    kind = ["cut"] * len(cuts) + ["set"] * len(sets) + ["missing"] * len(missing)
    labels = [None] * len(cuts) + [tuple(sorted(one)) for one in sets] + [None] * len(missing)
    ones = np.ones(len(feature))
    return ThresholdTable.from_counts("xyz", feature, threshold, ones, kind=kind, labels=labels, columns=columns)[0]


def _rows(seed, n=60):
    rng = np.random.default_rng(seed)
    near = np.array([[np.nextafter(cut, -9), cut, np.nextafter(cut, 9)] for cut in BESIDE_CUTS]).ravel()
    X = np.column_stack([rng.choice(near, n), rng.choice(near, n), rng.integers(0, len(LABELS), n)])
    X[rng.random(n) < 0.2, 0] = np.nan
    X[rng.random(n) < 0.2, 2] = np.nan
    return X, rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(1, 4, n).astype(float)


def _distinct(table, X, label, answer, weight):
    """The same, one row after the other."""
    sums = {}
    for key, w in zip(map(tuple, np.column_stack([table.binarize(X), label, answer]).tolist()), weight, strict=True):
        n_rows, total = sums.get(key, (0, 0.0))
        sums[key] = (n_rows + 1, total + w)
    return sums


def _found(coder, table, rows):
    label, answer = coder.labels_and_predictions(rows)
    B = coder.binarized(rows, table)
    keys = list(map(tuple, np.column_stack([B, label, answer]).tolist()))
    assert len(set(keys)) == len(keys), "two keys say the same"
    return dict(zip(keys, zip(rows.n_rows, rows.weight, strict=True), strict=True))


@settings(max_examples=40, deadline=None)
@given(table=_tables(), seed=st.integers(0, 10**6))
def test_keys_are_equal_exactly_where_no_condition_label_or_answer_differs(table, seed):
    X, label, answer, weight = _rows(seed)
    coder = RowCoder.of(table, 3, 2)
    counted = coder.count(X, label, answer, weight)
    assert _found(coder, table, counted) == _distinct(table, X, label, answer, weight)


@settings(max_examples=20, deadline=None)
@given(table=_tables(), seed=st.integers(0, 10**6), at=st.integers(0, 60))
def test_counts_of_two_parts_are_those_of_the_whole_in_any_order(table, seed, at):
    X, label, answer, weight = _rows(seed)
    coder = RowCoder.of(table, 3, 2)
    soft = np.random.default_rng(seed).integers(0, 17, (len(X), 3)).astype(float)
    whole = coder.count(X, label, answer, weight, soft)
    parts = (slice(at), slice(at, None))
    first, second = (coder.count(X[part], label[part], answer[part], weight[part], soft[part]) for part in parts)
    for both in (first + second, second + first, coder.none(3) + first + second):
        for name in ("keys", "n_rows", "weight", "soft"):
            assert np.array_equal(getattr(both, name), getattr(whole, name))
            assert getattr(both, name).dtype == getattr(whole, name).dtype


@pytest.mark.parametrize(("n_features", "n_words"), [(1, 1), (15, 1), (16, 2), (30, 2), (31, 3), (70, 5)])
def test_more_conditions_than_a_word_has_bits_take_more_words(n_features, n_words):
    rng = np.random.default_rng(n_features)
    cuts = np.arange(1, 16) / 16  # 16 groups a column: 4 bits
    feature, threshold = np.repeat(np.arange(n_features), len(cuts)), np.tile(cuts, n_features)
    names = [f"x{j}" for j in range(n_features)]
    table, _ = ThresholdTable.from_counts(names, feature, threshold, np.ones(len(feature)))
    coder = RowCoder.of(table, 2, 2)
    X = rng.random((40, n_features))
    X = np.concatenate([X, X[:7], X[:3]])
    nearly = X[:n_features].copy()
    nearly[np.arange(len(nearly)), np.arange(len(nearly))] = 2.0  # another group in one column
    X = np.concatenate([X, nearly])
    label, answer = np.zeros(len(X), dtype=np.int64), np.ones(len(X), dtype=np.int64)
    counted = coder.count(X, label, answer)
    assert counted.keys.shape[1] == n_words
    assert _found(coder, table, counted) == _distinct(table, X, label, answer, np.ones(len(X)))


def test_the_largest_word_does_not_overflow():
    """2, 2 and 2**61 groups are exactly 2**63, the most a word holds."""
    keys = np.array([[2**63 - 1, 0], [2**63 - 1, 1], [0, 2**63 - 1], [2**63 - 1, 0]], dtype=np.uint64)
    counted = CountedRows.of(keys)
    assert counted.keys.tolist() == [[0, 2**63 - 1], [2**63 - 1, 0], [2**63 - 1, 1]]
    assert counted.n_rows.tolist() == [1, 2, 1]
    assert counted.weight.tolist() == [1.0, 2.0, 1.0]


def test_rows_that_stand_for_keys_say_the_same_and_have_the_same_key():
    X, label, answer, weight = _rows(5)
    columns = Columns((Column("x", missing=True), Column("y"), Column("z", LABELS, missing=True)))
    table, _ = ThresholdTable.from_counts(
        "xyz", [0, 0, 1, 2, 2], [0.1, -1.0, 2.0, np.nan, np.nan], np.ones(5), kind=["cut", "cut", "cut", "set", "missing"],
        labels=[None, None, None, ("b", "d"), None], columns=columns,
    )  # fmt: skip
    coder = RowCoder.of(table, 3, 2)
    counted = coder.count(X, label, answer, weight)
    again = coder.count(coder.values(counted.keys), *coder.labels_and_predictions(counted), counted.weight)
    assert np.array_equal(again.keys, counted.keys)
    assert np.array_equal(again.weight, counted.weight)


def test_no_condition_leaves_label_and_answer():
    table = ThresholdTable.from_list([], ["x", "y"])
    coder = RowCoder.of(table, 2, 2)
    counted = coder.count(np.zeros((4, 2)), np.array([0, 1, 1, 0]), np.array([0, 1, 1, 1]))
    assert counted.n_rows.tolist() == [1, 1, 2]
    assert coder.binarized(counted, table).shape == (3, 0)


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(20))
def test_many_rows_and_conditions(seed):
    rng = np.random.default_rng(seed)
    n, n_features = 20_000, int(rng.integers(5, 40))
    X = np.round(rng.normal(size=(n, n_features)), 1)
    feature = rng.integers(0, n_features, 150)
    cuts = np.round(rng.normal(size=150), 1)
    table, _ = ThresholdTable.from_counts([f"x{j}" for j in range(n_features)], feature, cuts, np.ones(150))
    coder = RowCoder.of(table, 4, 3)
    label, answer = rng.integers(0, 4, n), rng.integers(0, 3, n)
    ends = np.sort(rng.integers(0, n, 9))
    chunks = [coder.count(*(part[a:b] for part in (X, label, answer))) for a, b in zip([0, *ends], [*ends, n], strict=True)]
    total = chunks[0]
    for chunk in chunks[1:]:
        total = total + chunk
    assert np.array_equal(total.keys, coder.count(X, label, answer).keys)
    assert _found(coder, table, total) == _distinct(table, X, label, answer, np.ones(n))
