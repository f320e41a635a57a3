"""Copies beside the kernels: kernels find what was brought, and the host what they leave."""

import numpy as np
import pytest

from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.transfers import (
    CopiesInTurn,
    PartOfCopy,
    Transfers,
    clear_launch,
    copy_launch,
)
from tests.conftest import TEST_DEVICE


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "in turn"])
def test_copies_and_kernels_wait_for_each_other(beside):
    device = open_device(TEST_DEVICE)
    transfers = device.transfers() if beside else Transfers(device)
    n, rng = 1 << 16, np.random.default_rng(0)
    slots = [device.empty(n, np.uint8) for _ in range(2)]
    other = device.empty(n, np.uint8)
    sent = [rng.integers(0, 256, n, np.uint8) for _ in range(7)]
    found, used, saved = [device.pinned(n) for _ in sent], [None, None], [None, None]
    for number, host in enumerate(sent):
        at = number % 2
        mark = transfers.bring(slots[at], host, (used[at], saved[at]))
        transfers.kernels_wait(mark)
        copy_launch(slots[at], other)()
        clear_launch(slots[at])()
        copy_launch(other, slots[at])()
        used[at] = transfers.kernels_done()
        saved[at] = transfers.take(slots[at], found[number], (used[at],))
    transfers.wait(saved[0])
    transfers.finish()
    for wanted, own in zip(sent, found, strict=True):
        np.testing.assert_array_equal(own, wanted)
    assert transfers.n_in == transfers.n_out == len(sent) * n


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "in turn"])
def test_parts_lie_one_behind_the_other(beside):
    device = open_device(TEST_DEVICE)
    transfers = device.transfers() if beside else Transfers(device)
    array = device.zeros(12, np.uint8)
    host = np.arange(20, dtype=np.uint8)
    cleared = transfers.kernels_done()
    transfers.wait(transfers.bring_parts(array, [host[3:7], host[9:10], host[12:17]], (cleared,)))
    wanted = [3, 4, 5, 6, 9, 12, 13, 14, 15, 16, 0, 0]
    np.testing.assert_array_equal(array.get(), wanted)
    assert transfers.n_in == 10


def test_copies_in_turn():
    """Each copy has the values of its time, whatever was written since."""
    array = open_device(TEST_DEVICE).zeros(2, np.int64)
    copies = CopiesInTurn(array)

    def written(*numbers):
        for number in numbers:
            array.set([number, number + 1])
            copies()

    written(1, 3)
    copies.turn()
    assert copies.values().tolist() == [1, 2]
    written(5)
    copies.turn()
    assert copies.values().tolist() == [3, 4]
    written(7, 9)
    assert copies.n_waiting == 3
    copies.keep_newest()
    assert copies.n_waiting == 1
    copies.turn()
    assert copies.values().tolist() == [9, 10]


def test_the_parts_of_a_copy_are_waited_for_once():
    opened = open_device(TEST_DEVICE)
    copies = CopiesInTurn(opened.upload(np.arange(6, dtype=np.int64).reshape(3, 2)))
    parts = [PartOfCopy(copies, row, np.int64) for row in range(3)]
    for _ in range(2):
        copies()
        copies.turn()
        pauses = opened.n_pauses
        assert [part.values().tolist() for part in parts] == [[0, 1], [2, 3], [4, 5]]
        assert opened.n_pauses == pauses + 1
