"""The order of a row's blocks, as kernels and the host see it."""

import numpy as np
import pytest

from pyopencl_gbdt.primitives.histogram_kernel import in_row_order
from pyopencl_gbdt.primitives.packed_codes import BlockOrder

BYTE, WORD = np.dtype(np.uint8), np.dtype(np.uint16)


def of(n_features, dtype=BYTE, *, gpu=True):
    return BlockOrder.of(n_features, dtype, coalesced=gpu)


def test_blocks_of_a_row():
    sizes = {16: (1, 1, 16), 28: (2, 2, 14), 48: (3, 1, 16), 64: (4, 2, 16), 80: (5, 1, 16),
             100: (8, 2, 15), 200: (14, 2, 16)}  # fmt: skip
    for n_features, (n_blocks, together, each) in sizes.items():
        order = of(n_features)
        assert (order.n_blocks, order.together, order.block_features) == (n_blocks, together, each)
        assert order.n_used == -(-n_features // each)
    assert (of(28, WORD).n_blocks, of(28, WORD).together) == (4, 2)
    for n_features in (1, 28, 200):
        order = of(n_features, gpu=False)
        assert order.n_blocks == order.together == -(-n_features // 16)
        assert order.block_features == 16


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("dtype", [BYTE, WORD])
@pytest.mark.parametrize("n_features", [1, 16, 20, 40, 64, 100])
def test_kernels_and_host_find_the_same_codes(gpu, dtype, n_features):
    order, n_rows = of(n_features, dtype, gpu=gpu), 5
    flat = np.arange(n_rows * order.n_blocks * order.block_codes).astype(dtype)
    assert flat.nbytes == n_rows * order.row_bytes == np.prod(order.shape(n_rows)) * dtype.itemsize
    strides, width = order.strides(n_rows), order.block_codes
    for number, block in enumerate(order.blocks(flat)):
        pair = strides["paired"]
        at = (number >> pair) * strides["block_stride"] + (number & pair)  # cl_kernels/blocks.h
        for row in range(n_rows):
            begin = (at + row * strides["row_stride"]) * width
            np.testing.assert_array_equal(block[row], flat[begin : begin + width])
    row = np.concatenate([block[0] for block in order.blocks(flat)])
    assert np.unique(row).size == row.size


def test_values_in_the_order_of_a_row():
    order = of(20)  # two blocks of 10
    ordered = in_row_order(order, np.arange(1, 21))
    assert ordered[:10].tolist() == list(range(1, 11))
    assert ordered[16:26].tolist() == list(range(11, 21))
    assert not ordered[10:16].any()
    assert not ordered[26:].any()
