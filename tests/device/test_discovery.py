"""What is found, what each device string selects, and what the errors say."""

import importlib.machinery
import sys
from types import ModuleType, SimpleNamespace

import pyopencl as cl
import pytest

from pyopencl_gbdt.cli import main
from pyopencl_gbdt.device import Device, DeviceInfo, devices, discovery, find, open_device
from pyopencl_gbdt.device.limited_device import PRETENCES
from pyopencl_gbdt.errors import DeviceError
from tests.conftest import TEST_DEVICE
from tests.device.fakes import (
    FakeDevice,
    Platform,
    ThrowingDevice,
    imported_anew,
    make_info,
    opencl_device,
)

SIMULATOR = make_info(
    device_id="opencl:7:0", name="Oclgrind Simulator", platform="Oclgrind", kind="cpu",
    is_simulator=True, unified_memory=True, compute_units=1000,
)  # fmt: skip
POCL = make_info(
    device_id="opencl:1:0", name="pthread", platform="Portable Computing Language", kind="cpu",
    unified_memory=True,
)  # fmt: skip
INTEL_CPU = make_info(
    device_id="opencl:2:0", name="CPU", platform="Intel(R) OpenCL", kind="cpu", unified_memory=True
)
INTEGRATED = make_info(
    device_id="opencl:3:0", name="Graphics", platform="Intel(R) OpenCL Graphics",
    vendor="Intel(R) Corporation", unified_memory=True, compute_units=512,
)  # fmt: skip
NVIDIA_0 = make_info(
    device_id="opencl:4:0", name="NVIDIA A", platform="NVIDIA CUDA", vendor="NVIDIA Corporation"
)
NVIDIA_1 = make_info(
    device_id="opencl:4:1", name="NVIDIA B", platform="NVIDIA CUDA", compute_units=100
)
INTEL_GPU = make_info(
    device_id="opencl:3:1", name="Discrete", platform="Intel(R) OpenCL Graphics", compute_units=4
)
POCL_GPU = make_info(
    device_id="opencl:1:1", name="NVIDIA A", platform="Portable Computing Language",
    compute_units=4,
)  # fmt: skip
RADEON = make_info(
    device_id="opencl:8:0", name="AMD Radeon RX 7900 XTX (radeonsi, navi31)", platform="rusticl",
    vendor="AMD",
)  # fmt: skip
CUDA_0 = make_info(device_id="cuda:0", api="cuda", name="NVIDIA A", platform="CUDA")
CUDA_1 = make_info(
    device_id="cuda:1", api="cuda", name="NVIDIA B", platform="CUDA", compute_units=100
)
BROKEN = make_info(
    "its driver has no compiler", device_id="opencl:5:0", name="Broken", platform="Old"
)
DUMB = DeviceInfo("opencl:6:0", None, "cannot be asked")
EMBEDDED = {"profile": "EMBEDDED_PROFILE"}
EVERYTHING = [
    SIMULATOR, POCL, INTEL_CPU, INTEGRATED, NVIDIA_0, NVIDIA_1, BROKEN, DUMB, CUDA_0, CUDA_1,
]  # fmt: skip
CPUS = [SIMULATOR, POCL, INTEL_CPU]


@pytest.fixture
def present(monkeypatch):
    """Call it with the devices that shall be there."""
    monkeypatch.delenv(discovery.ENVIRONMENT, raising=False)

    def be(found, notes=()):
        opencl = [i for i in found if not i.device_id.startswith("cuda")]
        cuda = [i for i in found if i.device_id.startswith("cuda")]
        monkeypatch.setattr(discovery, "_opencl", lambda: (opencl, list(notes)))
        monkeypatch.setattr(discovery, "_cuda", lambda: (cuda, []))

    return be


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("auto", NVIDIA_1),  # a discrete GPU, by OpenCL, the larger one
        ("  AUTO ", NVIDIA_1),
        ("gpu", NVIDIA_1),
        ("cpu", INTEL_CPU),
        ("opencl", NVIDIA_1),
        ("cuda", CUDA_1),
        ("cuda:0", CUDA_0),
        ("cuda:1", CUDA_1),
        ("CUDA:1", CUDA_1),
        ("opencl:4:0", NVIDIA_0),
        ("opencl:1:0", POCL),
        ("opencl:7:0", SIMULATOR),  # asked for by its own name, a simulator is given
        ("oclgrind", SIMULATOR),
        ("portable computing", POCL),
        ("Nvidia A", NVIDIA_0),
        ("nvidia", NVIDIA_1),
        (" ARC", INTEGRATED),  # a GPU, though Intel's CPU runtime is there
        ("intel", INTEGRATED),
    ],
)
def test_each_device_string_selects(present, spec, expected):
    present(EVERYTHING)
    assert find(spec) is expected


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ([NVIDIA_0, NVIDIA_1], NVIDIA_1),
        ([NVIDIA_1, NVIDIA_0], NVIDIA_1),
        ([CUDA_1, NVIDIA_0], NVIDIA_0),  # OpenCL is the main road
        ([CUDA_0, POCL], CUDA_0),
        ([INTEGRATED, NVIDIA_0], NVIDIA_0),
        ([INTEGRATED, INTEL_CPU], INTEGRATED),
        ([INTEL_GPU, NVIDIA_0], NVIDIA_0),  # preferred CPU runtimes are not preferred GPUs
        ([POCL_GPU, NVIDIA_0], NVIDIA_0),
        ([POCL, INTEL_CPU], INTEL_CPU),
        ([SIMULATOR, POCL], POCL),
        ([BROKEN, DUMB, POCL], POCL),
    ],
)
def test_auto_takes_the_best(present, there, expected):
    present(there)
    assert find("auto") is expected


def test_equal_cards_give_the_first(present):
    twin = make_info(device_id="opencl:4:1", name="NVIDIA A", platform="NVIDIA CUDA")
    present([NVIDIA_0, twin])
    assert find("auto") is NVIDIA_0


@pytest.mark.parametrize("spec", ["auto", "cpu", "gpu", "opencl"])
def test_a_simulator_is_never_chosen_unasked(present, spec):
    present([SIMULATOR])
    with pytest.raises(DeviceError, match="Oclgrind"):
        find(spec)


@pytest.mark.parametrize("spec", ["", " "])
def test_an_empty_name_is_not_the_best_device(spec):
    with pytest.raises(DeviceError, match=f"device='{spec}': expected 'auto', 'gpu'"):
        find(spec)


def test_the_environment_replaces_auto_alone(present, monkeypatch):
    present(EVERYTHING)
    monkeypatch.setenv(discovery.ENVIRONMENT, " CUDA:0 ")
    assert find("auto") is CUDA_0
    assert find() is CUDA_0
    assert find("cpu") is INTEL_CPU


def test_an_empty_environment_variable_is_none(present, monkeypatch):
    present(EVERYTHING)
    monkeypatch.setenv(discovery.ENVIRONMENT, "  ")
    assert find("auto") is NVIDIA_1


def test_an_error_from_the_environment_names_the_variable(present, monkeypatch):
    present(CPUS)
    monkeypatch.setenv(discovery.ENVIRONMENT, "gpu")
    with pytest.raises(DeviceError, match=r"device='gpu' \(PYOPENCL_GBDT_DEVICE\)"):
        find("auto")


def test_a_missing_gpu_is_an_error_with_a_remedy(present):
    present(CPUS)
    with pytest.raises(DeviceError) as caught:
        find("gpu")
    text = str(caught.value)
    assert "device='gpu'" in text
    for info in CPUS:
        assert info.device_id in text
        assert info.caps.name in text
    assert "install the GPU's OpenCL driver" in text
    assert "device='cpu'" in text


@pytest.mark.parametrize(
    ("spec", "there", "remedy"),
    [
        ("cuda", CPUS, "[cuda12]"),
        ("cuda:3", [CUDA_0], "[cuda12]"),
        ("opencl:9:9", CPUS, "use one of the devices above"),
        ("no such name", CPUS, "use one of the devices above"),
        ("auto", [], "[cpu]"),
        ("auto", [SIMULATOR, BROKEN], "[cpu]"),
    ],
)
def test_every_error_ends_with_the_next_move(present, spec, there, remedy):
    present(there)
    with pytest.raises(DeviceError) as caught:
        find(spec)
    assert remedy in str(caught.value).splitlines()[-1]


@pytest.mark.parametrize("spec", ["amd", "Radeon", "rocm", "hip"])
def test_a_maker_means_its_gpus_and_never_its_processor(present, spec):
    epyc = make_info(
        device_id="opencl:0:0", name="pthread-AMD EPYC", platform="Portable Computing Language",
        vendor="AuthenticAMD", kind="cpu",
    )  # fmt: skip
    present([epyc, INTEGRATED, NVIDIA_0])
    with pytest.raises(DeviceError) as caught:
        find(spec)
    first, *listed, last = str(caught.value).splitlines()
    assert first.startswith(f"device={spec!r}: there is no usable GPU of AMD")
    assert any("pthread-AMD EPYC" in line and "usable CPU" in line for line in listed)
    assert "rocm-opencl-icd or mesa-opencl-icd" in last
    assert "device='cpu'" in last
    present([epyc, INTEGRATED, NVIDIA_0, RADEON])
    assert find(spec) is RADEON
    assert find("amd epyc") is epyc


def test_other_text_is_a_part_of_a_name(present):
    present(CPUS)
    assert find("intel(r)") is INTEL_CPU
    with pytest.raises(DeviceError, match="no usable GPU of Intel"):
        find("intel")


def test_a_maker_means_its_gpus_through_every_interface(present):
    present([POCL, CUDA_0])
    assert find("nvidia") is CUDA_0
    present([POCL, CUDA_0, NVIDIA_0])
    assert find("nvidia") is NVIDIA_0


def test_an_unusable_device_is_listed_with_its_reason(present):
    present([BROKEN, DUMB])
    with pytest.raises(DeviceError) as caught:
        find("opencl:5:0")
    assert "its driver has no compiler" in str(caught.value)
    assert "cannot be asked" in str(caught.value)
    with pytest.raises(DeviceError, match="cannot be asked"):
        find("opencl:6:0")


@pytest.mark.parametrize("spec", [None, 0, b"cpu", ["cpu"]])
def test_a_device_that_is_no_string(spec):
    with pytest.raises(DeviceError, match="expected a string"):
        find(spec)


def test_no_device_at_all(present):
    present([], notes=["OpenCL: PLATFORM_NOT_FOUND_KHR"])
    assert devices() == []
    with pytest.raises(DeviceError, match="no device") as caught:
        find("auto")
    assert "PLATFORM_NOT_FOUND_KHR" in str(caught.value)


def test_an_opened_device_is_returned_as_it_is():
    device = FakeDevice()
    assert open_device(device) is device


# -- OpenCL's own listing ----------------------------------------------------------------------
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


def test_a_platform_that_throws_does_not_hide_the_others(platforms):
    good = Platform("Good", [opencl_device()])
    platforms([Platform("Bad", cl.LogicError("driver out of order")), good])
    assert [i.device_id for i in devices()] == ["opencl:1:0"]
    assert find("auto").device_id == "opencl:1:0"
    with pytest.raises(DeviceError, match=r"OpenCL platform 0: .*driver out of order"):
        find("opencl:0:0")


@pytest.mark.parametrize("error", [RuntimeError("odd"), OSError("odd"), ValueError("odd")])
def test_any_exception_of_a_driver_is_survived(platforms, error):
    platforms([Platform("Bad", error), Platform("Good", [opencl_device()])])
    assert find("auto").device_id == "opencl:1:0"


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
    with pytest.raises(DeviceError, match="PLATFORM_NOT_FOUND_KHR") as caught:
        find("auto")
    assert "[cpu]" in str(caught.value)


def test_a_platform_without_devices(platforms):
    platforms([Platform("Empty", [])])
    assert devices() == []


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
    """Installing one does not change what ``opencl:0:0`` means."""
    everything = cl.device_type.CPU | cl.device_type.GPU | cl.device_type.ACCELERATOR
    described = SimpleNamespace(name="Oclgrind", version="OpenCL 1.2")
    simulator = Platform("Oclgrind", [opencl_device(described, type=everything)])
    cards = [Platform("A", [opencl_device(name="A")]), Platform("B", [opencl_device(name="B")])]
    platforms([simulator, *cards])
    assert [find(f"opencl:{p}:0").caps.name for p in (0, 1)] == ["A", "B"]
    assert find("opencl:2:0").caps.is_simulator


def test_capabilities_are_what_the_driver_says(platforms):
    platforms([Platform("P", [opencl_device(extensions="cl_khr_fp64", host_unified_memory=1)])])
    caps = devices()[0].caps
    assert caps.name == "Fake card"
    assert caps.kind == "gpu"
    assert (caps.fp64, caps.int64_atomics, caps.unified_memory) == (True, False, True)
    assert caps.driver == "1.2.3 (OpenCL 3.0 Fake)"


def test_oclgrind_is_recognised_though_it_says_it_is_a_gpu(platforms):
    platform = SimpleNamespace(name="Oclgrind", version="OpenCL 1.2")
    everything = cl.device_type.CPU | cl.device_type.GPU | cl.device_type.ACCELERATOR
    platforms([Platform("Oclgrind", [opencl_device(platform, type=everything)])])
    (info,) = devices()
    assert info.caps.is_simulator
    assert info.caps.kind == "cpu"
    assert "never chosen by 'auto'" in info.describe()


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


# -- this machine ------------------------------------------------------------------------------
def test_a_missing_pyopencl_is_told_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    _, notes = discovery.survey("opencl")
    assert any("pip install pyopencl" in note for note in notes), notes


def test_the_device_of_the_tests_opens_and_describes_itself(nothing_refused):
    info = find(TEST_DEVICE)
    assert info.usable
    text = info.describe()
    assert text.startswith(info.device_id)
    assert "all kernels: " in text
    assert "kernels: histogram: " in info.describe(verbose=True)
    device = open_device(info.device_id)
    assert isinstance(device, Device)
    assert device.caps == info.caps
    assert info.device_id in [i.device_id for i in devices()]
