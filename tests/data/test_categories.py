"""Categorical columns of a data set: levels, codes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.data.categories import NO_LEVEL, Levels, check_categorical
from pyopencl_gbdt.errors import DataError

X = np.array([[7.0, 0.5], [-2, 1.5], [np.nan, 2.5], [7, np.nan], [3, 0.5]], np.float32)


def test_levels_are_sorted_and_codes_are_their_places():
    data = Dataset(X, categorical_features=[0])
    assert data.categories.keys() == {0}
    assert data.categories[0].values.tolist() == [-2, 3, 7]
    assert np.array_equal(data.values[:, 0], [2, 0, np.nan, 2, 1], equal_nan=True)
    assert np.array_equal(data.values[:, 1], X[:, 1], equal_nan=True)
    assert X[0, 0] == 7


def test_what_is_no_level_has_no_code():
    levels = Levels(np.array([2, 5]))
    assert levels.encode(np.array([5, 4, 2, 9])).tolist() == [1, NO_LEVEL, 0, NO_LEVEL]
    assert Levels(np.array([], np.int64)).encode(np.array([1])).tolist() == [NO_LEVEL]


@pytest.mark.parametrize("given", [[2], [-1], [0.5], [[0]], "a"])
def test_unknown_columns_are_refused(given):
    with pytest.raises(DataError, match="categorical_features="):
        check_categorical(given, 2)


def test_a_mask_or_numbers_name_columns():
    assert check_categorical([True, False, True], 3) == [0, 2]
    assert check_categorical(np.array([2, 0, 2]), 3) == [0, 2]
    assert check_categorical(None, 3) == check_categorical([], 3) == []


def test_a_fraction_is_no_level():
    with pytest.raises(DataError, match=r"0\.5 at row 0, column 1"):
        Dataset(X, categorical_features=[1])


def test_training_refuses_categories():
    with pytest.raises(DataError, match="1 categorical columns"):
        train({}, Dataset(X, np.arange(5), categorical_features=[0]), 1)
