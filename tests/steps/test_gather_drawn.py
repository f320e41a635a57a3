"""gather_drawn: the rows of the twin, once each, in any order of tiles; and what does not fit."""

import numpy as np
import pytest

from pyopencl_gbdt.primitives.packed_codes import BlockOrder
from tests.compare import assert_same_bits
from tests.reference.gather_drawn import gather_drawn

WG_SIZES, WG_SIZES_CPU = (16, 256), (1, 64)
N_BLOCKS = 4


def gathered(device, wg, together, codes, quanta, factors, capacity):
    """Return the kernel's codes by row, quanta, list, number of rows, and `needs_high`."""
    n_rows, program = len(factors), device.build("gather_drawn", wg_size=wg)
    order = BlockOrder(N_BLOCKS * 16, np.dtype(np.uint8), N_BLOCKS, together, 16)
    source = np.empty(order.shape(n_rows), np.uint8)
    for number, block in enumerate(order.blocks(source)):
        block[...] = codes.view(np.uint8)[:, 16 * number : 16 * (number + 1)]
    out = {
        "to_codes": device.zeros(order.shape(capacity), np.uint8),
        "to_quanta": device.zeros((capacity, 2), np.int32),
        "rows": device.zeros(capacity, np.uint32),
        "drawn": device.zeros(1, np.uint32),
        "needs_high": device.zeros(1, np.uint32),
    }
    program.bind(
        "gather_drawn", 3, n_rows=n_rows, n_blocks=N_BLOCKS,
        **order.strides(n_rows),
        **{f"to_{name}": stride for name, stride in order.strides(capacity).items()},
        capacity=capacity, factors=device.upload(factors), codes=device.upload(source).words(),
        quanta=device.upload(quanta), **{**out, "to_codes": out["to_codes"].words()},
    )()  # fmt: skip
    found = {name: array.get() for name, array in out.items()}
    own = np.concatenate(order.blocks(found["to_codes"]), axis=1)
    found["to_codes"] = np.ascontiguousarray(own).view(np.uint32)
    return found


def sample(rng, n_rows):
    """Return codes, the row's number first among them, quanta, and factors of a third of them."""
    codes = rng.integers(0, 2**32, (n_rows, 4 * N_BLOCKS), np.uint32)
    codes[:, 0] = np.arange(n_rows)
    quanta = rng.integers(-(2**31), 2**31, (n_rows, 2)).astype(np.int32)
    return codes, quanta, np.where(rng.random(n_rows) < 0.3, 2.5, 0).astype(np.float32)


@pytest.mark.parametrize("together", [1, 2, N_BLOCKS])
@pytest.mark.parametrize("n_rows", [1, 300, 5000])
def test_equals_twin(device, rng, wg, together, n_rows):
    codes, quanta, factors = sample(rng, n_rows)
    wanted = gather_drawn(codes, quanta, factors)
    found = gathered(device, wg, together, codes, quanta, factors, n_rows)
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
    found = gathered(device, wg, 2, codes, quanta, factors, 500)
    assert found["needs_high"] == [2]
    assert found["drawn"][0] <= 500
