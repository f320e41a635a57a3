"""Combinations of columns: keys, codes on the device, and their twins."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.categories.combination_codes import CombinationCodes
from pyopencl_gbdt.categories.parts import MISSING, UNSEEN, Part, combined, combined_keys
from pyopencl_gbdt.reference.combination import combination_codes
from tests.compare import assert_same_bits


def data_of(n, seed=2):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 5, n), rng.integers(0, 900, n)])
    X[rng.random(X.shape) < 0.05] = np.nan
    return Dataset(X, categorical_features=[1, 2])


def n_levels(data):
    return {column: levels.n_levels for column, levels in data.categories.items()}


@pytest.mark.parametrize(
    "parts", [(Part(1), Part(2)), (Part(0, 0.25), Part(2)), (Part(0, -1.0), Part(0, 1.0), Part(1))]
)
@pytest.mark.parametrize("n", [1, 3000])
def test_codes_on_the_device_are_their_twin(device, n, parts):
    data = data_of(n)
    made = CombinationCodes(device, data, n_levels(data))
    sizes = tuple(2 if p.threshold is not None else n_levels(data)[p.column] for p in parts)
    for _ in range(2):
        assert_same_bits(made.of(parts).get(), combination_codes(data, parts, sizes))


def test_keys_are_numbers_of_two_digits():
    X = np.array([[0, 2], [1, 0], [np.nan, 1], [1, 2]])
    rows = Dataset(X, categorical_features=[0, 1])
    pair = (Part(0), Part(1))
    assert combined_keys(rows, pair, (2, 3)).tolist() == [2, 3, MISSING, 5]
    assert combined_keys(rows, pair, (2, 2)).tolist() == [UNSEEN, 2, MISSING, UNSEEN]


def test_parts_are_sorted_and_each_comes_once():
    one, other = (Part(2), Part(3, 0.5)), (Part(0), Part(2), Part(3))
    assert combined(one, other) == (Part(0), Part(2), Part(3), Part(3, 0.5))
