"""A device that goes away, a platform that throws, a kernel that does not build, a cache."""

import json
import warnings

import numpy as np
import pyopencl as cl
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.device import choose, find, open_device, runnable
from pyopencl_gbdt.device.drivers import fallback
from pyopencl_gbdt.device.opencl import device as opencl_module
from pyopencl_gbdt.device.variants import choosing, fallbacks
from pyopencl_gbdt.errors import DeviceError, KernelBuildError, KernelFallbackWarning
from pyopencl_gbdt.fit.ways import fit_kernels
from pyopencl_gbdt.model import to_xgboost_json
from tests.conftest import TEST_DEVICE
from tests.device.fakes import Platform


def small_fit(**params):
    X = np.arange(120, dtype=np.float32).reshape(30, 4)
    return train({"device": TEST_DEVICE, "n_estimators": 2, **params}, Dataset(X, X[:, 0]))


@pytest.fixture
def on_opencl(device):
    if device.caps.api != "opencl":
        pytest.skip("OpenCL only")


# -- a device that goes away -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("function", "doing"),
    [
        ("Context", "opening it"),
        ("CommandQueue", "opening it"),
        ("enqueue_nd_range_kernel", "launching"),
        ("enqueue_copy", "writing its memory"),
    ],
)
def test_a_device_that_is_lost_is_named(on_opencl, monkeypatch, function, doing):
    def fail(*arguments, **options):
        raise cl.RuntimeError("clSomething failed: DEVICE_NOT_AVAILABLE")

    monkeypatch.setattr(opencl_module, "_contexts", {})
    monkeypatch.setattr(cl, function, fail)
    with pytest.raises(DeviceError) as caught:
        small_fit()
    text = str(caught.value)
    assert find(TEST_DEVICE).device_id in text
    assert doing in text
    assert "DEVICE_NOT_AVAILABLE" in text
    assert "pyopencl-gbdt doctor" in text
    assert opencl_module._contexts == {} or doing != "opening it"


@pytest.mark.parametrize("work", ["read", "finish", "clear", "copy"])
def test_every_way_to_notice_it(on_opencl, monkeypatch, work):
    for known in ("_contexts", "_programs"):  # a lost device's context is forgotten
        monkeypatch.setattr(opencl_module, known, dict(getattr(opencl_module, known)))
    opened = open_device(TEST_DEVICE)
    array = opened.upload(np.arange(4, dtype=np.float32))

    class Queue:
        def __getattr__(self, name):
            raise cl.RuntimeError("OUT_OF_RESOURCES")

    def fail(*arguments, **options):
        raise cl.RuntimeError("OUT_OF_RESOURCES")

    monkeypatch.setattr(opened, "queue", Queue())
    monkeypatch.setattr(cl, "enqueue_copy", fail)
    monkeypatch.setattr(cl, "enqueue_fill_buffer", fail)
    arguments = {"read": (array,), "clear": (array,), "copy": (array, array, 0)}.get(work, ())
    with pytest.raises(DeviceError, match="OUT_OF_RESOURCES"):
        getattr(opened, work)(*arguments)


# -- a platform that throws --------------------------------------------------------------------
def test_a_platform_that_throws_is_mentioned(on_opencl, monkeypatch, capsys):
    broken = Platform("Broken", cl.LogicError("clGetDeviceIDs failed: OUT_OF_HOST_MEMORY"))
    good = cl.get_platforms()
    monkeypatch.delenv("PYOPENCL_GBDT_DEVICE", raising=False)  # numbers shift by one
    monkeypatch.setattr(cl, "get_platforms", lambda: [broken, *good])
    assert main(["devices"]) == 0
    assert "OpenCL platform 0: clGetDeviceIDs failed" in capsys.readouterr().out
    assert main(["devices", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert any("OUT_OF_HOST_MEMORY" in note for note in facts["notes"])
    with pytest.raises(DeviceError, match="OUT_OF_HOST_MEMORY"):
        find("no such device")


def test_a_wrong_device_string_lists_the_right_ones():
    with pytest.raises(DeviceError) as caught:
        find("voodoo")
    text = str(caught.value)
    assert "device='voodoo'" in text
    assert "'auto', 'gpu', 'gpu:<n>', 'cpu'" in text
    assert find(TEST_DEVICE).device_id in text
    assert "Next: " in text


# -- a kernel that does not build --------------------------------------------------------------
@pytest.fixture
def refusing(device, monkeypatch, tmp_path):
    """Call it with what is true of a template and its parameters that do not build."""
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path))
    monkeypatch.setattr(choosing, "REFUSED", set())
    monkeypatch.setattr(fallback, "REFUSED", choosing.REFUSED)
    kind = type(device)
    build = kind._build

    def be(refused):
        def attempt(self, template, wg_size, params):
            if refused(template, {"wg_size": wg_size, **params}):
                raise KernelBuildError("error: no such instruction")
            return build(self, template, wg_size, params)

        monkeypatch.setattr(kind, "_build", attempt)

    return be


def is_histogram(template):
    return template in ("histogram", "histogram_banks", "histogram_cpu")


def histogram_variant(template, params):
    """Return the variant of the histogram that a template builds with its parameters."""
    if template == "histogram_cpu":
        return "cpu"
    if template == "histogram_banks":
        return "own_banks"
    return "bin_range_passes" if params["ranged"] else "local_atomic"


@pytest.mark.few(4)
@pytest.mark.parametrize("kernel", [*fit_kernels(), "whole_trees"])
def test_the_next_variant_is_used_and_both_are_named(device, refusing, tmp_path, kernel, request):
    if kernel != "whole_trees":
        request.getfixturevalue("step_by_step")
    elif choose(kernel, device.caps).name == "steps":
        pytest.skip("this device grows trees step by step")
    first, second = fallbacks(kernel, device.caps)[:2]
    wanted = to_xgboost_json(small_fit().ensemble)
    templates = {"plan": {"level"}, "split": {"split", "split_cpu"}}.get(kernel, {kernel})
    if kernel == "histogram":
        refusing(lambda name, p: is_histogram(name) and histogram_variant(name, p) == first.name)
    else:
        size = first.params.get("least", first.params["wg_size"])  # columns here have few codes
        size = min(size, device.caps.max_work_group)
        refusing(
            lambda name, params: (
                name in templates
                and params["wg_size"] == size
                and params.get("ballots", first.warp_words) == first.warp_words
            )
        )
    with pytest.warns(KernelFallbackWarning) as said:
        model = small_fit()
    assert model.variants.get(kernel, second.name) == second.name
    assert to_xgboost_json(model.ensemble) == wanted
    text = str(said[0].message)
    assert f"{kernel}: {first.name!r}" in text
    assert repr(second.name) in text
    (log,) = tmp_path.glob("*.log")
    assert str(log) in text
    assert "no such instruction" in log.read_text(encoding="utf-8")
    with warnings.catch_warnings():  # once is enough, and it is not tried again
        warnings.simplefilter("error")
        assert small_fit().variants.get(kernel, second.name) == second.name


@pytest.mark.usefixtures("step_by_step")
def test_arrays_follow_a_variant_that_takes_over_later(device, refusing):
    """Where margins are updated by walks, the rows that were drawn are listed."""
    if choose("update_margins", device.caps).name == "walk":
        pytest.skip("this device has no other variant first")
    wanted = to_xgboost_json(small_fit(subsample=0.5).ensemble)
    refusing(lambda name, params: name == "update_margins" and not params["walk"])
    with pytest.warns(KernelFallbackWarning, match="update_margins: 'by_rows'.*'walk'"):
        model = small_fit(subsample=0.5)
    assert to_xgboost_json(model.ensemble) == wanted
    assert model.variants["update_margins"] == "walk"


@pytest.mark.usefixtures("cut_by_kernels")
@pytest.mark.parametrize("template", ["quantize", "predict", "radix_sort"])
def test_before_and_after_a_fit_the_next_variant_is_used_too(device, refusing, template):
    wanted = small_fit().predict(np.zeros((3, 4), np.float32), device=device)
    first, second = fallbacks(template, device.caps)[:2]
    built, size = first.template or template, first.params["wg_size"]
    refusing(lambda name, params: name == built and params["wg_size"] == size)
    with pytest.warns(KernelFallbackWarning, match=f"{template}: {first.name!r}.*{second.name!r}"):
        got = small_fit().predict(np.zeros((3, 4), np.float32), device=device)
    assert np.array_equal(got, wanted)


@pytest.mark.usefixtures("step_by_step")
@pytest.mark.parametrize("template", ["histogram", "update_margins"])
def test_where_no_variant_builds_the_last_error_is_raised(device, refusing, template):
    refusing(lambda name, params: name.startswith(template))
    with pytest.warns(KernelFallbackWarning) as said, pytest.raises(KernelBuildError):
        small_fit()
    assert len(said) == len(runnable(template, device.caps)) - 1


def test_a_variant_that_was_asked_for_is_not_replaced(device, refusing):
    refusing(lambda name, params: is_histogram(name))
    name = fallbacks("histogram", device.caps)[0].name
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KernelBuildError):
            small_fit(histogram=name)
