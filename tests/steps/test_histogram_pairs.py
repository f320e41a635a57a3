"""histogram: work-groups that sum a pair of blocks at a time."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.device import runnable
from pyopencl_gbdt.device.capabilities import CARD
from pyopencl_gbdt.growth.histogram import Histogram
from pyopencl_gbdt.primitives import histogram_kernel
from tests.steps.builders import make_layout
from tests.steps.test_histogram import CHUNK, check


def layout_of(n_features, bins=(3, 7, 1, 12)):
    n = n_features
    return make_layout((list(bins) * n)[:n], ([True, False, False] * n)[:n])


@pytest.fixture
def pairs(device, force, monkeypatch):
    """Let the variant with own banks have pairs on any device that runs it."""
    caps = replace(device.caps, kind="gpu", **CARD, unit_local_bytes=1 << 20)
    found = [one for one in runnable("histogram", caps) if one.name == "own_banks"]
    if not found:
        pytest.skip(f"{caps.label} has no 64-bit atomics")
    monkeypatch.setattr(device, "caps", caps)
    monkeypatch.setattr(histogram_kernel, "_LEAST_PAIRED", 0)
    force(found[0], chunk=CHUNK, groups_per_unit=3)
    return {"histogram": "own_banks", "work_group_size": 64}


#: 2 blocks; 4; 7, of which the last has no neighbour; 2 and 8 of 16-bit codes.
LAYOUTS = {
    "2": layout_of(20),
    "4": layout_of(64),
    "7": layout_of(100),
    "2 of words": layout_of(16, (300, 2, 9)),
    "7 of words": layout_of(51, (300, 2, 9)),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", ["small", "carry", "wide"])
@pytest.mark.parametrize("blocks", LAYOUTS)
def test_equals_twin(device, pairs, rng, blocks, kind):
    layout = LAYOUTS[blocks]
    for counts in ([1], [1500], [700, 1, 64, 900]):
        parts, _ = check(device, rng, layout, counts, kind, **pairs)
    kernel = Histogram(parts).kernel
    assert kernel.program.large_local == 2 * 128 * kernel_codes(layout)
    assert kernel.n_ranges == int(blocks.partition(" ")[0])


def kernel_codes(layout):
    return 32 if layout.most_codes <= 256 else 368 if layout.most_codes > 272 else 272


def test_several_trees(device, pairs, rng):
    kinds = ("small", "wide", "carry")
    for counts, depth in (([500], 0), ([300, 1, 64, 90], None)):
        check(device, rng, LAYOUTS["7"], counts, "", kinds=kinds, depth=depth, **pairs)


def test_all_rows_in_one_code(device, pairs, rng):
    layout = LAYOUTS["7"]
    codes = np.zeros((1000, layout.n_features), np.uint8)
    check(device, rng, layout, [400, 600], "wide", codes=codes, **pairs)


def test_few_rows_have_no_pairs(device, pairs, rng, monkeypatch):
    monkeypatch.setattr(histogram_kernel, "_LEAST_PAIRED", 4 * 1001)
    parts, _ = check(device, rng, LAYOUTS["4"], [1000], "small", **pairs)
    assert not Histogram(parts).kernel.program.large_local
    parts, _ = check(device, rng, LAYOUTS["4"], [1001], "small", **pairs)
    assert Histogram(parts).kernel.program.large_local
