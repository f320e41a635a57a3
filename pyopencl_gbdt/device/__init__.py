"""Devices: find and open them, allocate memory, build kernels, launch them.

Only this room knows OpenCL and CUDA. The other rooms use ``Device``, ``Program`` and ``Launch``.
"""

from typing import TYPE_CHECKING

from pyopencl_gbdt.device.render import render
from pyopencl_gbdt.public_names import at_first_use

if TYPE_CHECKING:
    from pyopencl_gbdt.device.base import Device, DeviceArray
    from pyopencl_gbdt.device.capabilities import Capabilities
    from pyopencl_gbdt.device.discovery import DeviceInfo, devices, find, open_device
    from pyopencl_gbdt.device.drivers.fallback import build_variant, build_variant_program
    from pyopencl_gbdt.device.program import Launch, Program
    from pyopencl_gbdt.device.variants import TABLE, Variant, choose, runnable

__getattr__ = at_first_use(
    __name__,
    {
        **dict.fromkeys(("Device", "DeviceArray"), "base"),
        "Capabilities": "capabilities",
        **dict.fromkeys(("DeviceInfo", "devices", "find", "open_device"), "discovery"),
        **dict.fromkeys(("build_variant", "build_variant_program"), "drivers.fallback"),
        **dict.fromkeys(("Launch", "Program"), "program"),
        **dict.fromkeys(("TABLE", "Variant", "choose", "runnable"), "variants"),
    },
)

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
