"""Known faults of drivers: which devices have them, the remedy, and a public description.

An entry may reduce a device's capabilities, refuse the device, or warn the user. Most entries do
none of these: the kernels or the discovery avoid the fault on all devices.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.drivers import makers
from pyopencl_gbdt.device.drivers.fault import Fault
from pyopencl_gbdt.messages import pip_install

#: The part of a GPU's memory that is used: displays and other programs may hold the rest.
SHARE = 7 / 8
_MIB = 1 << 20
#: Variable of AMD's driver; 0: it counts every compute unit.
_WGP_MODE = "GPU_ENABLE_WGP_MODE"
_GITHUB = "https://github.com"


def _platform(*words: str) -> Callable[[Capabilities], bool]:
    """Return a test whether a platform's name contains one of some words."""
    return lambda caps: any(word in caps.platform.lower() for word in words)


def _number(pattern: str, text: str) -> float:
    """Return the number that a pattern's first group finds, or NaN, which is in no range."""
    found = re.match(pattern, text)
    return float(found.group(1)) if found else float("nan")


_rusticl = _platform("rusticl")


def _llvmpipe(caps: Capabilities) -> bool:
    # zink's name has llvmpipe's in brackets where it runs on a processor, and trains correctly
    return _rusticl(caps) and caps.name.lower().startswith("llvmpipe")


def _apple(kind: str) -> Callable[[Capabilities], bool]:
    return lambda caps: caps.platform == "Apple" and caps.kind == kind


def _intel_gpu(caps: Capabilities) -> bool:
    return caps.kind == "gpu" and caps.platform.startswith("Intel(R) OpenCL")


def _apollo_lake(caps: Capabilities) -> bool:
    return _intel_gpu(caps) and any(word in caps.name for word in ("0x5a84", "0x5a85"))


def _rocm_multiplication(caps: Capabilities) -> bool:
    # the driver of ROCm 3.5.0 has version 3137.0 (legacy-rocm-build, issue 1131), that of 4.1 3241
    return "HSA" in caps.driver and 3137 <= _number(r"(\d+)\.", caps.driver) < 3241


def _amd_in_pairs(caps: Capabilities) -> bool:
    """Tell whether AMD's own driver counts compute units in pairs (its WGP mode)."""
    own = caps.platform.startswith("AMD Accelerated") and caps.kind == "gpu"
    found = re.match(r"gfx1[012]\d\d", caps.name)
    return own and found is not None and os.environ.get(_WGP_MODE, "").strip() != "0"


def _gfx11(caps: Capabilities) -> bool:
    return caps.kind == "gpu" and re.search(r"gfx11\d\d|navi3\d", caps.name.lower()) is not None


def _amd_gpu(caps: Capabilities) -> bool:
    return caps.kind == "gpu" and makers.maker(caps) == "AMD"


def _zink(caps: Capabilities) -> bool:
    return _rusticl(caps) and caps.name.lower().startswith("zink")


def _lavapipe_of_llvm_22(caps: Capabilities) -> bool:
    return _zink(caps) and _number(r".*llvmpipe \(LLVM (\d+)\.", caps.name) >= 22


def _untested_gpu(caps: Capabilities) -> bool:
    return caps.kind == "gpu" and not caps.tested_driver


def _small_window(caps: Capabilities) -> bool:
    return _intel_gpu(caps) and not caps.unified_memory and caps.global_bytes < 512 * _MIB


def _with_share(caps: Capabilities) -> Capabilities:
    most = int(SHARE * caps.global_bytes)
    return replace(caps, global_bytes=most, max_alloc_bytes=min(caps.max_alloc_bytes, most))


def _groups_of(most: int) -> Callable[[Capabilities], Capabilities]:
    return lambda caps: replace(caps, max_work_group=min(most, caps.max_work_group))


TABLE: tuple[Fault, ...] = (
    Fault(
        "Mesa rusticl before 23",
        "loops silently stop after 65535 rounds, so results are wrong",
        "install a newer Mesa, or the vendor's own OpenCL driver",
        lambda caps: _rusticl(caps) and _number(r"(\d+)\.\d+", caps.driver) < 23,
        refuse=True,
    ),
    Fault(
        "Mesa rusticl on llvmpipe",
        "this driver for processors executes loads that no work-item asks for, and trainings crash",
        "for a card, name its driver in RUSTICL_ENABLE (AMD: radeonsi, Intel: iris); to train on a "
        f"processor, use PoCL: {pip_install('cpu')}",
        _llvmpipe,
        f"{_GITHUB}/tinygrad/tinygrad/issues/16706",
        refuse=True,
    ),
    Fault(
        "Mesa Clover",
        "it speaks OpenCL 1.1",
        "use rusticl (RUSTICL_ENABLE=radeonsi) or the vendor's own OpenCL driver",
        _platform("clover"),
        f"{_GITHUB}/Khanattila/KNLMeansCL/issues/55",
        refuse=True,
    ),
    Fault(
        "PoCL",
        "a barrier that some work-groups skip is compiled wrongly where groups have several items",
        "kernels keep barriers out of conditionals, and all groups go through all barriers",
        _platform("portable computing language"),
        f"{_GITHUB}/pocl/pocl/issues/553",
        limit=lambda caps: replace(caps, skips_barriers=False),
    ),
    Fault(
        "Apple's OpenCL on CPUs",
        "it says work-groups of 1024 and refuses more than one work-item where there is a barrier",
        "work-groups of 1 are used",
        _apple("cpu"),
        f"{_GITHUB}/bh107/bohrium/issues/511",
        limit=_groups_of(1),
    ),
    Fault(
        "Apple's OpenCL on GPUs",
        "kernels with 64-bit atomics do not build",
        "kernels without them are used",
        _apple("gpu"),
        f"{_GITHUB}/beehive-lab/TornadoVM/issues/637",
        limit=lambda caps: replace(caps, int64_atomics=False),
    ),
    Fault(
        "Intel compute-runtime 22.53",
        "launches may overtake each other on Arc cards, so results are sporadically wrong",
        "install another version of intel-opencl-icd",
        lambda caps: _intel_gpu(caps) and caps.driver.startswith("22.53."),
        f"{_GITHUB}/intel/compute-runtime/issues/622",
        warn=True,
    ),
    Fault(
        "Intel HD Graphics of Celeron and Atom (Apollo Lake)",
        "32-bit atomics on global memory were seen to lose updates",
        "compare with a model trained with device='cpu', which must be the same file",
        _apollo_lake,
        f"{_GITHUB}/intel/compute-runtime/issues/405",
        warn=True,
    ),
    Fault(
        "ROCm 3.5 to 4.0",
        "64-bit integer multiplications were compiled wrongly",
        "install ROCm 4.1 or newer",
        _rocm_multiplication,
        f"{_GITHUB}/ROCm/legacy-rocm-build/issues/1383",
        warn=True,
    ),
    Fault(
        "AMD's OpenCL on gfx10, gfx11 and gfx12",
        "it counts two compute units as one, so a card would get half of its work-groups",
        "the count is doubled, unless GPU_ENABLE_WGP_MODE=0 has made the driver count them all",
        _amd_in_pairs,
        f"{_GITHUB}/ROCm/hip/issues/2687",
        limit=lambda caps: replace(caps, compute_units=2 * caps.compute_units),
    ),
    Fault(
        "AMD's compiler for gfx11",
        "local memory is read before a barrier instead of behind it in work-groups above 512",
        "work-groups of at most 256 are used",
        _gfx11,
        f"{_GITHUB}/llvm/llvm-project/issues/207883",
        limit=_groups_of(256),
    ),
    Fault(
        "GPUs of AMD since gfx10",
        "the compiler chooses waves of 32 or 64 work-items, and queries may name the other",
        "no kernel depends on it; the doctor measures the width",
        _amd_gpu,
        f"{_GITHUB}/ROCm/rocm-systems/issues/4445",
    ),
    Fault(
        "AMD's OpenCL",
        "mem_fence orders accesses for the own work-group only",
        "look-back over work-groups is used where the doctor's trial of it has passed",
        _amd_gpu,
        f"{_GITHUB}/ROCm/legacy-rocm-build/issues/475",
    ),
    Fault(
        "AMD's OpenCL on processors with graphics",
        "it may state only the memory that the firmware sets aside, such as 256 MiB",
        "set a larger one in the firmware (UMA frame buffer size)",
        lambda caps: _amd_gpu(caps) and caps.global_bytes <= 512 * _MIB,
        f"{_GITHUB}/darktable-org/darktable/issues/11401",
        warn=True,
    ),
    Fault(
        "Mesa's zink",
        "it says 1 compute unit of every card",
        "the number of work-groups that run at once is measured before the first use",
        _zink,
    ),
    Fault(
        "Mesa's zink, and others",
        "numbers below 2^-126 are flushed to zero, which OpenCL allows",
        "no bit of a model depends on one; the doctor says whether the device does it",
        _zink,
        f"{_GITHUB}/KhronosGroup/OpenCL-Docs/issues/276",
    ),
    Fault(
        "Mesa's lavapipe with LLVM 22 or later",
        "it executes loads that no work-item asks for, and trainings crash",
        "this is tested before the first use, and the device is not used if it crashes; to train "
        f"on a processor, use PoCL: {pip_install('cpu')}",
        _lavapipe_of_llvm_22,
        f"{_GITHUB}/tinygrad/tinygrad/issues/16706",
    ),
    Fault(
        "Intel's graphics compiler",
        "64-bit atomic sums were compiled so that each was added four times",
        "they are tested before the first use, and kernels without them are used where they fail",
        _intel_gpu,
        f"{_GITHUB}/intel/intel-graphics-compiler/issues/397",
    ),
    Fault(
        "Intel's graphics compiler",
        "a kernel whose registers spill takes fifty times as long to compile",
        "no kernel spills on the chips of docs/portability.md",
        _intel_gpu,
        f"{_GITHUB}/intel/intel-graphics-compiler/issues/420",
    ),
    Fault(
        "Intel compute-runtime on cards without a resizable BAR",
        "it states the size of the window to the card's memory, such as 243 MiB, as its memory",
        "switch Resizable BAR on in the firmware, and use a newer Linux kernel",
        _small_window,
        f"{_GITHUB}/intel/compute-runtime/issues/624",
        warn=True,
    ),
    Fault(
        "Intel compute-runtime",
        "one allocation has 4 GiB at most, also on cards of 16 GiB",
        "data are kept in pages that are smaller than one allocation",
        _intel_gpu,
        f"{_GITHUB}/intel/compute-runtime/issues/627",
    ),
    Fault(
        "Drivers of mobile chips, such as Adreno",
        "the compiler may end the process by SIGSEGV",
        "kernels are compiled in a helper process, so that a crash is a message and the next "
        "variant is used",
        _untested_gpu,
        f"{_GITHUB}/naibaf7/caffe/issues/69",
    ),
    Fault(
        "Drivers with which the tests were not run",
        "a compiler may need minutes for a large kernel",
        "a program is given up after 120 s (PYOPENCL_GBDT_BUILD_SECONDS), and the next variant is "
        "used",
        lambda caps: not caps.tested_driver,
        f"{_GITHUB}/cogciprocate/ocl/issues/129",
    ),
    Fault(
        "Drivers of GPUs that show a picture",
        "they reset what runs for longer than 0.5 to 2 s, while the picture stands still",
        "no kernel runs longer than 0.2 s, by the speed that was measured",
        _untested_gpu,
        f"{_GITHUB}/intel/compute-runtime/issues/497",
    ),
    Fault(
        "Drivers of GPUs with which the tests were not run",
        "they may state more memory than they allocate, as displays and other programs hold some",
        f"{SHARE:.1%} of it are used; device_memory= sets a lower limit",
        _untested_gpu,
        f"{_GITHUB}/intel/compute-runtime/issues/617",
        limit=_with_share,
    ),
    Fault(
        "NVIDIA's OpenCL",
        "a kernel that takes all of the 48 KiB of local memory is refused",
        "variants.LOCAL_HEADROOM leaves some of it",
        _platform("nvidia"),
    ),
    Fault(
        "Intel compute-runtime 23.22 to 24.45",
        "shifts of integer vectors in place corrupt all but their first element",
        "kernels use no vectors",
        _intel_gpu,
        f"{_GITHUB}/intel/compute-runtime/issues/790",
    ),
    Fault(
        "Intel's CPU runtime from pip",
        "its .icd file names a path that is not there, so loaders do not find it",
        "device/drivers/intel.py shows it to them",
        lambda caps: caps.kind == "cpu" and caps.platform.startswith("Intel(R) OpenCL"),
    ),
    Fault(
        "Intel's CPU runtime",
        "a loop's differences of 64-bit integers were compiled as sums, in lines of interactions",
        "the kernel adds them up and subtracts once",
        lambda caps: caps.kind == "cpu" and caps.platform.startswith("Intel(R) OpenCL"),
    ),
    Fault(
        "Oclgrind",
        "it lists itself first and calls itself CPU, GPU and accelerator at once",
        "it is never chosen unless it is named",
        _platform("oclgrind"),
    ),
)


def apply(caps: Capabilities) -> tuple[Capabilities, str, Sequence[str]]:
    """Apply the table of faults to a device.

    ``caps``: as the driver states them.

    Returns
    -------
    caps : Capabilities
        The same without capabilities that do not work.
    problem : str
        Why the device cannot be used; empty if it can.
    notes : sequence of str
        Warnings for the user.
    """
    return _applied(caps, os.environ.get(_WGP_MODE, "").strip())


@lru_cache(maxsize=64)  # every fit lists the devices
def _applied(caps: Capabilities, wgp_mode: str) -> tuple[Capabilities, str, tuple[str, ...]]:
    problem, notes = "", []
    for fault in TABLE:
        if not fault.matches(caps):
            continue
        if fault.refuse and not problem:
            problem = fault.text
        if fault.warn:
            notes.append(fault.text)
        if fault.limit is not None:
            caps = fault.limit(caps)
    return caps, problem, tuple(notes)


def answered(caps: Capabilities) -> list[str]:
    """Return the faults of a device's driver that the library answers by itself, as text.

    Drivers that the tests run on have none to tell of.
    """
    found = [] if caps.tested_driver else [fault for fault in TABLE if fault.matches(caps)]
    return [fault.text for fault in found if not (fault.refuse or fault.warn)]
