"""proximities: counts of common leaves equal those of a count pair by pair."""

import numpy as np
import pytest

from pyopencl_gbdt.explain import proximity
from tests.compare import assert_same_bits
from tests.reference import proximities as twin

KERNEL = "proximities"


def counted(device, left, right):
    found = np.full((len(left), len(right)), np.float32(np.nan))
    for rows, columns, counts in proximity.count_same(device, left, right):
        assert np.isnan(found[rows, columns]).all()
        found[rows, columns] = counts
    return found


@pytest.mark.parametrize(("n_left", "n_right"), [(1, 1), (8, 127), (9, 129), (17, 300)])
def test_counts_equal_the_twins(device, variant, force, rng, n_left, n_right):
    force(variant)
    left, right = (rng.integers(0, 4, (n, 11)).astype(np.int32) for n in (n_left, n_right))
    assert_same_bits(counted(device, left, right), twin.proximities(left, right).astype(np.float32))


def test_pieces_of_rows(device, rng, monkeypatch):
    """As memory and the time of a launch allow."""
    left, right = (rng.integers(0, 3, (n, 5)).astype(np.int32) for n in (70, 300))
    wanted = twin.proximities(left, right).astype(np.float32)
    monkeypatch.setattr(proximity, "_PIECE_BYTES", 4 * 5 * 200)
    assert_same_bits(counted(device, left, right), wanted)
    monkeypatch.setattr(proximity, "rows_a_launch", lambda *_: 20)
    assert_same_bits(counted(device, left, right), wanted)
