"""Rounded thresholds are short, and lie between the same training values."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fcca.utils import decimal_in_gap, plain, shortest_decimal


@pytest.mark.parametrize(
    ("near", "low", "high", "expected"),
    [
        (6.9405, 6.939, 6.943, 6.94),
        (6.0, 5.0, 7.0, 6.0),
        (1.255, 1.0, 1.26, 1.0),  # one digit is shorter than 1.2 and lies in the gap
        (1.255, 1.1, 1.26, 1.2),  # rounding to nearest would leave the gap
        (-0.35, -0.4, -0.3, -0.4),
        (1267.0, 1234.0, 1300.0, 1270.0),
        (0.0, -1.0, 1.0, 0.0),
        (0.038, -1.0, 3.0, 0.0),  # shorter than 0.04
        (2.9, -1.0, 3.0, 2.0),  # as short as 0, and closer
        (9.5, 9.0, 10.0, 9.0),
        (9.99, 9.98, 10.2, 10.0),
        (1e-7, 0.99e-7, 1.01e-7, 1e-7),
    ],
)
def test_known_intervals(near, low, high, expected):
    assert shortest_decimal(near, low, high) == expected


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12), st.floats(0, 1))
def test_result_is_in_the_interval_and_no_longer_than_the_cut(a, b, share):
    low, high = min(a, b), max(a, b)
    near = low + (high - low) * share
    if not low <= near < high:
        return
    rounded = shortest_decimal(near, low, high)
    assert low <= rounded < high
    assert len(plain(rounded).strip("-").replace(".", "")) <= len(plain(near).strip("-").replace(".", "")) + 1


def test_a_cut_without_neighbours_is_left_alone():
    assert shortest_decimal(1.2345, np.nan, 2.0) == 1.2345


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_plain_text_reads_back_as_the_same_number(x):
    assert float(plain(x)) == x


@pytest.mark.parametrize(
    ("near", "below", "above", "expected"),
    [
        (500.0, 0.0, 1000.0, 500.0),
        (3.5, 3.0, 4.0, 3.0),
        (6.5, 3.0, 10.0, 6.0),
        (0.45, 0.0, 0.9, 0.4),
        (1500.0, 1000.0, 2000.0, 1500.0),
        (1999.0, 1000.0, 2000.0, 1700.0),
        (5.0, float("nan"), 6.0, 5.0),
    ],
)
def test_a_decimal_in_a_gap_is_near_its_middle(near, below, above, expected):
    assert decimal_in_gap(near, below, above) == expected


def test_a_decimal_in_a_gap_separates_the_neighbours():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        below = rng.normal() * 10.0 ** rng.integers(-6, 7)
        above = below + abs(below) * 10.0 ** rng.integers(-15, 3)
        if below < above:
            found = decimal_in_gap(below, below, above)
            assert below <= found < above
    assert decimal_in_gap(1.0, 1.0, np.nextafter(1.0, 2.0)) == 1.0
