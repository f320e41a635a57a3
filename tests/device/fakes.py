"""Devices that are not there: capabilities, an opened device on paper, OpenCL's platforms."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyopencl as cl

from pyopencl_gbdt.device import Capabilities, Program
from pyopencl_gbdt.device.capabilities import HOST_CORES
from pyopencl_gbdt.device.discovery import DeviceInfo
from pyopencl_gbdt.device.paper import PaperDevice, PaperProgram

MIB = 1024 * 1024

BASELINE = Capabilities(
    api="opencl",
    device_id="opencl:0:0",
    name="Baseline",
    platform="Nobody's OpenCL",
    vendor="Nobody",
    driver="1.0",
    kind="gpu",
    is_simulator=False,
    compute_units=8,
    max_work_group=256,
    local_bytes=32 * 1024,
    global_bytes=1024 * MIB,
    max_alloc_bytes=256 * MIB,
    int32_atomics=True,
    int64_atomics=False,
    lookback=False,
    warp_words=False,
    fp64=False,
    unified_memory=False,
)


def make_caps(**changes: Any) -> Capabilities:
    """The baseline of the variant table, changed in places; a CPU has the facts of one."""
    facts = HOST_CORES if changes.get("kind") == "cpu" else {}
    return replace(BASELINE, **{**facts, **changes})


def make_info(problem: str = "", **changes: Any) -> DeviceInfo:
    """A device as discovery lists it."""
    caps = make_caps(**changes)
    return DeviceInfo(caps.device_id, caps, problem, handle=object())


class FakeDevice(PaperDevice):
    """A device on paper, whose kernels run at ``kernel_limit`` work-items at most."""

    def __init__(self, kernel_limit: int = 1 << 30, **caps: Any) -> None:
        super().__init__(make_caps(**caps))
        self.kernel_limit = kernel_limit
        self.built: list[int] = []

    def _build(self, template: str, wg_size: int, params: Any) -> Program:
        self.built.append(wg_size)
        return PaperProgram(self, template, min(wg_size, self.kernel_limit))


def opencl_device(platform: Any = None, **changes: Any) -> Any:
    """What ``opencl_facts`` asks a ``pyopencl.Device``."""
    facts = {
        "available": True,
        "compiler_available": True,
        "driver_version": "1.2.3",
        "endian_little": True,
        "extensions": "cl_khr_int64_base_atomics cl_khr_icd",
        "global_mem_size": 1024 * MIB,
        "int_ptr": -1,
        "host_unified_memory": False,
        "local_mem_size": 32 * 1024,
        "max_compute_units": 8,
        "max_mem_alloc_size": 256 * MIB,
        "max_work_group_size": 256,
        "name": " Fake card ",
        "platform": platform or SimpleNamespace(name="Fake platform", version="OpenCL 3.0 Fake"),
        "profile": "FULL_PROFILE",
        "single_fp_config": cl.device_fp_config.ROUND_TO_NEAREST | cl.device_fp_config.INF_NAN,
        "type": cl.device_type.GPU,
        "vendor": "Fake",
        "vendor_id": 0,
        "version": "OpenCL 3.0 Fake",
    }
    return SimpleNamespace(**{**facts, **changes})


class ThrowingDevice:
    """A device whose every query fails."""

    def __getattr__(self, name: str) -> Any:
        raise cl.LogicError(f"cannot be asked for {name}")


class Platform:
    """A platform of the given devices, or one that raises when it is asked for them."""

    def __init__(self, name: str, devices: Any) -> None:
        self.name = name
        self.version = "OpenCL 3.0"
        self.devices = devices

    def get_devices(self) -> Any:
        if isinstance(self.devices, Exception):
            raise self.devices
        return self.devices


@contextlib.contextmanager
def imported_anew(name: str) -> Iterator[None]:
    """Let a submodule be imported anew, and leave what was there before: the old one, or none.

    A module that was imported with a stand-in of CuPy must not stay: ``from package import it``
    finds it as the package's attribute, though ``sys.modules`` has lost it.
    """
    parent, _, leaf = name.rpartition(".")
    places = ((sys.modules, name), (vars(importlib.import_module(parent)), leaf))
    before = [place.pop(key, None) for place, key in places]
    try:
        yield
    finally:
        for (place, key), module in zip(places, before, strict=True):
            place.pop(key, None)
            if module is not None:
                place[key] = module
