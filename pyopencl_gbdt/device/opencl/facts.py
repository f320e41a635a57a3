"""Read a device's capabilities from an OpenCL driver, and the texts of its errors."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pyopencl as cl

from pyopencl_gbdt.device.capabilities import CARD, HOST_CORES, Capabilities, Kind
from pyopencl_gbdt.device.drivers import makers


def message(error: Exception) -> str:
    """Return the text of a pyopencl error, which its ``repr`` hides."""
    return str(error).strip() or type(error).__name__


#: CPU runtimes with which the tests run and prefetching was measured: platforms.
_TESTED_CPU_RUNTIMES = ("Portable Computing Language", "Intel(R)")
#: Intel's emulator of FPGAs: an accelerator by its type, whose kernels run on the host's cores.
_EMULATOR = "FPGA Emulation"
#: What an embedded profile must have. A full profile has all of it.
_INT64_EXTENSION = "cles_khr_int64"
_ROUNDING = {"ROUND_TO_NEAREST": "rounding to nearest", "INF_NAN": "infinity and NaN"}
_LOCAL_BYTES = 32 * 1024

#: What the driver said of a device, by process, device and identifier: every fit lists the devices.
_known: dict[tuple[int, int, str], tuple[Capabilities, str]] = {}


def known_facts(device: Any, device_id: str) -> tuple[Capabilities, str]:
    """Return a device's capabilities, and why it is unusable; the driver is asked once a process.

    Raises
    ------
    pyopencl.Error
        If the driver does not answer.
    """
    if not isinstance(device, cl.Device):
        return capabilities(device, device_id), why_unusable(device)
    key = os.getpid(), device.int_ptr, device_id
    if key not in _known:
        facts = capabilities(device, device_id), why_unusable(device)
        if facts[1]:  # it may become available
            return facts
        _known[key] = facts
    return _known[key]


def is_simulator(platform: Any) -> bool:
    """Tell whether a platform simulates its devices; False if it does not answer."""
    try:
        return "oclgrind" in platform.name.lower()
    except Exception:  # any error of a driver, as in ``discovery``
        return False


def capabilities(device: Any, device_id: str) -> Capabilities:
    """Ask the driver for a device's capabilities."""
    extensions = set(device.extensions.split())
    platform = device.platform
    simulator = is_simulator(platform)
    kind: Kind = "accelerator"
    if device.type & cl.device_type.GPU and not simulator:
        kind = "gpu"
    elif device.type & cl.device_type.CPU:
        kind = "cpu"
    on_cores = kind == "cpu" or _EMULATOR in platform.name
    tested_cpu = kind == "cpu" and platform.name.startswith(_TESTED_CPU_RUNTIMES)
    caps = Capabilities(
        api="opencl",
        device_id=device_id,
        name=device.name.strip(),
        platform=platform.name.strip(),
        vendor=device.vendor.strip(),
        vendor_id=device.vendor_id,
        driver=f"{device.driver_version.strip()} ({platform.version.strip()})",
        kind=kind,
        is_simulator=simulator,
        compute_units=device.max_compute_units,
        max_work_group=device.max_work_group_size,
        local_bytes=device.local_mem_size,
        global_bytes=device.global_mem_size,
        max_alloc_bytes=device.max_mem_alloc_size,
        int32_atomics=True,
        int64_atomics="cl_khr_int64_base_atomics" in extensions,
        lookback=tested_cpu or _since_volta(device),
        warp_words=kind == "gpu" and _since_volta(device),
        fp64="cl_khr_fp64" in extensions,
        unified_memory=kind == "cpu" or bool(device.host_unified_memory),
        prefetches=tested_cpu,
        command_buffers=kind != "cpu" and "cl_khr_command_buffer" in extensions,
        **(HOST_CORES if on_cores else CARD),
        tested_driver=simulator or tested_cpu or platform.name.startswith("NVIDIA"),
    )
    return replace(caps, registers=makers.registers(caps))


def _since_volta(device: Any) -> bool:
    """Tell whether work-items progress independently, as on NVIDIA's cards since 2017 (Volta)."""
    if not device.platform.name.startswith("NVIDIA"):
        return False
    return int(getattr(device, "compute_capability_major_nv", 0)) >= 7


def why_unusable(device: Any) -> str:
    """Return why the library cannot use a device, or an empty string."""
    if not device.available:
        return "the driver says that it is not available"
    if not device.compiler_available:
        return "its driver has no compiler"
    if not device.endian_little:
        return "it is big-endian"
    lacks = _lacks_of_embedded(device)
    if lacks:
        return (
            f"its driver has OpenCL's embedded profile and lacks {' and '.join(lacks)}; install "
            "another OpenCL driver for it"
        )
    major, minor = device.version.split()[1].split(".")[:2]
    if (int(major), int(minor)) < (1, 2):
        return f"it speaks {device.version.strip()}; OpenCL 1.2 is needed"
    return ""


def _lacks_of_embedded(device: Any) -> list[str]:
    """Return what the kernels need of a full profile and an embedded one lacks; images are not."""
    if "FULL_PROFILE" in device.profile:
        return []
    lacks = []
    if _INT64_EXTENSION not in device.extensions.split():
        lacks.append(f"64-bit integers ({_INT64_EXTENSION})")
    for flag, meaning in _ROUNDING.items():
        if not device.single_fp_config & getattr(cl.device_fp_config, flag):
            lacks.append(f"{meaning} of float32 (CL_FP_{flag})")
    if device.local_mem_size < _LOCAL_BYTES:
        lacks.append(f"{_LOCAL_BYTES >> 10} KiB of local memory (it has {device.local_mem_size} B)")
    return lacks


def why_no_device(platform: str) -> list[str]:
    """Return why a platform lists no device, and what to do; empty if no reason is known.

    ``platform``: name of an OpenCL platform without devices.
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
