"""sample: the twin's factors, and roots' lists of the rows that were drawn."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.gradients.sample import Sample
from pyopencl_gbdt.objectives import get_objective
from tests.compare import assert_same_bits
from tests.steps.builders import make_layout, make_workspace, random_codes

WG_SIZES, WG_SIZES_CPU = (16, 64, 256), (1, 64)
LAYOUT = make_layout([5, 9], [True, False])
METHODS = {
    "few": {"subsample": 0.02},
    "half": {"subsample": 0.5},
    "gradients": {"subsample": 0.3, "sampling_method": "gradient_based"},
    "goss": {"sampling_method": "goss", "learning_rate": 1.0},
    "goss, whose first rounds draw all": {"sampling_method": "goss"},
}


def draw(device, rng, n_rows, trees, wg, params):
    """Return factors, lists and their lengths of trees of one output."""
    ws = make_workspace(
        device, LAYOUT, random_codes(rng, LAYOUT, n_rows), parallel=trees,
        work_group_size=wg, max_depth=2, **params,
    )  # fmt: skip
    assert ws.lists_drawn == (trees > 1 or ws.variant("update_margins").name == "walk")
    ws["margins"].set(np.zeros(n_rows, np.float32))
    ws["labels"].set(rng.normal(size=n_rows).astype(np.float32))
    for launch in Sample(ws, get_objective("reg:squarederror")).launches(Batch(0, trees)):
        launch()
    lists = ws["even_rows"].get().reshape(trees, n_rows)
    return ws["factors"].get(), lists, ws["drawn"].get()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_rows", [1, 500, 70_001])
def test_lists_have_the_rows_that_were_drawn(device, rng, wg, method, n_rows):
    factors, lists, counts = draw(device, rng, n_rows, 2, wg, METHODS[method])
    for factor, rows, count in zip(factors, lists, counts, strict=True):
        assert_same_bits(np.sort(rows[:count]), np.flatnonzero(factor).astype(np.uint32))


@pytest.mark.parametrize("method", METHODS)
def test_listing_changes_no_factor(device, rng, wg, method):
    """A tree draws the same rows alone, where a device may list none, and beside another."""
    params, seed = METHODS[method], rng.integers(1 << 30)
    alone, *_ = draw(device, np.random.default_rng(seed), 5000, 1, wg, params)
    beside, *_ = draw(device, np.random.default_rng(seed), 5000, 2, wg, params)
    assert_same_bits(beside[0], alone[0])
    assert alone.any()
