"""Sorted columns of a device are those of the host."""

import numpy as np

from pyopencl_gbdt.pages.column_bins import sorted_on_device
from pyopencl_gbdt.pages.columns import Columns, cut_columns, present_values
from tests.compare import assert_same_bits


def check(device, columns):
    page, layout = sorted_on_device(device, columns)
    rows, places, wanted = cut_columns(columns, None, None)
    assert_same_bits(page.rows.get(), rows)
    assert_same_bits(page.places.get(), places)
    for name in ("feature_bins", "feature_offset", "thresholds", "fullest"):
        assert_same_bits(getattr(layout, name), getattr(wanted, name))
    bins = np.unique(places)  # no other place has a feature
    codes = np.diff(wanted.feature_offset.astype(np.int64))
    features = np.repeat(np.arange(codes.size, dtype=np.uint32), codes)
    assert_same_bits(page.features.get()[bins], features[bins])
    assert page.missing == columns.missing.any()


def test_columns_of_every_kind(device):
    rng = np.random.default_rng(2)
    values = rng.normal(size=(700, 6)).astype(np.float32)
    values[:, 1] = rng.integers(-2, 3, 700) * np.float32(1e-45)  # subnormal neighbours
    values[rng.random(700) < 0.5, 2] = np.nan
    values[:, 3] = np.nan
    values[:, 4] = np.where(rng.random(700) < 0.5, 0.0, -0.0)
    values[:3, 5] = [np.finfo(np.float32).max, -np.finfo(np.float32).max, 3e38]
    check(device, present_values(values))
    check(device, present_values(np.nan_to_num(values)))


def test_millions_of_columns_of_which_most_are_empty(device):
    rng = np.random.default_rng(3)
    lengths = rng.integers(0, 3, 5000) * (rng.random(5000) < 0.1)
    starts = np.append(0, np.cumsum(lengths))
    rows = np.arange(starts[-1], dtype=np.uint32) % 7
    values = rng.integers(0, 2, rows.size).astype(np.float32)
    check(device, Columns(starts, rows, values, 7))
