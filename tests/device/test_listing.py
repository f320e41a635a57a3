"""What OpenCL and CUDA list, and drivers that throw, refuse or are not there."""

import importlib.machinery
import sys
from types import ModuleType, SimpleNamespace

import pyopencl as cl
import pytest

from pyopencl_gbdt.cli import main
from pyopencl_gbdt.device import devices, discovery, find
from pyopencl_gbdt.device.limited_device import PRETENCES
from pyopencl_gbdt.errors import DeviceError
from tests.device.fakes import (
    Platform,
    ThrowingDevice,
    imported_anew,
    make_info,
    opencl_device,
)

POCL = make_info(
    device_id="opencl:1:0", name="pthread", platform="Portable Computing Language", kind="cpu",
    unified_memory=True,
)  # fmt: skip
CUDA_0 = make_info(device_id="cuda:0", api="cuda", name="NVIDIA A", platform="CUDA")
CUDA_1 = make_info(
    device_id="cuda:1", api="cuda", name="NVIDIA B", platform="CUDA", compute_units=100
)
EMBEDDED = {"profile": "EMBEDDED_PROFILE"}


@pytest.fixture
def platforms(monkeypatch):
    """Call it with the platforms that OpenCL shall list, or with what listing shall raise."""
    monkeypatch.delenv(discovery.ENVIRONMENT, raising=False)
    monkeypatch.setattr(discovery, "_cuda", lambda: ([], []))
    monkeypatch.setattr(discovery.driver_folders, "_notes", {})

    def be(listed):
        def get_platforms():
            if isinstance(listed, Exception):
                raise listed
            return listed

        monkeypatch.setattr(cl, "get_platforms", get_platforms)

    return be


@pytest.mark.parametrize("kind", [cl.LogicError, RuntimeError, OSError, ValueError])
def test_a_platform_that_throws_does_not_hide_the_others(platforms, kind):
    good = Platform("Good", [opencl_device()])
    platforms([Platform("Bad", kind("driver out of order")), good])
    assert [i.device_id for i in devices()] == ["opencl:1:0"]
    assert find("auto").device_id == "opencl:1:0"
    with pytest.raises(DeviceError, match=r"OpenCL platform 0: .*driver out of order"):
        find("opencl:0:0")


def test_a_device_whose_queries_throw_is_listed_as_unusable(platforms):
    platforms([Platform("Mixed", [ThrowingDevice(), opencl_device()])])
    first, second = devices()
    assert not first.usable
    assert first.caps is None
    assert "cannot be asked for" in first.problem
    assert first.variants() == {}
    assert "not usable" in first.describe()
    assert second.usable
    assert find("auto").device_id == "opencl:0:1"


def test_no_platform_at_all(platforms):
    platforms(cl.LogicError("clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR"))
    assert devices() == []
    with pytest.raises(DeviceError, match="no device") as caught:
        find("auto")
    assert "PLATFORM_NOT_FOUND_KHR" in str(caught.value)
    assert "[cpu]" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"available": False}, "not available"),
        ({"compiler_available": False}, "no compiler"),
        ({"endian_little": False}, "big-endian"),
        (EMBEDDED, "lacks 64-bit integers (cles_khr_int64); install"),
        (
            {**EMBEDDED, "extensions": "cles_khr_int64", "single_fp_config": 0},
            "lacks rounding to nearest of float32 (CL_FP_ROUND_TO_NEAREST) and infinity and NaN",
        ),
        (
            {**EMBEDDED, "single_fp_config": cl.device_fp_config.ROUND_TO_NEAREST},
            "(cles_khr_int64) and infinity and NaN of float32 (CL_FP_INF_NAN)",
        ),
        (
            {**EMBEDDED, "extensions": "cles_khr_int64", "local_mem_size": 1024},
            "lacks 32 KiB of local memory (it has 1024 B)",
        ),
        ({"version": "OpenCL 1.1 Old"}, "OpenCL 1.2 is needed"),
    ],
)
def test_why_a_device_is_unusable(platforms, changes, reason):
    platforms([Platform("P", [opencl_device(**changes)])])
    (info,) = devices()
    assert not info.usable
    assert reason in info.problem
    assert reason in info.describe()


def test_an_embedded_profile_that_lacks_only_images_is_usable(platforms):
    """A Radeon under Mesa's rusticl has it: 16 writable images, where a full profile has 64."""
    extensions = "cl_khr_global_int32_base_atomics cles_khr_int64"
    platforms([Platform("rusticl", [opencl_device(**EMBEDDED, extensions=extensions)])])
    assert find("gpu").device_id == "opencl:0:0"


@pytest.mark.parametrize(
    ("platform", "kind", "expected"),
    [
        ("Portable Computing Language", "CPU", True),
        ("Intel(R) OpenCL", "CPU", True),
        ("Portable Computing Language", "GPU", False),
        ("Intel(R) OpenCL Graphics", "GPU", False),
        ("rusticl", "CPU", False),
        ("Apple", "CPU", False),
        ("Oclgrind", "CPU", False),
    ],
)
def test_only_two_cpu_runtimes_prefetch(platforms, platform, kind, expected):
    described = SimpleNamespace(name=platform, version="OpenCL 3.0")
    card = opencl_device(described, type=getattr(cl.device_type, kind))
    platforms([Platform(platform, [card])])
    caps = devices()[0].caps
    assert caps.prefetches == expected
    assert not any(weaker(caps).prefetches for weaker in PRETENCES.values())


def test_mesa_that_is_not_enabled_is_told_with_the_line_to_set(platforms, monkeypatch, capsys):
    monkeypatch.delenv("RUSTICL_ENABLE", raising=False)
    platforms([Platform("rusticl", []), Platform("Good", [opencl_device()])])
    assert main(["devices"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "export RUSTICL_ENABLE=radeonsi" in said
    platforms([Platform("rusticl", [])])
    with pytest.raises(DeviceError, match="`export RUSTICL_ENABLE=radeonsi`"):
        find("auto")


@pytest.mark.parametrize("version", ["OpenCL 1.2 x", "OpenCL 2.0 x", "OpenCL 3.0 ", "OpenCL 10.0"])
def test_versions_from_1_2_on_are_usable(platforms, version):
    platforms([Platform("P", [opencl_device(version=version)])])
    assert devices()[0].usable


def test_a_simulator_is_numbered_last(platforms):
    """It says that it is a GPU, too; installing it does not change what ``opencl:0:0`` means."""
    everything = cl.device_type.CPU | cl.device_type.GPU | cl.device_type.ACCELERATOR
    described = SimpleNamespace(name="Oclgrind", version="OpenCL 1.2")
    simulator = Platform("Oclgrind", [opencl_device(described, type=everything)])
    cards = [Platform("A", [opencl_device(name="A")]), Platform("B", [opencl_device(name="B")])]
    platforms([simulator, *cards])
    assert [find(f"opencl:{p}:0").caps.name for p in (0, 1)] == ["A", "B"]
    info = find("opencl:2:0")
    assert (info.caps.is_simulator, info.caps.kind) == (True, "cpu")
    assert "never chosen by 'auto'" in info.describe()


def test_capabilities_are_what_the_driver_says(platforms):
    platforms([Platform("P", [opencl_device(extensions="cl_khr_fp64", host_unified_memory=1)])])
    caps = devices()[0].caps
    assert caps.name == "Fake card"
    assert caps.kind == "gpu"
    assert (caps.fp64, caps.int64_atomics, caps.unified_memory) == (True, False, True)
    assert caps.driver == "1.2.3 (OpenCL 3.0 Fake)"


# -- CUDA --------------------------------------------------------------------------------------
@pytest.fixture
def cupy(monkeypatch):
    """A CuPy that imports; give it a runtime."""
    fake = ModuleType("cupy")
    fake.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
    fake.__version__ = "0.0"
    fake.cuda = SimpleNamespace()
    with imported_anew("pyopencl_gbdt.device.cuda.device"):
        monkeypatch.setitem(sys.modules, "cupy", fake)
        yield fake


def test_cupy_without_a_driver_is_a_note(cupy, monkeypatch):
    def raise_error():
        raise RuntimeError("cudaErrorInsufficientDriver: no CUDA driver")

    cupy.cuda.runtime = SimpleNamespace(
        driverGetVersion=lambda: 0, getDeviceCount=raise_error, getDeviceProperties=None
    )
    monkeypatch.setattr(discovery, "_opencl", lambda: ([POCL], []))
    monkeypatch.delenv(discovery.ENVIRONMENT, raising=False)
    assert devices() == [POCL]
    assert find("auto") is POCL
    with pytest.raises(DeviceError, match="CUDA: cudaErrorInsufficientDriver"):
        find("cuda")


def test_cupy_with_two_cards(cupy, monkeypatch):
    def properties(index):
        return {
            "name": b"Card", "multiProcessorCount": 10 + index, "maxThreadsPerBlock": 1024,
            "sharedMemPerBlock": 49152, "totalGlobalMem": 1 << 33, "integrated": 0,
        }  # fmt: skip

    cupy.cuda.runtime = SimpleNamespace(
        driverGetVersion=lambda: 13000, getDeviceCount=lambda: 2, getDeviceProperties=properties
    )
    monkeypatch.setattr(discovery, "_opencl", lambda: ([], []))
    monkeypatch.delenv(discovery.ENVIRONMENT, raising=False)
    assert [i.device_id for i in devices()] == ["cuda:0", "cuda:1"]
    assert find("auto").device_id == "cuda:1"
    assert "13000" in find("cuda:0").caps.driver


def test_a_pyopencl_that_does_not_import_is_a_note(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    monkeypatch.setattr(discovery, "_cuda", lambda: ([CUDA_0], []))
    monkeypatch.setattr(discovery.driver_folders, "_notes", {})
    with imported_anew("pyopencl_gbdt.device.opencl.facts"):
        assert find("cuda") is CUDA_0
        with pytest.raises(DeviceError, match="OpenCL: "):
            find("opencl")


def test_a_missing_cupy_is_a_note(monkeypatch):
    monkeypatch.setattr(discovery.importlib.util, "find_spec", lambda name: None)
    found, notes = discovery._cuda()
    assert found == []
    assert "CuPy is not installed" in notes[0]


@pytest.mark.parametrize("loaded", [True, False])
def test_a_stand_in_leaves_no_module_behind(loaded, monkeypatch, tmp_path):
    """One imported with a stand-in of CuPy stayed: ``find("cuda")`` then failed on a real card."""
    (tmp_path / "a_package").mkdir()
    for name in ("__init__.py", "part.py"):
        (tmp_path / "a_package" / name).touch()
    monkeypatch.syspath_prepend(tmp_path)
    before = importlib.import_module("a_package.part") if loaded else None
    for _ in range(2):
        with imported_anew("a_package.part"):
            assert importlib.import_module("a_package.part") is not before
        assert sys.modules.get("a_package.part") is before
        assert getattr(sys.modules["a_package"], "part", None) is before
    for name in ("a_package.part", "a_package"):
        sys.modules.pop(name, None)
