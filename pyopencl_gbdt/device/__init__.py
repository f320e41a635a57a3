"""Devices: find and open them, allocate memory, build kernels, launch them.

Only this room knows OpenCL and CUDA. The other rooms use ``Device``, ``Program`` and ``Launch``.
"""

from pyopencl_gbdt.device.base import Device, DeviceArray
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.discovery import DeviceInfo, devices, find, open_device
from pyopencl_gbdt.device.drivers.fallback import build_variant, build_variant_program
from pyopencl_gbdt.device.program import Launch, Program
from pyopencl_gbdt.device.render import render
from pyopencl_gbdt.device.variants import TABLE, Variant, choose, runnable

__all__ = [
    "TABLE",
    "Capabilities",
    "Device",
    "DeviceArray",
    "DeviceInfo",
    "Launch",
    "Program",
    "Variant",
    "build_variant",
    "build_variant_program",
    "choose",
    "devices",
    "find",
    "open_device",
    "render",
    "runnable",
]
