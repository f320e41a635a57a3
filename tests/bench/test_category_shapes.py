"""The seeded shapes with categorical columns are the same each time, and have what they say."""

import numpy as np
import pytest

from bench.category_shapes import ACCESS_LEVELS, access, clicks


@pytest.mark.parametrize(
    ("make", "n_numeric", "most"),
    [(lambda seed: clicks(800, 60, seed), 13, 60), (lambda seed: access(800, seed), 0, 7500)],
)
def test_a_shape(make, n_numeric, most):
    table, again, other = make(1), make(1), make(2)
    assert table.values.dtype == table.label.dtype == np.float32
    assert np.array_equal(table.values, again.values, equal_nan=True)
    assert not np.array_equal(table.label, other.label)
    codes = table.values[:, table.categorical]
    assert table.categorical == list(range(n_numeric, table.values.shape[1]))
    assert np.array_equal(codes, codes.astype(np.int64))
    assert 0 <= codes.min() <= codes.max() < most
    assert 0.1 < table.label.mean() < 0.97


def test_few_levels_have_most_rows():
    codes = access(5000).values[:, 0].astype(np.int64)
    rows = np.sort(np.bincount(codes, minlength=ACCESS_LEVELS[0]))[::-1]
    assert rows[:100].sum() > 0.4 * rows.sum()
