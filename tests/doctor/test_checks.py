"""Drivers, cards, permissions and the cache folder on machines made of a few files."""

import os
from pathlib import Path

import pytest

from pyopencl_gbdt.device.cache import cache_folder
from pyopencl_gbdt.doctor import checks, examine
from pyopencl_gbdt.doctor.findings import FAMILIES, INSTALL, Finding
from pyopencl_gbdt.doctor.machine import Machine, Package, installed_packages, why_not_loadable
from tests.doctor.machines import (
    AMD,
    CPU,
    GPU,
    INTEL,
    NVIDIA,
    OS_RELEASE,
    Builder,
    listed,
    listing_of,
)

NOTHING = listing_of()


@pytest.fixture
def build(tmp_path):
    return Builder(tmp_path)


def found(machine, listing=NOTHING):
    return {f.code: f for check in checks.CHECKS for f in check(machine, listing)}


def test_an_empty_machine_has_nothing_half_there(build):
    assert found(build.machine()) == {}


@pytest.mark.parametrize("system", ["Darwin", "Windows"])
def test_other_systems_have_other_files(build, system):
    build.icd("/gone.so").card(NVIDIA)
    (build.root / "gone.so").unlink()
    assert found(build.machine(system=system)) == {}


def test_an_icd_file_whose_library_is_missing(build):
    build.icd("/usr/lib/libigdrcl.so", "intel.icd")
    assert found(build.machine()) == {}
    (build.root / "usr/lib/libigdrcl.so").unlink()
    (finding,) = found(build.machine()).values()
    assert finding.code == "icd-library-missing"
    assert "/etc/OpenCL/vendors/intel.icd names /usr/lib/libigdrcl.so" in finding.text
    assert finding.repair("debian") == [("Debian", "sudo apt install intel-opencl-icd")]
    assert len(finding.repair("")) == len(FAMILIES)


def test_a_library_that_does_not_load(build):
    build.icd("libnvidia-opencl.so.1", "nvidia.icd")
    build.broken["libnvidia-opencl.so.1"] = "libnvidia-opencl.so.1: cannot open shared object file"
    finding = found(build.machine())["icd-library-missing"]
    assert "cannot open" in finding.text
    assert finding.commands == INSTALL["nvidia"]


def test_a_driver_of_unknown_make_is_removed(build):
    build.icd("libwhatever.so", "old.icd")
    build.broken["libwhatever.so"] = "no such file"
    finding = found(build.machine())["icd-library-missing"]
    assert finding.repair("debian") == [("", "sudo rm /etc/OpenCL/vendors/old.icd")]


def test_a_driver_of_the_other_width_is_left_alone(build):
    build.icd("lib32.so")
    build.broken["lib32.so"] = "lib32.so: wrong ELF class: ELFCLASS32"
    assert found(build.machine()) == {}


def test_an_icd_file_without_a_name(build):
    build.file("/etc/OpenCL/vendors/a.icd", "\n")
    assert "names no library" in found(build.machine())["icd-empty"].text


@pytest.mark.parametrize("name", ["OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"])
def test_variables_that_lead_nowhere(build, name):
    build.icd("libnvidia-opencl.so.1")
    for value in ("/nowhere", "/nowhere/a.icd", "no-slash.icd"):
        if name == "OPENCL_VENDOR_PATH" and value.endswith(".icd"):
            continue
        finding = found(build.machine(environment={name: value}))["vendors-nowhere"]
        assert f"{name}={value}" in finding.text
        assert finding.repair("arch") == [("", f"unset {name}")]


def test_variables_that_lead_somewhere(build):
    build.icd("libpocl.so", "b.icd", "/opt/vendors").icd("libpocl.so", "c.icd")
    for value in ("/opt/vendors", "/opt/vendors/b.icd", "c.icd"):
        machine = build.machine(environment={"OCL_ICD_VENDORS": value})
        assert found(machine) == {}
        assert len(checks.drivers(machine)) == 1


@pytest.mark.parametrize(("vendor", "maker"), [(NVIDIA, "nvidia"), (AMD, "amd"), (INTEL, "intel")])
def test_a_card_without_its_driver(build, vendor, maker):
    build.card(vendor).file("/dev/dri/renderD128").file("/dev/kfd").icd("libpocl.so")
    findings = found(build.machine())
    assert list(findings) == ["card-without-icd"]
    assert findings["card-without-icd"].commands == INSTALL[maker]


def test_a_card_with_its_driver_or_mesa_or_a_working_device(build):
    build.card(AMD).file("/dev/dri/renderD128").file("/dev/kfd")
    build.icd("libRusticlOpenCL.so.1")
    assert set(found(build.machine())) == {"rusticl-not-enabled"}
    assert found(build.machine(environment={"RUSTICL_ENABLE": "radeonsi"})) == {}
    build.icd("libamdocl64.so", "a.icd")
    assert found(build.machine()) == {}
    (build.root / "etc/OpenCL/vendors/a.icd").unlink()
    assert found(build.machine(), listing_of(GPU)) == {}
    processor = listed(kind="cpu", name="AMD EPYC")  # the processor's maker is not the card's
    assert "card-without-icd" in found(build.machine(), listing_of(processor))


def test_other_devices_on_the_bus_are_no_cards(build):
    folder = "/sys/bus/pci/devices/0000:05:00.0"
    build.file(f"{folder}/vendor", INTEL).file(f"{folder}/class", "0x020000")  # a network card
    build.card("0x1a03")  # a server's console
    assert build.machine().cards == []
    build.file("/sys/class/drm/card0/device/vendor", "0x1002\n")
    build.file("/proc/driver/nvidia/version")
    assert build.machine().cards == ["amd", "nvidia"]


def test_a_container_that_lacks_only_the_icd_file(build):
    build.card(NVIDIA).file("/.dockerenv")
    finding = found(build.machine())["card-without-icd"]
    ((_, command),) = finding.repair("debian")
    assert "echo libnvidia-opencl.so.1 > /etc/OpenCL/vendors/nvidia.icd" in command


def test_a_card_that_only_cuda_reaches(build):
    build.card(NVIDIA).file("/.dockerenv")
    cuda = listing_of(listed("cuda:0", api="cuda", platform="CUDA", vendor="NVIDIA"))
    machine = build.machine(environment={"OCL_ICD_FILENAMES": "libnvidia-opencl.so.1"})
    finding = found(machine, cuda)["card-without-icd"]
    assert finding.severity == "note"
    assert "CUDA can still use it" in finding.text
    assert "OCL_ICD_FILENAMES is not read" in finding.text


def test_device_files_that_may_not_be_opened(build):
    build.card(AMD).icd("libamdocl64.so").file("/dev/dri/renderD128").file("/dev/kfd")
    group = (build.root / "dev/kfd").stat().st_gid
    build.file("/etc/group", f"other:x:99999:\nrender:x:{group}:\n")
    build.closed = {"/dev/kfd", "/dev/dri/renderD128"}
    (finding,) = found(build.machine()).values()
    assert finding.code == "no-permission"
    assert "/dev/dri/renderD128, /dev/kfd" in finding.text
    assert finding.repair("")[0][1].startswith("sudo usermod -aG render $USER")
    build.file("/.dockerenv")
    assert found(build.machine())["no-permission"].repair("")[0][1].endswith("--group-add render")


def test_device_files_that_are_absent(build):
    build.card(AMD).icd("libamdocl64.so")
    all_found = checks.check_permissions(build.machine(), NOTHING)
    assert ["/dev/kfd" in f.text for f in all_found] == [True, False]
    assert all(f.repair("") == [("", "sudo modprobe amdgpu")] for f in all_found)
    build.file("/run/.containerenv")
    all_found = checks.check_permissions(build.machine(), NOTHING)
    commands = [command for f in all_found for _, command in f.repair("")]
    assert commands == ["docker run --device /dev/kfd", "docker run --device /dev/dri"]


# -- the cache folder --------------------------------------------------------------------------
CACHE = Path("/home/me/.cache/pyopencl_gbdt")


def test_a_cache_folder_that_is_well(build):
    assert checks.check_cache(build.machine(), CACHE) == []  # not there yet
    (build.root / "home/me/.cache/pyopencl_gbdt").mkdir(parents=True)
    assert checks.check_cache(build.machine(user_id=os.getuid()), CACHE) == []


def test_a_cache_folder_of_another_user(build):
    place = build.root / "home/me/.cache/pyopencl_gbdt"
    place.mkdir(parents=True)
    if os.getuid() == 0:  # whose folders are trusted
        os.chown(place, 54321, 54321)
    (finding,) = checks.check_cache(build.machine(user_id=os.getuid() + 1), CACHE)
    assert "belongs to another user" in finding.text
    assert "PYOPENCL_GBDT_CACHE" in finding.repair("")[0][1]


def test_a_cache_folder_that_cannot_be_written(build):
    (build.root / "home/me").mkdir(parents=True)
    build.closed = {"/home/me"}
    (finding,) = checks.check_cache(build.machine(), CACHE)
    assert finding.text.startswith("/home/me cannot be written")
    assert "every process builds its kernels anew" in finding.text


def test_a_cache_folder_that_others_can_write(build):
    place = build.root / "home/me/.cache/pyopencl_gbdt"
    place.mkdir(parents=True)
    place.chmod(0o775)
    (finding,) = checks.check_cache(build.machine(user_id=os.getuid()), CACHE)
    assert "can be written by other users" in finding.text
    assert finding.repair("") == [("", f"chmod go-w {CACHE}")]


def test_a_cache_folder_without_room_and_what_is_used_instead(build):
    (build.root / "home/me").mkdir(parents=True)
    said = "/home/me: No space left on device"
    (finding,) = checks.check_cache(build.machine(), CACHE, problem=said)
    assert finding.severity == "warning"
    assert finding.text.startswith(said)
    (finding,) = checks.check_cache(build.machine(), CACHE, Path("/tmp/instead"), said)
    assert finding.severity == "note"
    assert "kept in /tmp/instead instead" in finding.text


def test_pocls_folder(build):
    machine = build.machine(packages={"pocl-binary-distribution": Package("3.0")})
    assert checks.check_pocl_folder(machine, "", "") == []
    assert checks.check_pocl_folder(build.machine(), "", "OpenCL: PoCL has no device") == []
    (finding,) = checks.check_pocl_folder(machine, "", "OpenCL: PoCL has no device where ...")
    assert (finding.severity, finding.code) == ("error", "pocl-folder")
    (finding,) = checks.check_pocl_folder(machine, "/tmp/mine", "")
    assert (finding.severity, "/tmp/mine" in finding.text) == ("note", True)


def test_a_file_in_the_place_of_the_cache_folder(build):
    build.file("/home/me/.cache")
    (finding,) = checks.check_cache(build.machine(), CACHE)
    assert finding.repair("") == [("", "rm /home/me/.cache")]


# -- the machine itself ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "family"),
    [("debian", "debian"), ("ubuntu", "ubuntu"), ("fedora", "fedora"), ("rocky", "fedora"),
     ("arch", "arch"), ("manjaro", "arch"), ("tumbleweed", "suse"), ("other", "")],
)  # fmt: skip
def test_families(build, name, family):
    assert build.file("/etc/os-release", OS_RELEASE[name]).machine().family == family


def test_containers(build):
    assert build.machine().container == ""
    assert build.machine(environment={"container": "lxc"}).container == "lxc"
    assert build.machine(environment={"APPTAINER_CONTAINER": "x"}).container == "Apptainer"
    build.file("/proc/1/cgroup", "0::/kubepods/burstable\n")
    assert build.machine().container == "container"
    assert build.file("/.dockerenv").machine().container == "Docker"


def test_every_part_has_a_command_everywhere():
    for part, commands in INSTALL.items():
        assert set(commands) in ({"any"}, set(FAMILIES)), part
    assert Finding("a", "note", "b").repair("debian") == []


def test_this_machine(monkeypatch, tmp_path):
    machine = Machine.here()
    assert machine.packages["pyopencl"].missing == ()
    assert "numpy" not in installed_packages()
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path))
    codes = {f.code for f in examine(machine, listing_of(GPU, CPU))}
    assert "cache-folder" not in codes
    assert cache_folder() == tmp_path


def test_loading_a_library():
    assert "no-such-library" in why_not_loadable("no-such-library.so.1")
    if Machine().system == "Linux":
        assert why_not_loadable("libc.so.6") == ""
