"""Known faults of drivers: which devices have them, the remedy, and a public description.

An entry may reduce a device's capabilities, refuse the device, or warn the user. Most entries do
none of these: the kernels or the discovery avoid the fault on all devices.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.messages import pip_install

MEASURED = "measured for this library; see docs/portability.md"
_GITHUB = "https://github.com"


@dataclass(frozen=True)
class Fault:
    """A known fault of a driver.

    Attributes
    ----------
    driver, fault, remedy : str
        Text for people.
    source : str
        Address of a public description, or ``MEASURED``.
    matches : callable
        Tells whether a device has the fault.
    limit : callable or None
        Returns the capabilities without those that do not work.
    refuse : bool
        Whether the device cannot be used; the fault and the remedy say why.
    warn : bool
        Whether the user is warned.
    """

    driver: str
    fault: str
    remedy: str
    source: str
    matches: Callable[[Capabilities], bool]
    limit: Callable[[Capabilities], Capabilities] | None = None
    refuse: bool = False
    warn: bool = False

    @property
    def text(self) -> str:
        """The fault, its remedy and its source in one sentence."""
        return f"{self.driver}: {self.fault}; {self.remedy} ({self.source})"


def _platform(*words: str) -> Callable[[Capabilities], bool]:
    """Return a test whether a platform's name contains one of some words."""
    return lambda caps: any(word in caps.platform.lower() for word in words)


def _number(pattern: str, text: str) -> float:
    """Return the number that a pattern's first group finds, or NaN, which is in no range."""
    found = re.match(pattern, text)
    return float(found.group(1)) if found else float("nan")


def _old_rusticl(caps: Capabilities) -> bool:
    return _platform("rusticl")(caps) and _number(r"(\d+)\.\d+", caps.driver) < 23


def _llvmpipe(caps: Capabilities) -> bool:
    # zink's name has llvmpipe's in brackets where it runs on a processor, and trains correctly
    return _platform("rusticl")(caps) and caps.name.lower().startswith("llvmpipe")


def _apple(kind: str) -> Callable[[Capabilities], bool]:
    return lambda caps: caps.platform == "Apple" and caps.kind == kind


def _intel_gpu(caps: Capabilities) -> bool:
    return caps.kind == "gpu" and caps.platform.startswith("Intel(R) OpenCL")


def _apollo_lake(caps: Capabilities) -> bool:
    return _intel_gpu(caps) and any(word in caps.name for word in ("0x5a84", "0x5a85"))


def _rocm_multiplication(caps: Capabilities) -> bool:
    # the driver of ROCm 3.5.0 has version 3137.0 (legacy-rocm-build, issue 1131), that of 4.1 3241
    return "HSA" in caps.driver and 3137 <= _number(r"(\d+)\.", caps.driver) < 3241


TABLE: tuple[Fault, ...] = (
    Fault(
        "Mesa rusticl before 23",
        "loops silently stop after 65535 rounds, so results are wrong",
        "install a newer Mesa, or the vendor's own OpenCL driver",
        MEASURED,
        _old_rusticl,
        refuse=True,
    ),
    Fault(
        "Mesa rusticl on llvmpipe",
        "this driver for processors executes loads that no work-item asks for, and trainings crash",
        "for a card, name its driver in RUSTICL_ENABLE (AMD: radeonsi, Intel: iris); to train on a "
        f"processor, use PoCL: {pip_install('cpu')}",
        f"{_GITHUB}/tinygrad/tinygrad/issues/16706",
        _llvmpipe,
        refuse=True,
    ),
    Fault(
        "Mesa Clover",
        "it speaks OpenCL 1.1",
        "use rusticl (RUSTICL_ENABLE=radeonsi) or the vendor's own OpenCL driver",
        f"{_GITHUB}/Khanattila/KNLMeansCL/issues/55",
        _platform("clover"),
        refuse=True,
    ),
    Fault(
        "Apple's OpenCL on CPUs",
        "it says work-groups of 1024 and refuses more than one work-item where there is a barrier",
        "work-groups of 1 are used",
        f"{_GITHUB}/bh107/bohrium/issues/511",
        _apple("cpu"),
        limit=lambda caps: replace(caps, max_work_group=1),
    ),
    Fault(
        "Apple's OpenCL on GPUs",
        "kernels with 64-bit atomics do not build",
        "kernels without them are used",
        f"{_GITHUB}/beehive-lab/TornadoVM/issues/637",
        _apple("gpu"),
        limit=lambda caps: replace(caps, int64_atomics=False),
    ),
    Fault(
        "Intel compute-runtime 22.53",
        "launches may overtake each other on Arc cards, so results are sporadically wrong",
        "install another version of intel-opencl-icd",
        f"{_GITHUB}/intel/compute-runtime/issues/622",
        lambda caps: _intel_gpu(caps) and caps.driver.startswith("22.53."),
        warn=True,
    ),
    Fault(
        "Intel HD Graphics of Celeron and Atom (Apollo Lake)",
        "32-bit atomics on global memory were seen to lose updates",
        "compare with a model trained with device='cpu', which must be the same file",
        f"{_GITHUB}/intel/compute-runtime/issues/405",
        _apollo_lake,
        warn=True,
    ),
    Fault(
        "ROCm 3.5 to 4.0",
        "64-bit integer multiplications were compiled wrongly",
        "install ROCm 4.1 or newer",
        f"{_GITHUB}/ROCm/legacy-rocm-build/issues/1383",
        _rocm_multiplication,
        warn=True,
    ),
    Fault(
        "PoCL",
        "a barrier inside a conditional is compiled wrongly in work-groups of more than one item",
        "kernels keep barriers out of conditionals",
        f"{_GITHUB}/pocl/pocl/issues/553",
        _platform("portable computing language"),
    ),
    Fault(
        "NVIDIA's OpenCL",
        "a kernel that takes all of the 48 KiB of local memory is refused",
        "variants.LOCAL_HEADROOM leaves some of it",
        MEASURED,
        _platform("nvidia"),
    ),
    Fault(
        "Intel compute-runtime 23.22 to 24.45",
        "shifts of integer vectors in place corrupt all but their first element",
        "kernels use no vectors",
        f"{_GITHUB}/intel/compute-runtime/issues/790",
        _intel_gpu,
    ),
    Fault(
        "Intel's CPU runtime from pip",
        "its .icd file names a path that is not there, so loaders do not find it",
        "device/intel.py shows it to them",
        MEASURED,
        lambda caps: caps.kind == "cpu" and caps.platform.startswith("Intel(R) OpenCL"),
    ),
    Fault(
        "Oclgrind",
        "it lists itself first and calls itself CPU, GPU and accelerator at once",
        "it is never chosen unless it is named",
        MEASURED,
        _platform("oclgrind"),
    ),
)


def apply(caps: Capabilities) -> tuple[Capabilities, str, list[str]]:
    """Apply the table of faults to a device.

    Parameters
    ----------
    caps : Capabilities
        As the driver states them.

    Returns
    -------
    caps : Capabilities
        The same without capabilities that do not work.
    problem : str
        Why the device cannot be used; empty if it can.
    notes : list of str
        Warnings for the user.
    """
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
    return caps, problem, notes


def why_no_device(platform: str) -> list[str]:
    """Return why a platform lists no device, and what to do; empty if no reason is known.

    Parameters
    ----------
    platform : str
        Name of an OpenCL platform without devices.
    """
    if "rusticl" not in platform.lower():
        return []
    enabled = os.environ.get("RUSTICL_ENABLE", "").strip()
    reason = "RUSTICL_ENABLE is not set"
    if enabled:
        reason = f"RUSTICL_ENABLE={enabled} names no driver of a card that is here"
    return [
        f"OpenCL: Mesa's rusticl is installed, but offers no device: {reason}. For an AMD card run "
        "`export RUSTICL_ENABLE=radeonsi` before Python starts, for an Intel card "
        "`export RUSTICL_ENABLE=iris`"
    ]
