"""Which device each of several processes of a host takes."""

from __future__ import annotations

from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.device.discovery import every_gpu, find, open_device
from pyopencl_gbdt.device.selection import asked_for

#: Names that stand for any GPU, of which the processes of a host take one after the other.
_ANY_GPU = ("auto", "gpu", "cuda")


def open_in_turn(name: str, place: int) -> Device:
    """Open the device of ``name_in_turn``; the arguments are the same, and so are the errors."""
    return open_device(name_in_turn(name, place))


def name_in_turn(name: str, place: int) -> str:
    """Return the name of a device for the process at a place among those of its host.

    Parameters
    ----------
    name : str
        As for ``find``.
    place : int
        From 0; with a name that stands for any GPU, each place gets another one.

    Raises
    ------
    DeviceError
    """
    info = find(name)
    asked = asked_for(name) or "auto"
    if asked in _ANY_GPU and info.caps is not None and info.caps.kind == "gpu":
        gpus = every_gpu("cuda" if asked == "cuda" else "gpu")
        name = gpus[place % len(gpus)].device_id
    return name
