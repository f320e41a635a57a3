"""Machines that are not there: a folder stands for the file system."""

from __future__ import annotations

from pathlib import Path

from pyopencl_gbdt.doctor.findings import Listed, Listing
from pyopencl_gbdt.doctor.machine import Machine
from tests.device.fakes import make_caps

NVIDIA, AMD, INTEL = "0x10de", "0x1002", "0x8086"
OS_RELEASE = {
    "debian": 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\n',
    "ubuntu": "ID=ubuntu\nID_LIKE=debian\n",
    "fedora": "ID=fedora\n",
    "rocky": 'ID="rocky"\nID_LIKE="rhel centos fedora"\n',
    "arch": "ID=arch\n",
    "manjaro": "ID=manjaro\nID_LIKE=arch\n",
    "tumbleweed": 'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\n',
    "other": "# a comment\nID=other\n",
}


class Builder:
    """Writes a file system bit by bit, and describes the machine that has it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.closed: set[str] = set()
        self.broken: dict[str, str] = {}

    def file(self, path: str, text: str = "") -> Builder:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        return self

    def card(self, vendor: str, number: int = 0) -> Builder:
        folder = f"/sys/bus/pci/devices/0000:0{number}:00.0"
        return self.file(f"{folder}/vendor", f"{vendor}\n").file(f"{folder}/class", "0x030200\n")

    def icd(self, library: str, name: str = "a.icd", folder: str = "/etc/OpenCL/vendors"):
        if library.startswith("/"):
            self.file(library)
        return self.file(f"{folder}/{name}", f"{library}\n")

    def machine(self, **facts) -> Machine:
        closed = {self.root / path.lstrip("/") for path in self.closed}
        return Machine(
            **{
                "root": self.root,
                "system": "Linux",
                "environment": {},
                "load": lambda library: self.broken.get(library, ""),
                "may_use": lambda path: path not in closed,
                **facts,
            }
        )


def listed(device_id: str = "opencl:0:0", problem: str = "", **caps) -> Listed:
    facts = make_caps(device_id=device_id, **caps)
    return Listed(device_id, problem, vars(facts), {"scan": "portable"})


def listing_of(*devices: Listed, **facts) -> Listing:
    chosen = next((d.device_id for d in devices if d.usable), "")
    return Listing(devices, **{"chosen": chosen, **facts})


GPU = listed(name="Radeon", platform="AMD Accelerated Parallel Processing", vendor="AMD")
CPU = listed("opencl:1:0", name="pthread", platform="Portable Computing Language", kind="cpu")
