"""Containers, WSL, batch jobs, Python packages, and what the listing of devices tells."""

import pytest

from pyopencl_gbdt.doctor import surroundings
from pyopencl_gbdt.doctor.findings import INSTALL, Listing
from pyopencl_gbdt.doctor.machine import Package
from tests.doctor.machines import CPU, GPU, Builder, listed, listing_of

MISSING = "cannot open shared object file"


@pytest.fixture
def build(tmp_path):
    return Builder(tmp_path)


def found(machine, listing):
    return {f.code: f for check in surroundings.CHECKS for f in check(machine, listing)}


def test_nothing_to_say(build):
    assert found(build.machine(), listing_of(CPU)) == {}


def test_an_nvidia_container_without_the_drivers_libraries(build):
    build.file("/.dockerenv").file("/dev/nvidiactl")
    build.broken["libnvidia-opencl.so.1"] = MISSING
    machine = build.machine(environment={"NVIDIA_DRIVER_CAPABILITIES": "utility,video"})
    finding = found(machine, listing_of(CPU))["nvidia-container"]
    assert "NVIDIA_DRIVER_CAPABILITIES=utility,video lacks compute" in finding.text
    assert "NVIDIA_DRIVER_CAPABILITIES=compute,utility" in finding.repair("")[0][1]
    for value in ("all", "compute,utility"):
        machine = build.machine(environment={"NVIDIA_DRIVER_CAPABILITIES": value})
        assert "lacks compute" not in found(machine, listing_of(CPU))["nvidia-container"].text
    works = listing_of(listed(vendor="NVIDIA Corporation", name="card", platform="NVIDIA CUDA"))
    assert found(machine, works) == {}
    build.broken.clear()
    assert found(machine, listing_of(CPU)) == {}


def test_apptainer(build):
    build.file("/proc/driver/nvidia/version").broken["libnvidia-opencl.so.1"] = MISSING
    machine = build.machine(environment={"APPTAINER_CONTAINER": "x.sif"})
    finding = found(machine, listing_of(CPU))["nvidia-container"]
    assert finding.repair("")[0][1].startswith("apptainer exec --nv")


def test_wsl(build):
    build.file("/proc/version", "Linux version 5.15.90.1-microsoft-standard-WSL2")
    assert "without /dev/dxg" in found(build.machine(), listing_of(CPU))["wsl"].text
    build.file("/dev/dxg")
    assert found(build.machine(), listing_of(CPU))["wsl"].severity == "note"
    assert found(build.machine(), listing_of(GPU)) == {}


@pytest.mark.parametrize("value", ["", "-1", " "])
def test_variables_that_hide_cards(build, value):
    machine = build.machine(environment={"CUDA_VISIBLE_DEVICES": value})
    assert found(machine, listing_of(CPU))["cards-hidden"].commands["any"].startswith("unset CUDA")
    assert found(build.machine(environment={"CUDA_VISIBLE_DEVICES": "0"}), listing_of(CPU)) == {}


def test_a_batch_job_without_a_gpu(build):
    machine = build.machine(environment={"SLURM_JOB_ID": "1"})
    assert set(found(machine, listing_of(CPU))) == {"no-gpu-in-job"}
    assert found(machine, listing_of(GPU)) == {}


def test_intels_runtime_half_installed(build):
    packages = {"intel-opencl-rt": Package("2026.2")}
    finding = found(build.machine(packages=packages), listing_of(CPU))["intel-half-installed"]
    assert finding.repair("") == [("", "pip install intel-cmplr-lib-rt")]


def test_a_runtime_that_the_loader_does_not_see(build):
    packages = {"pocl-binary-distribution": Package("3.0")}
    assert found(build.machine(packages=packages), listing_of(CPU)) == {}
    finding = found(build.machine(packages=packages), listing_of(GPU))["runtime-not-seen"]
    assert finding.commands == INSTALL["pocl"]
    machine = build.machine(packages=packages, environment={"OCL_ICD_VENDORS": "/opt"})
    finding = found(machine, listing_of(GPU))["runtime-not-seen"]
    assert finding.repair("") == [("", "unset OCL_ICD_VENDORS")]


def test_a_package_with_missing_files(build):
    packages = {"pocl-binary-distribution": Package("3.0", ("libpocl.so", "pocl.icd"))}
    findings = found(build.machine(packages=packages), listing_of(GPU))
    assert set(findings) == {"package-incomplete"}
    assert "lacks libpocl.so, pocl.icd" in findings["package-incomplete"].text


def test_cupy(build):
    packages = {"cupy-cuda12x": Package("14.0")}
    build.broken.update({"libcuda.so.1": MISSING, "libnvrtc.so": MISSING})
    assert set(found(build.machine(packages=packages), listing_of(CPU))) == {"cupy-without-driver"}
    cuda = listing_of(listed("cuda:0", api="cuda", platform="CUDA"))
    finding = found(build.machine(packages=packages), cuda)["cupy-without-nvrtc"]
    assert finding.repair("") == [("", "pip install nvidia-cuda-nvrtc-cu12")]
    packages["nvidia-cuda-nvrtc-cu12"] = Package("12.9")
    assert found(build.machine(packages=packages), cuda) == {}
    packages["cupy-cuda13x"] = Package("14.0")
    assert set(found(build.machine(packages=packages), cuda)) == {"cupy-twice"}


def test_what_the_listing_tells(build):
    notes = (
        "OpenCL: pyopencl does not load: libOpenCL.so.1: cannot open shared object file",
        "OpenCL platform 1: clGetDeviceIDs failed: OUT_OF_HOST_MEMORY",
        "CUDA: CuPy is not installed",
    )
    odd = listed("opencl:2:0", "its driver has no compiler", name="Odd")
    findings = found(build.machine(), listing_of(CPU, odd, notes=notes))
    assert set(findings) == {"no-loader", "platform-fails", "device-unusable"}
    assert findings["no-loader"].commands == INSTALL["loader"]
    assert "opencl:2:0 Odd cannot be used: its driver has no compiler" in (
        findings["device-unusable"].text
    )


def test_a_driver_with_a_known_fault(build):
    old = listed(name="card", platform="rusticl", driver="22.3.6")
    findings = found(build.machine(), listing_of(old))
    assert findings["driver-fault"].text.startswith("opencl:0:0: Mesa rusticl before 23")


def test_a_driver_that_crashes_the_listing(build):
    findings = found(build.machine(), Listing(failure="ends the process by signal 11"))
    assert set(findings) == {"listing-fails"}


def test_a_device_that_is_not_there(build):
    listing = Listing((CPU,), problem="device='nope': no usable device fits")
    assert set(found(build.machine(), listing)) == {"device-not-found"}


@pytest.mark.parametrize("system", ["Linux", "Darwin", "Windows"])
def test_no_device(build, system):
    finding = found(build.machine(system=system), listing_of())["no-device"]
    command = {"Linux": "pip install", "Darwin": "conda install", "Windows": "pip install"}[system]
    assert [c.startswith(command) for _, c in finding.repair("")] == [True]
