"""What the doctor lists and finds, and the repairing command for each distribution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from pyopencl_gbdt.device import Capabilities
from pyopencl_gbdt.device.drivers import makers
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import pip_install


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


Severity = Literal["error", "warning", "note"]

#: Families of Linux distributions with different commands, and their names for people.
FAMILIES = {
    "debian": "Debian",
    "ubuntu": "Ubuntu",
    "fedora": "Fedora, RHEL",
    "arch": "Arch",
    "suse": "openSUSE",
}
#: The key of a command that works on every system.
ANYWHERE = "any"

#: Commands that install a part, by family. Package names are those of Debian 13, Ubuntu 24.04,
#: Fedora 43 (NVIDIA's driver: RPM Fusion), Arch and openSUSE Tumbleweed (NVIDIA's driver: NVIDIA's
#: repository), from their package searches and the Arch wiki's page GPGPU. If distributions
#: disagree on the name of the loader's package, the command asks for the library's file.
INSTALL: dict[str, dict[str, str]] = {
    "loader": {
        "debian": "sudo apt install ocl-icd-libopencl1",
        "ubuntu": "sudo apt install ocl-icd-libopencl1",
        "fedora": "sudo dnf install 'libOpenCL.so.1()(64bit)'",
        "arch": "sudo pacman -S ocl-icd",
        "suse": "sudo zypper install 'libOpenCL.so.1()(64bit)'",
    },
    "nvidia": {
        "debian": "sudo apt install nvidia-opencl-icd  # from non-free",
        "ubuntu": "sudo ubuntu-drivers install",
        "fedora": "sudo dnf install xorg-x11-drv-nvidia-cuda  # of RPM Fusion",
        "arch": "sudo pacman -S opencl-nvidia",
        "suse": "sudo zypper install nvidia-compute-G06  # of NVIDIA's repository",
    },
    "amd": {
        "debian": "sudo apt install rocm-opencl-icd",
        "ubuntu": "sudo apt install rocm-opencl-icd",
        "fedora": "sudo dnf install rocm-opencl",
        "arch": "sudo pacman -S rocm-opencl-runtime",
        "suse": "sudo zypper install Mesa-libRusticlOpenCL && export RUSTICL_ENABLE=radeonsi",
    },
    "intel": {
        "debian": "sudo apt install intel-opencl-icd",
        "ubuntu": "sudo apt install intel-opencl-icd",
        "fedora": "sudo dnf install intel-opencl",
        "arch": "sudo pacman -S intel-compute-runtime",
        "suse": "sudo zypper install intel-opencl",
    },
    "mesa": {
        "debian": "sudo apt install mesa-opencl-icd",
        "ubuntu": "sudo apt install mesa-opencl-icd",
        "fedora": "sudo dnf install mesa-libOpenCL",
        "arch": "sudo pacman -S opencl-mesa",
        "suse": "sudo zypper install Mesa-libRusticlOpenCL",
    },
    "pocl": {ANYWHERE: pip_install("cpu")},
    "intel-cpu": {ANYWHERE: pip_install("intel-cpu")},
}


def everywhere(command: str) -> dict[str, str]:
    """Return the commands of a repair that is the same on every system."""
    return {ANYWHERE: command}


@dataclass(frozen=True)
class Finding:
    """One problem that a check found."""

    code: str
    """Short name, such as ``icd-library-missing``; the documentation explains each."""
    severity: Severity
    """``error``: an installation is incomplete; ``warning``: it may fail; ``note``: useful."""
    text: str
    """What was found, and its consequence."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """The repairing command by family, or under ``ANYWHERE``; empty if there is no command."""

    def repair(self, family: str) -> list[tuple[str, str]]:
        """Return the (distribution, command) pairs to show.

        ``family``: a key of ``FAMILIES``; for any other string, the commands of all families.
        """
        if ANYWHERE in self.commands:
            return [("", self.commands[ANYWHERE])]
        if family in self.commands:
            return [(FAMILIES[family], self.commands[family])]
        return [(FAMILIES[key], self.commands[key]) for key in FAMILIES if key in self.commands]
