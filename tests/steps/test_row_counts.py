"""Sums of quanta tell the number of rows that they are of; the kernel's function and its twin."""

import re

import numpy as np
import pytest

from pyopencl_gbdt.device.render import render
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.growth.policy import LevelWise, tree_sizes
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.compare import assert_same_bits
from tests.reference.row_counts import count_bits, number_of_rows, on_grid

KERNEL = """
KERNEL(64) count_rows(const u32 n, const u32 bits, GLOBAL const i64* RESTRICT sums, GLOBAL i64* RESTRICT out) {
    const u32 i = (u32)GLOBAL_ID;
    if (i < n) out[i] = number_of_rows(sums[2 * i], sums[2 * i + 1], bits);
}
"""  # noqa: E501
EDGES = (0, 1, 2, 3, 5, 6, 11, 12, 13, 600, 2**20, 11_000_000, 2**32 - 1)


def most_rows(bits):
    return (1 << bits) * ((1 << bits) - 1) - 1


@pytest.mark.parametrize("n_rows", EDGES)
def test_counts_of_all_rows_fit(n_rows):
    bits = count_bits(n_rows)
    assert n_rows <= most_rows(bits)
    assert bits == 1 or n_rows > most_rows(bits - 1)
    params = Parameters.from_dict({})
    sizes = tree_sizes(LevelWise(6), params, 10)
    assert Nodes(params, sizes, n_rows).count_bits == bits


@pytest.mark.parametrize("bits", [1, 2, 5, 10, 12, 16])
def test_kernels_count_as_their_twin(device, rng, monkeypatch, bits):
    steps = np.array([(1 << bits) - 1, 1 << bits])
    n = rng.integers(0, most_rows(bits) + 1, 500)
    n[:6] = np.clip([0, 1, 1 << bits, (1 << bits) - 1, most_rows(bits), most_rows(bits) - 1], 0,
                    most_rows(bits))  # fmt: skip
    quanta = rng.integers(-(2**60), 2**60, (500, 2)) >> rng.integers(0, 60, (500, 1))
    quanta[:, 1] = np.abs(quanta[:, 1])
    sums = quanta // steps * steps + n[:, None]
    assert_same_bits(number_of_rows(sums[:, 0], sums[:, 1], bits), n)
    source = re.split(r"\nKERNEL\(", render_split(device.caps.api))[0] + KERNEL
    monkeypatch.setattr(device.programs, "source", lambda *_, **__: source)
    out = device.zeros(500, np.int64)
    arguments = {"n": 500, "bits": bits, "sums": device.upload(sums), "out": out}
    device.build("any", wg_size=64).launch("count_rows", 8, **arguments)
    assert_same_bits(out.get(), n)


def render_split(dialect):
    return render("split", dialect, wg_size=64, monotone=False, masked=False, categories=False,
                  many=False, counted=True, drawn=False, noisy=False, smooth=False,
                  gathered=False)  # fmt: skip


@pytest.mark.parametrize("bits", [2, 7, 12])
def test_rows_lie_on_the_grid_and_are_rounded_without_bias(rng, bits):
    quanta = np.stack([rng.integers(-(2**23), 2**23, 4000), rng.integers(1, 2**23, 4000)], axis=1)
    quanta[:2000] = 1000, 700  # equal ones are not all rounded the same way
    seen = rng.random(4000) < 0.9
    quanta[~seen] = 0
    found = on_grid(quanta, seen, bits)
    assert not found[~seen].any()
    steps = np.array([(1 << bits) - 1, 1 << bits])
    assert ((found[seen] - 1) % steps == 0).all()
    assert (np.abs(found - quanta) <= steps + 1).all()
    assert found[seen, 1].min() > 1 << bits
    for part in (slice(0, 2000), slice(2000, 4000)):
        some = seen[part]
        off = (found[part] - quanta[part])[some]
        kept = off[:, 0] if bits == 12 else off  # there a Hessian of 700 is less than a step
        assert np.abs(kept.mean(axis=0)).max() < steps[1] / np.sqrt(some.sum()) * 2.5 + 1
    sums, n = found[seen].sum(axis=0), int(seen.sum())
    assert number_of_rows(sums[0], sums[1], bits) == n % ((1 << bits) * ((1 << bits) - 1))
