"""A kernel that is refused when it is launched, and a device that goes away in the middle."""

import warnings

import numpy as np
import pyopencl as cl
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.device import choose
from pyopencl_gbdt.device.opencl import device as opencl_module
from pyopencl_gbdt.device.opencl import program
from pyopencl_gbdt.device.variants import fallbacks
from pyopencl_gbdt.errors import (
    DeviceError,
    KernelFallbackWarning,
    KernelLaunchError,
    MemoryPlanError,
)
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction import walk_rows
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.device.fits import PARAMS, X, Y, fit, text_of

pytestmark = pytest.mark.usefixtures("nothing_refused")


@pytest.fixture
def refusing(device, monkeypatch):
    """``refusing(name, wg_size, status)``: kernels whose names begin so fail to launch."""
    if device.caps.api != "opencl":
        pytest.skip("OpenCL only")
    enqueue = cl.enqueue_nd_range_kernel

    def plan(name, wg_size=None, status="OUT_OF_RESOURCES", after=0):
        seen = [0]

        def attempt(queue, kernel, size, group):
            mine = kernel.function_name.startswith(name)
            if mine and wg_size in (None, group[0]):
                seen[0] += 1
                if seen[0] > after:
                    raise cl.RuntimeError(f"clEnqueueNDRangeKernel failed: {status}")
            return enqueue(queue, kernel, size, group)

        monkeypatch.setattr(program, "_enqueue_function", lambda: None)
        monkeypatch.setattr(cl, "enqueue_nd_range_kernel", attempt)

    return plan


@pytest.mark.usefixtures("cut_by_kernels")
@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("split", "find"),
        ("plan", "decide"),
        ("whole_trees", "grow"),
        ("update_margins", "add_leaves"),
        ("radix_sort", "radix_"),
    ],
)
def test_the_next_variant_takes_over(device, expected, opened, refusing, kernel, name, request):
    if kernel != "whole_trees":
        request.getfixturevalue("step_by_step")
    elif choose(kernel, device.caps).name == "steps":
        pytest.skip("this device grows trees step by step")
    first, second, *more = fallbacks(kernel, device.caps)
    size = first.params["wg_size"]
    last = next((own for own in (second, *more) if own.params.get("wg_size") != size), second)
    after = 0 if kernel == "radix_sort" else 2  # one launch may sort all
    refusing(name, min(size, device.caps.max_work_group), after=after)
    with pytest.warns(KernelFallbackWarning) as said:
        model = fit()
    text = str(said[0].message)
    assert f"{kernel}: {first.name!r} does not run" in text
    assert repr(second.name) in text
    assert "OUT_OF_RESOURCES" in text
    assert text_of(model) == expected
    assert model.variants.get(kernel, last.name) == last.name
    assert len(opened) >= 2  # variants of equal work-groups are all refused
    assert opened[0].allocated_bytes == 0
    with warnings.catch_warnings():  # it is not tried again
        warnings.simplefilter("error")
        assert text_of(fit()) == expected


def histogram_group(device, name):
    """Return the work-group that a variant was built for, which the driver may have limited."""
    params = Parameters.from_dict({**PARAMS, "histogram": name})
    fitting = Fit(device, params, get_objective(params.objective), Dataset(X, Y), 0.0)
    return fitting.kernels.grower.search.histogram.kernel.program.wg_size


@pytest.mark.usefixtures("step_by_step")
def test_the_next_histogram_takes_over(device, expected, refusing):
    first, second = fallbacks("histogram", device.caps)[:2]
    sizes = [histogram_group(device, variant.name) for variant in (first, second)]
    if sizes[0] == sizes[1]:
        pytest.skip("both are launched alike")
    refusing("histogram", sizes[0], after=3)
    with pytest.warns(KernelFallbackWarning, match=f"{first.name!r}.*{second.name!r}"):
        model = fit()
    assert model.variants["histogram"] == second.name
    assert text_of(model) == expected


def test_prediction_falls_back_too(device, refusing, monkeypatch):
    monkeypatch.setattr(walk_rows, "MOST_WALKS", 0)
    model = fit()
    expected = model.predict(X, device=TEST_DEVICE)
    first = fallbacks("predict", device.caps)[0]
    refusing("predict", min(first.params["wg_size"], device.caps.max_work_group))
    with pytest.warns(KernelFallbackWarning, match=f"predict: {first.name!r}"):
        assert np.array_equal(model.predict(X, device=TEST_DEVICE), expected)


@pytest.mark.usefixtures("step_by_step")
def test_where_no_variant_is_left_the_error_says_it(opened, refusing, expected, monkeypatch):
    refusing("find")
    with (
        pytest.warns(KernelFallbackWarning),
        pytest.raises(KernelLaunchError, match=r"launching 'find'.*work_group_size=") as caught,
    ):
        fit()
    assert isinstance(caught.value, DeviceError)
    assert [device.allocated_bytes for device in opened] == [0] * len(opened)
    monkeypatch.undo()
    assert text_of(fit()) == expected


def test_a_variant_that_was_asked_for_by_name_is_not_replaced(device, refusing):
    name = choose("histogram", device.caps).name
    refusing("histogram")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KernelLaunchError):
            fit(histogram=name)


@pytest.mark.usefixtures("step_by_step")
def test_memory_that_is_missing_at_a_launch_is_no_fault_of_the_variant(opened, refusing):
    refusing("decide", status="MEM_OBJECT_ALLOCATION_FAILURE", after=3)
    with pytest.raises(MemoryPlanError, match=r"no memory is left to launch 'decide'.*fewer rows"):
        fit()
    assert opened[-1].allocated_bytes == 0


# -- a device that is lost in the middle -------------------------------------------------------
@pytest.mark.usefixtures("step_by_step")
def test_a_device_that_is_lost_in_the_middle(opened, refusing, expected, monkeypatch):
    monkeypatch.setattr(opencl_module, "_contexts", {})
    data = Dataset(X, Y)
    refusing("find", status="DEVICE_NOT_AVAILABLE", after=7)
    with pytest.raises(DeviceError, match=r"launching 'find' .*DEVICE_NOT_AVAILABLE") as caught:
        fit(data)
    assert "pyopencl-gbdt doctor" in str(caught.value)
    lost = opened[-1]
    assert lost.allocated_bytes == 0
    refusing("no such kernel")  # it is back
    assert text_of(fit(data)) == expected
    assert opened[-1].context.int_ptr != lost.context.int_ptr
    assert opened[-1].process_key != lost.process_key  # its arrays are of no use any more
