"""What is found, what each device string selects, and what the errors say."""

import sys
from dataclasses import replace

import pytest

from pyopencl_gbdt.device import Device, DeviceInfo, devices, discovery, find, open_device
from pyopencl_gbdt.errors import DeviceError
from tests.conftest import TEST_DEVICE
from tests.device.fakes import (
    FakeDevice,
    make_info,
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
        ([NVIDIA_0, replace(NVIDIA_0, device_id="opencl:4:1")], NVIDIA_0),  # equal cards
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


@pytest.mark.parametrize("spec", ["auto", "gpu", "nvidia", "nvidia a", "opencl", "cpu"])
def test_cuda_is_not_listed_where_its_cards_could_not_be_chosen(present, monkeypatch, spec):
    present([POCL, NVIDIA_0])
    monkeypatch.setattr(discovery, "_cuda", lambda: pytest.fail("lists CUDA's cards"))
    assert find(spec) is (POCL if spec == "cpu" else NVIDIA_0)


@pytest.mark.parametrize("spec", ["cuda", "cuda:0"])
def test_opencl_is_not_listed_for_a_card_of_cuda(present, monkeypatch, spec):
    present([CUDA_0])
    monkeypatch.setattr(discovery, "_opencl", lambda: pytest.fail("lists OpenCL's devices"))
    assert find(spec) is CUDA_0


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


def test_an_opened_device_is_returned_as_it_is():
    device = FakeDevice()
    assert open_device(device) is device


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
