"""Rows of large nodes that are added in words of 32 and 32 bits have the sums of pairs of 64."""

import numpy as np
import pytest

from pyopencl_gbdt.device.variants import fallbacks
from pyopencl_gbdt.growth.histogram import Histogram
from tests.compare import assert_same_bits
from tests.reference.gradients import Scale
from tests.reference.histogram import histogram as twin
from tests.steps.builders import (
    level_nodes,
    make_layout,
    make_parts,
    random_codes,
    set_level,
    set_quanta,
    set_scale,
)

N = 20_000
LAYOUT = make_layout([255] * 21, [True] * 21)
NO_WINDOW = 1
#: How often 4096 rows have one code of the last feature, and the rows of a window then.
FULL = {0: 16384, 127: 4096, 128: NO_WINDOW}
MOST_G, MOST_H = 2**24 - 1, 2**25 - 1


@pytest.fixture(autouse=True)
def _cpu(device):
    if fallbacks("histogram", device.caps)[0].name != "cpu":
        pytest.skip("this device has other histograms")


def codes_of(rng, often):
    """Return codes, one of which the last feature has so often in 4096 rows."""
    codes = random_codes(rng, LAYOUT, N)
    if often:
        codes[:, -1] = np.arange(N) % 254 + 1
        codes[np.arange(N) % 4096 < often, -1] = 0
    return codes


def quanta_of(rng, kind):
    """Return the largest quanta that words hold, or some that they do not."""
    quanta = np.stack([np.full(N, -MOST_G), np.full(N, MOST_H)], axis=1)
    if kind == "mixed":
        quanta = rng.integers([-MOST_G, 0], [MOST_G, MOST_H], (N, 2))
        quanta[::700, 0] = 2**31 - 1
        quanta[1::700] = -MOST_G - 1, MOST_H + 1
        quanta[2::700, 1] = -1
    return quanta


def listed(rng, count):
    """Return rows as they are moved: chunks of rows that ascend, the last chunk first."""
    rows = np.sort(rng.permutation(N)[:count]).astype(np.uint32)
    return np.concatenate([rows[at : at + 300] for at in range(0, count, 300)][::-1])


@pytest.mark.parametrize(("often", "kind"), [(0, "mixed"), (127, "most"), (128, "mixed")])
def test_equals_twin(device, rng, often, kind):
    """Of a root, whose rows are in order, and of nodes with lists of many rows and of few."""
    codes, quanta = codes_of(rng, often), quanta_of(rng, kind)
    parts = make_parts(device, LAYOUT, codes, max_depth=2)
    set_quanta(parts, quanta, wide=False, rng=rng)
    set_scale(parts, Scale(0, 0, wide=False))
    step, pool = Histogram(parts), parts.arena["pool"]
    chunk = parts.ways.variant("histogram").params["chunk"]
    for depth, count in ((0, N), (1, 12_000), (1, 600)):
        rows = listed(rng, count) if depth else np.arange(N, dtype=np.uint32)
        nodes, task_begin = level_nodes([count], chunk)
        set_level(parts, depth, nodes, hist_tasks=task_begin[-1])
        parts.arena["hist_task_begin"].set(task_begin)
        parts.arena["odd_rows" if depth else "even_rows"].set(np.pad(rows, (0, N - count)))
        parts.arena.device.clear(pool)
        for launch in step.level(depth):
            launch()
        assert_same_bits(pool.get()[0], twin(codes, quanta, rows, LAYOUT), f"{count} rows")
    assert parts.arena["window_rows"].get().tolist() == [FULL[often]]


def test_codes_that_change_are_added_in_pairs(device, rng):
    """Drawn rows are not added in words: what is known of windows holds while codes stay."""
    for params, words in (({}, True), ({"subsample": 0.5}, False)):
        parts = make_parts(device, LAYOUT, codes_of(rng, 0), max_depth=2, **params)
        assert Histogram(parts).kernel.adds_words is words
