"""Parts of an allocation are made when their memory is first needed, once for all of a place."""

import numpy as np

from pyopencl_gbdt.device import DeviceArray, open_device
from pyopencl_gbdt.device.program import array_bytes
from pyopencl_gbdt.device.signature import Parameter
from tests.conftest import TEST_DEVICE


def test_a_part_is_made_once_when_it_is_needed(monkeypatch):
    device, made = open_device(TEST_DEVICE), []
    make = device._bytes_of

    def counted(whole, begin, part):
        made.append(begin)
        return make(whole, begin, part)

    monkeypatch.setattr(device, "_bytes_of", counted)
    align = device.alignment
    whole = device.empty(3 * align, np.uint8)
    first, second = (device.part(whole, n * align, (2, 3), np.float32) for n in (0, 1))
    other = DeviceArray(device, (2, 3), np.float32, None)
    other.lie_in(second)
    assert other.place == (whole, align)
    assert Parameter("x", "f32", is_array=True).take("kernel", other) is other
    assert array_bytes([other, 3]) == other.nbytes
    assert made == []
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    other.set(values)
    np.testing.assert_array_equal(second.get(), values)
    np.testing.assert_array_equal(other.words().get(), values.ravel().view(np.uint32))
    assert made == [align]
    del whole, first
    np.testing.assert_array_equal(second.get(), values)


def test_an_array_that_lay_elsewhere():
    device = open_device(TEST_DEVICE)
    align = device.alignment
    wholes = [device.zeros(3 * align, np.uint8) for _ in range(2)]
    array = DeviceArray(device, (2,), np.uint32, None)
    array.lie_at(wholes[0], 2 * align)
    assert array.place == (wholes[0], 2 * align)
    array.lie_in(device.part(wholes[1], align, (2,), np.uint32))
    assert array.place == (wholes[1], align)
    array.set([5, 6])
    at = slice(align, align + 8)
    assert wholes[1].get()[at].view(np.uint32).tolist() == [5, 6]
    assert not wholes[0].get().any()
