"""Arrays of other libraries: where they lie, and the ways to the host or to CuPy."""

import sys
import types

import numpy as np
import pytest

from pyopencl_gbdt.data.arrays.containers import is_on_device, to_host
from pyopencl_gbdt.device import foreign
from pyopencl_gbdt.device.foreign import as_cupy, device_matrix
from tests.conftest import TEST_DEVICE

VALUES = np.arange(6, dtype=np.float32).reshape(3, 2)
CPU, CUDA, CUDA_HOST = (1, 0), (2, 0), (3, 0)


class OnCard:
    """An array of a CUDA card that NumPy cannot reach by DLPack."""

    place = CUDA

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, **options):
        raise BufferError("on a card")


class WithCpu(OnCard):
    """As torch's tensors."""

    def cpu(self):
        return types.SimpleNamespace(numpy=lambda: VALUES)


class WithArray(OnCard):
    def __array__(self, dtype=None, copy=None):
        return VALUES


class OnlyInterface:
    """As Numba's arrays: no DLPack."""

    __cuda_array_interface__ = {"version": 3}  # noqa: RUF012


class Broken(OnCard):
    def __init__(self, error):
        self.error = error

    def __dlpack_device__(self):
        raise self.error


def test_an_array_on_a_card_comes_by_the_way_that_its_library_has():
    np.testing.assert_array_equal(to_host(WithCpu()), VALUES)
    given = WithArray()
    assert to_host(given) is given  # NumPy reads it
    with pytest.raises(BufferError, match="on a card"):
        to_host(OnCard())


@pytest.mark.parametrize("place", [CPU, CUDA_HOST])
def test_an_array_that_the_host_can_read_is_on_no_device(place):
    given = WithArray()
    given.place = place
    assert not is_on_device(given)
    assert to_host(given) is given


def test_where_an_array_lies():
    assert is_on_device(OnCard())
    assert is_on_device(OnlyInterface())
    assert is_on_device(Broken(BufferError("an OpenCL buffer")))
    assert not is_on_device(Broken(TypeError("a type that DLPack lacks")))
    for host in (VALUES, VALUES[0, 0], [[1.0]], (1.0,), "text"):
        assert not is_on_device(host)


@pytest.fixture
def cupy(monkeypatch):
    """Put a stand-in for CuPy in place; return it."""

    class Array:
        pass

    module = types.ModuleType("cupy")
    module.ndarray = Array
    module.from_dlpack = lambda values: ("from_dlpack", values)
    module.asarray = lambda values: ("asarray", values)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_cupy_takes_arrays_of_cuda_without_a_copy(cupy):
    card, interface = OnCard(), OnlyInterface()
    assert as_cupy(card) == ("from_dlpack", card)
    assert as_cupy(interface) == ("asarray", interface)
    own = cupy.ndarray()
    for unchanged in (own, VALUES, Broken(TypeError("no place")), [[1.0]]):
        assert as_cupy(unchanged) is unchanged


def test_what_cupy_refuses_stays_as_it_is(cupy, monkeypatch):
    def refuse(values):
        raise TypeError("a dtype that CuPy lacks")

    cupy.from_dlpack = refuse
    card = OnCard()
    assert as_cupy(card) is card
    monkeypatch.setitem(sys.modules, "cupy", None)  # importing it fails
    assert as_cupy(card) is card


@pytest.fixture
def queued(device):
    if device.caps.api != "opencl":
        pytest.skip(f"{TEST_DEVICE} is no OpenCL device")
    return pytest.importorskip("pyopencl.array").to_device(device.queue, VALUES)


def test_an_opencl_array_without_a_queue_is_read_where_it_lies(queued, device):
    matrix = device_matrix(queued.with_queue(None), np.nan)
    assert matrix.shape == (3, 2)
    np.testing.assert_array_equal(matrix.on(device).get(), VALUES)
    np.testing.assert_array_equal(matrix.host(), VALUES)


def test_opencl_arrays_that_the_host_copies(queued, monkeypatch):
    assert device_matrix(queued, 0.0) is None  # 0 means missing
    assert device_matrix(queued.reshape(6), np.nan) is None

    def fail(context):
        raise OSError("no space left on device")

    monkeypatch.setattr(foreign, "_infinity_kernel", fail)
    assert device_matrix(queued, np.nan) is None
