"""A user's own loss that goes wrong leaves nothing on the device, and the next fit as it was."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, DeviceObjective, KernelObjective
from pyopencl_gbdt.errors import KernelBuildError, ParameterError
from tests.device.fits import X, Y, fit, text_of


def not_finite(margins, dataset):
    return margins * np.nan, np.ones_like(margins)


def not_finite_there(margins, labels, g, h):
    g.set(np.full(g.shape, np.inf))
    h.set(np.ones(h.shape))


def raises(margins, dataset):
    raise KeyError("mine")


@pytest.mark.parametrize(
    ("loss", "error"),
    [
        (not_finite, ParameterError),
        (DeviceObjective(not_finite_there), ParameterError),
        (KernelObjective("g = as_f32(0x7F800000u); h = 1.0f;"), ParameterError),
        (KernelObjective("g = 1.0f +; h = 1.0f;"), KernelBuildError),
        (raises, KeyError),
    ],
    ids=["function", "device", "kernel", "build", "raises"],
)
def test_memory_is_free_again(expected, opened, loss, error):
    data = Dataset(X, Y)
    with pytest.raises(error) as caught:
        fit(data, objective=loss)
    assert opened[-1].allocated_bytes == 0  # although the traceback is alive, and the data are
    assert caught.value.__traceback__ is not None
    assert text_of(fit(data)) == expected
