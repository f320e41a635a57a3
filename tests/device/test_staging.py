"""Uploads in pieces, memory that is borrowed or page-locked, launches that share a kernel."""

import threading

import numpy as np
import pytest

from pyopencl_gbdt.device import open_device, staging
from pyopencl_gbdt.device.staging import Staging
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.device.fakes import FakeDevice


@pytest.mark.parametrize("least_bytes", [0, 2**40], ids=["page-locked", "ordinary"])
@pytest.mark.parametrize("rows", [1, 7, 50, 99, 100, 1000])
def test_pieces_arrive_in_order(device, monkeypatch, least_bytes, rows):
    monkeypatch.setattr(staging, "LEAST_BYTES", least_bytes)
    values = np.random.default_rng(1).random((100, 3)).astype(np.float32)
    upload = Staging(device, values, rows)
    for _ in range(2):  # the buffers are used again
        seen = []
        for first, n_rows in upload.pieces():
            assert first == sum(map(len, seen))
            seen.append(upload.piece.get()[:n_rows])
        assert_same_bits(np.concatenate(seen), values)


@pytest.mark.parametrize("least_bytes", [0, 2**40], ids=["page-locked", "ordinary"])
def test_some_columns_arrive(device, monkeypatch, least_bytes):
    """Of more rows at a time; the buffers are those of all columns."""
    monkeypatch.setattr(staging, "LEAST_BYTES", least_bytes)
    values = np.random.default_rng(1).random((100, 7)).astype(np.float32)
    upload = Staging(device, values, 9)
    for columns in (range(2, 5), range(7), range(6, 7)):
        width, seen = len(columns), []
        for first, n_rows in upload.pieces(columns):
            assert first == sum(map(len, seen))
            held = upload.piece.get().reshape(-1)[: n_rows * width]
            seen.append(held.reshape(n_rows, width))
        assert len(seen[0]) == min(100, 9 * 7 // width)
        assert_same_bits(np.concatenate(seen), values[:, columns.start : columns.stop])


@pytest.mark.parametrize("least_bytes", [0, 2**40], ids=["page-locked", "ordinary"])
def test_a_whole_matrix_arrives(device, monkeypatch, least_bytes):
    monkeypatch.setattr(staging, "LEAST_BYTES", least_bytes)
    monkeypatch.setattr(staging, "PIECE_BYTES", 100)
    monkeypatch.setattr(device, "borrows", False)
    values = np.random.default_rng(1).random((100, 3)).astype(np.float32)
    assert_same_bits(staging.there(device, values).get(), values)


def test_a_caller_that_stops_leaves_no_thread(device, monkeypatch):
    monkeypatch.setattr(staging, "LEAST_BYTES", 0)
    before = set(threading.enumerate())
    pieces = Staging(device, np.zeros((100, 3), np.float32), 10).pieces()
    next(pieces)
    pieces.close()
    assert set(threading.enumerate()) <= before


def test_page_locked_memory_takes_none_of_the_device(device):
    before = device.allocated_bytes
    host = device.pinned(1000)
    assert (host.shape, host.dtype) == ((1000,), np.dtype(np.uint8))
    assert device.allocated_bytes == before
    array = device.empty(500, np.uint16)
    host[:] = np.arange(1000) % 251
    wait = device.write_later(array, host[:998], 2)
    wait()
    assert_same_bits(array.get().view(np.uint8)[2:], host[:998])


def test_a_device_of_its_own_memory_borrows_by_a_copy():
    device = FakeDevice()
    assert not device.borrows


def test_launches_that_are_prepared_keep_their_own_arguments():
    device = open_device(TEST_DEVICE)
    program = device.build("quantize", wg_size=1, items=4, weighted=True, code="u8")
    arrays = [device.empty(n, np.uint32) for n in (5, 9)]
    launches = [program.prepare("number", (1, 1), np.uint32(a.size), a) for a in arrays]
    for launch in reversed(launches):
        launch()
    for array in arrays:
        assert_same_bits(array.get(), np.arange(array.size, dtype=np.uint32))
