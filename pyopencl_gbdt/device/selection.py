"""Several devices in one string: ``"gpu:0,gpu:1"``, ``"gpu:all"``, ``"gpu:0=3,cpu=1"``."""

from __future__ import annotations

import math
import os
from typing import Any

from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.device.discovery import ENVIRONMENT, DeviceInfo, every_gpu, find, open_device
from pyopencl_gbdt.errors import DeviceError
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Names that stand for any GPU, of which the processes of a host take one after the other.
_ANY_GPU = ("auto", "gpu", "cuda")


def open_in_turn(name: str, place: int) -> Device:
    """Open the device of ``name_in_turn``; the arguments are the same, and so are the errors."""
    return open_device(name_in_turn(name, place))


def name_in_turn(name: str, place: int) -> str:
    """Return the name of a device for the process at a place among those of its host.

    ``place``: from 0; with a name that stands for any GPU, each place gets another one.

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


_ALL = ("gpu:all", "cuda:all")
#: Whether a device may be named twice; tests do, for two queues of a device.
ALLOWS_TWICE = False


@dataclass(frozen=True)
class Chosen:
    """A device that a string names, and its weight if one is given."""

    info: DeviceInfo
    weight: float | None


def names_several(spec: str) -> bool:
    """Tell whether a string has the form of several devices, whether or not they are there."""
    spec = asked_for(spec)
    return "," in spec or "=" in spec or spec in _ALL


def main_device(spec: Any) -> Any:
    """Return the first of several devices, for work that one device does, such as prediction.

    Parameters
    ----------
    spec : str, sequence of str, mapping of str to float, or anything else
        Anything else is returned as it is.
    """
    if isinstance(spec, (list, tuple, dict)) and spec:
        spec = next(iter(spec))
    if not isinstance(spec, str) or not names_several(spec):
        return spec
    first = asked_for(spec).split(",")[0].partition("=")[0].strip()
    return first.partition(":")[0] if first in _ALL else first


def find_several(spec: str) -> list[Chosen]:
    """Return the devices that a string names.

    Parameters
    ----------
    spec : str
        Names as ``find`` takes them, separated by commas, each with ``=`` and a weight or without.
        ``"gpu:all"`` is every GPU once; of a card that OpenCL and CUDA list, OpenCL's.
        ``"cuda:all"`` is every card of CUDA.

    Raises
    ------
    DeviceError
        If a device is not there or named twice, or a weight is not a number above 0.
    """
    found: list[Chosen] = []
    for entry in asked_for(spec).split(","):
        name, sign, text = (part.strip() for part in entry.partition("="))
        if not name:
            raise DeviceError(
                f"device={spec!r}: a name is empty: expected names of devices, separated by "
                "commas; take out the comma"
            )
        weight = _weight(text, spec) if sign else None
        infos = every_gpu(name.partition(":")[0]) if name in _ALL else [find(name)]
        found += [Chosen(info, weight) for info in infos]
    given = [one.weight for one in found if one.weight is not None]
    if given and len(given) < len(found):
        raise DeviceError(
            f"device={spec!r}: expected a weight for every device, or for none; write 'gpu:0=3,"
            "cpu=1', say"
        )
    seen: set[str] = set()
    for one in found:
        if one.info.device_id in seen and not ALLOWS_TWICE:
            raise DeviceError(
                f"device={spec!r}: {one.info.device_id} is named twice: expected different "
                "devices; name it once"
            )
        seen.add(one.info.device_id)
    return found


def asked_for(spec: str) -> str:
    """Return what is asked for, in small letters: the environment decides about ``auto``."""
    asked = spec.strip().lower()
    if asked in ("", "auto"):
        asked = os.environ.get(ENVIRONMENT, "").strip().lower()
    return asked


def any_will_do(spec: str) -> bool:
    """Tell whether a string asks for no device in particular."""
    return asked_for(spec) in ("", "auto")


def _weight(text: str, spec: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise DeviceError(
            f"device={spec!r}: the weight {text!r}: expected a number above 0, which says how many "
            "rows the device gets; write 'gpu:0=3,cpu=1', say"
        )
    return weight
