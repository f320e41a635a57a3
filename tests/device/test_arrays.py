"""Arrays in a device's memory: set, get, bounds, edges; on the device of the tests."""

import numpy as np
import pytest

from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.base import FEW_BYTES
from pyopencl_gbdt.dtypes import NODE
from pyopencl_gbdt.errors import DeviceError, MemoryPlanError
from tests.compare import assert_same_bits
from tests.device.fakes import FakeDevice


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float32, np.int64, NODE])
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5), (2, 3, 4)])
def test_what_is_uploaded_comes_back(device, dtype, shape):
    rng = np.random.default_rng(1)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    values = rng.integers(0, 255, size, np.uint8).view(dtype).reshape(shape)
    array = device.upload(values)
    assert (array.shape, array.dtype, array.nbytes) == (shape, np.dtype(dtype), size)
    assert_same_bits(array.get().view(np.uint8), values.view(np.uint8))


def test_strided_and_foreign_values_are_converted(device):
    values = np.arange(20, dtype=np.float64).reshape(4, 5)[:, ::2]
    assert_same_bits(device.upload(values, np.float32).get(), values.astype(np.float32))
    assert_same_bits(device.upload(values.T).get(), np.ascontiguousarray(values.T))
    assert_same_bits(device.upload([1, 2], np.uint16).get(), np.array([1, 2], np.uint16))


def test_empty_arrays(device):
    for shape in [0, (0, 3), (3, 0)]:
        array = device.empty(shape, np.float32)
        array.set(np.empty(array.shape, np.float32))
        assert array.get().shape == array.shape
        assert array.nbytes == 0
    assert device.zeros(0, np.int64).get().size == 0


def test_zeros_and_clear(device):
    array = device.upload(np.full((5, 3), 7, np.int64))
    device.clear(array)
    assert not array.get().any()
    assert not device.zeros((5, 3), np.float32).get().any()


def test_set_from_a_place_on(device):
    array = device.zeros((2, 4), np.int32)
    array.set([1, 2, 3], start=3)
    assert array.get().tolist() == [[0, 0, 0, 1], [2, 3, 0, 0]]
    array.set([9], start=7)
    assert array.get()[1, 3] == 9
    array.set([], start=8)


@pytest.mark.parametrize(("size", "start"), [(9, 0), (1, 8), (2, 7), (1, -1), (8, 1)])
def test_set_stays_in_bounds(device, size, start):
    array = device.zeros((2, 4), np.int32)
    with pytest.raises(DeviceError, match=f"{size} elements at {start} do not fit an array of 8"):
        array.set(np.ones(size, np.int32), start=start)
    assert not array.get().any()


def test_copy_to_a_place(device):
    source = device.upload(np.arange(3, dtype=np.float32))
    target = device.zeros(8, np.float32)
    device.copy(source, target, 4)
    assert target.get().tolist() == [0, 0, 0, 0, 0, 1, 2, 0]
    device.copy(device.empty(0, np.float32), target, 8)


def test_waits_are_counted(device):
    opened = open_device(device.caps.device_id)
    array = opened.empty(4, np.float32)
    assert opened.n_waits == 0
    values = np.zeros(4, np.float32)
    array.set(values)
    values[:] = 7  # few values are copied, so that the host need not wait
    assert opened.n_waits == 0
    assert not array.get().any()
    opened.finish()
    large = opened.empty(FEW_BYTES // 4 + 1, np.float32)
    large.set(np.zeros(large.size, np.float32))
    assert (opened.n_waits, opened.n_copies) == (3, 3)
    assert opened.elapsed(lambda: opened.clear(array)) > 0


def test_an_allocation_that_the_device_refuses(device):
    too_many = device.caps.max_alloc_bytes // 4 + 1
    before = device.allocated_bytes
    with pytest.raises(MemoryPlanError, match="use fewer rows or features"):
        device.empty(too_many, np.float32)
    assert device.allocated_bytes == before


def test_repr_names_the_device(device):
    text = repr(device.empty((2, 3), np.uint16))
    assert "(2, 3)" in text
    assert "uint16" in text
    assert device.caps.device_id in text


def test_opencl_memory_has_no_dlpack():
    array = FakeDevice().empty(3, np.float32)
    with pytest.raises(BufferError, match=r"use \.get"):
        array.__dlpack__()
    with pytest.raises(BufferError, match=r"use \.get"):
        array.__dlpack_device__()


def test_two_openings_of_a_device_share_arrays_within_a_process(device):
    other = open_device(device.caps.device_id)
    assert other is not device
    assert other.process_key == device.process_key
    assert FakeDevice(device_id="opencl:7:7").process_key != device.process_key


def test_clearing_in_pieces(device, monkeypatch):
    """NVIDIA's driver cannot fill 2 GiB at once."""
    if device.caps.api != "opencl":
        pytest.skip("CUDA clears all at once")
    monkeypatch.setattr("pyopencl_gbdt.device.opencl.transfers._FILL_BYTES", 1024)
    for n in (0, 1, 3, 4, 1023, 1024, 1025, 2048, 4099):
        array = device.upload(np.full(n, 7, np.uint8))
        device.clear(array)
        assert not array.get().any()
