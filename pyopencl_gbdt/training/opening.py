"""Open the device that parameters ask for."""

from __future__ import annotations

from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.pretend import with_memory
from pyopencl_gbdt.parameters.parameters import Parameters


def open_for(params: Parameters, *, profile: bool = False) -> Device:
    """Return an open device, of which at most ``device_memory`` bytes will be used."""
    device = open_device(params.device, profile=profile)
    device.caps = with_memory(device.caps, params.device_memory)
    return device
