"""Checks of single numbers: whole numbers and real numbers of any type, but no booleans, texts and NaN."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from fcca.utils import is_number, is_whole


@pytest.mark.parametrize("value", [0, -3, 10**400, np.int8(5), np.uint64(2**63)])
def test_whole_numbers_are_whole_and_numbers(value):
    assert is_whole(value)
    assert is_number(value)


@pytest.mark.parametrize("value", [2.0, np.float32(0.5), Fraction(1, 3), math.inf, -math.inf])
def test_other_numbers_are_numbers_and_not_whole(value):
    assert is_number(value)
    assert not is_whole(value)


@pytest.mark.parametrize("value", [True, False, np.True_, math.nan, "1", None, 1j, [1], np.array([1]), Decimal(1)])
def test_everything_else_is_neither(value):
    assert not is_number(value)
    assert not is_whole(value)


def test_limits_are_included():
    assert is_whole(1, at_least=1)
    assert not is_whole(0, at_least=1)
    assert is_number(0, at_least=0, at_most=1)
    assert is_number(1.0, at_least=0, at_most=1)
    assert not is_number(1.5, at_most=1)
    assert not is_number(math.inf, at_most=1)
    assert not is_number(-0.1, at_least=0)
