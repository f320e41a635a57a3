"""The devices that the worker process found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyopencl_gbdt.device import Capabilities
from pyopencl_gbdt.device.drivers import makers


@dataclass(frozen=True)
class Listed:
    """A device, with the facts that a report needs."""

    device_id: str
    problem: str = ""
    """Why it cannot be used; empty if it can."""
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ``device.Capabilities``; empty if the driver did not tell them."""
    variants: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.capabilities.get("name", "?"))

    @property
    def platform(self) -> str:
        return str(self.capabilities.get("platform", "?"))

    @property
    def is_simulator(self) -> bool:
        return bool(self.capabilities.get("is_simulator"))

    @property
    def usable(self) -> bool:
        return bool(self.capabilities) and not self.problem


@dataclass(frozen=True)
class Listing:
    """All devices, and the problems of listing them.

    Attributes
    ----------
    devices : tuple of Listed
    notes : tuple of str
        Interfaces and platforms that could not be listed, and why.
    chosen : str
        The selected device; empty if none fits the request.
    problem : str
        Why none fits.
    failure : str
        How the worker ended if it did not answer, such as ``takes more than 30 s``.
    """

    devices: tuple[Listed, ...] = ()
    notes: tuple[str, ...] = ()
    chosen: str = ""
    problem: str = ""
    failure: str = ""

    @classmethod
    def from_json(cls, answer: Mapping[str, Any]) -> Listing:
        """Convert the worker's answer."""
        return cls(
            devices=tuple(Listed(**device) for device in answer["devices"]),
            notes=tuple(answer["notes"]),
            chosen=answer["chosen"],
            problem=answer["problem"],
        )

    @property
    def usable(self) -> list[Listed]:
        """The devices that can be used."""
        return [device for device in self.devices if device.usable and not device.is_simulator]

    @property
    def gpus(self) -> list[Listed]:
        return [device for device in self.usable if not device.capabilities["on_host_cores"]]

    def has(self, word: str) -> bool:
        """Tell whether a usable device's platform, maker or name contains ``word``."""
        return any(
            word.lower() in f"{d.platform} {d.capabilities.get('vendor', '')} {d.name}".lower()
            for d in self.devices
            if d.usable
        )

    def has_gpu(self, maker: str, api: str = "") -> bool:
        """Tell whether there is a usable GPU of a maker; ``api`` also restricts the interface."""
        return any(
            makers.maker(Capabilities(**d.capabilities)) == maker
            for d in self.gpus
            if api in ("", d.capabilities.get("api"))
        )

    def device(self, device_id: str) -> Listed:
        """Return the device with this id."""
        return next(device for device in self.devices if device.device_id == device_id)
