"""gather_drawn: the rows of the twin, once each, in any order of tiles; and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt.reference.gather_drawn import gather_drawn
from tests.compare import assert_same_bits

WG_SIZES, WG_SIZES_CPU = (16, 256), (1, 64)
N_BLOCKS = 2


def gathered(device, wg, by_block, codes, quanta, factors, capacity):
    """Return the kernel's codes by row, quanta, list, number of rows, and `needs_high`."""
    n_rows, program = len(factors), device.build("gather_drawn", wg_size=wg)
    shape = (N_BLOCKS, capacity, 4) if by_block else (capacity, N_BLOCKS, 4)
    blocks = codes.reshape(n_rows, N_BLOCKS, 4)
    source = np.ascontiguousarray(blocks.transpose(1, 0, 2) if by_block else blocks)
    strides = [(1, n) if by_block else (N_BLOCKS, 1) for n in (n_rows, capacity)]
    out = {
        "to_codes": device.zeros(shape, np.uint32),
        "to_quanta": device.zeros((capacity, 2), np.int32),
        "rows": device.zeros(capacity, np.uint32),
        "drawn": device.zeros(1, np.uint32),
        "needs_high": device.zeros(1, np.uint32),
    }
    program.bind(
        "gather_drawn", 3, n_rows=n_rows, n_blocks=N_BLOCKS,
        row_stride=strides[0][0], block_stride=strides[0][1], to_row_stride=strides[1][0],
        to_block_stride=strides[1][1], capacity=capacity, factors=device.upload(factors),
        codes=device.upload(source), quanta=device.upload(quanta), **out,
    )()  # fmt: skip
    found = {name: array.get() for name, array in out.items()}
    own = found["to_codes"].transpose(1, 0, 2) if by_block else found["to_codes"]
    found["to_codes"] = own.reshape(capacity, 4 * N_BLOCKS)
    return found


def sample(rng, n_rows):
    """Return codes, the row's number first among them, quanta, and factors of a third of them."""
    codes = rng.integers(0, 2**32, (n_rows, 4 * N_BLOCKS), np.uint32)
    codes[:, 0] = np.arange(n_rows)
    quanta = rng.integers(-(2**31), 2**31, (n_rows, 2)).astype(np.int32)
    return codes, quanta, np.where(rng.random(n_rows) < 0.3, 2.5, 0).astype(np.float32)


@pytest.mark.parametrize("by_block", [False, True])
@pytest.mark.parametrize("n_rows", [1, 300, 5000])
def test_equals_twin(device, rng, wg, by_block, n_rows):
    codes, quanta, factors = sample(rng, n_rows)
    wanted = gather_drawn(codes, quanta, factors)
    found = gathered(device, wg, by_block, codes, quanta, factors, n_rows)
    (n_drawn,) = found["drawn"]
    assert n_drawn == len(wanted[0])
    order = np.argsort(found["to_codes"][:n_drawn, 0])
    assert_same_bits(found["to_codes"][:n_drawn][order], wanted[0])
    assert_same_bits(found["to_quanta"][:n_drawn][order], wanted[1])
    assert_same_bits(found["rows"][:n_drawn], np.arange(n_drawn, dtype=np.uint32))
    assert not found["rows"][n_drawn:].any()
    assert found["needs_high"] == [0]


def test_too_many_rows_are_noticed_and_left_out(device, rng, wg):
    codes, quanta, factors = sample(rng, 3000)
    found = gathered(device, wg, True, codes, quanta, factors, 500)
    assert found["needs_high"] == [2]
    assert found["drawn"][0] <= 500
