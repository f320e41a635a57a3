"""Programs of another Debian release, unpacked to a folder: nothing is installed, nobody is root.

apt gets folders of its own, and one source: the release, from the mirror that this machine uses.
The programs run with the loader and the libraries of their release.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from tests.portability import timed

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_LOADER = "ld-linux-x86-64.so.2"
_VERSIONS = "versions"
_unpacking = threading.Lock()


class DebianError(Exception):
    """Packages could not be had; what apt or dpkg says."""


def run(words: Sequence[str], folder: Path | None = None) -> str:
    """Run a command; return what it prints.

    Raises
    ------
    DebianError
        If the command fails.
    """
    done = timed.completed(words, folder)
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-1500:]
        raise DebianError(f"{' '.join(words[:3])} ended with {done.returncode}:\n{said}")
    return done.stdout


@cache
def mirror() -> str:
    """Return where this machine's apt gets Debian from, or an empty string."""
    if not shutil.which("apt-get"):
        return ""
    words = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    found = run(words).splitlines()
    return next((uri for uri in found if urlsplit(uri).path.rstrip("/") == "/debian"), "")


def why_not() -> str:
    """Return why this machine cannot have Debian's packages; empty if it can."""
    tools = [tool for tool in ("apt-get", "dpkg-deb") if not shutil.which(tool)]
    if tools:
        return f"{tools[0]} is not here: run it on Debian, x86-64"
    if platform.machine() != "x86_64":
        return f"this processor is {platform.machine()}: run it on x86-64"
    if not _KEYRING.is_file():
        return "apt-get install debian-archive-keyring"
    return "" if mirror() else "apt's sources name no mirror of Debian: run it on Debian"


def cache_folder() -> Path:
    """Return the folder of all that is unpacked; it may be deleted at any time."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pyopencl_gbdt-portability"


@dataclass(frozen=True)
class Packages:
    """Packages of a release with all that they depend on.

    Attributes
    ----------
    release : str
        Such as sid.
    names : tuple of str
    architecture : str
        Debian's name of the processor that they are for.
    """

    release: str
    names: tuple[str, ...]
    architecture: str = "amd64"

    @property
    def path(self) -> Path:
        """Where the packages are, once they are unpacked."""
        key = hashlib.sha256(" ".join(self.names).encode()).hexdigest()[:8]
        return cache_folder() / f"{self.release}-{self.architecture}-{key}"

    @property
    def folder(self) -> Path:
        """The same; what is not there yet is downloaded.

        Raises
        ------
        DebianError
            If apt cannot get a package.
        """
        path = self.path
        with _unpacking:
            if not path.is_dir():
                path.parent.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryDirectory(dir=path.parent, prefix="unpacking-") as scratch:
                    self.unpack(Path(scratch), Path(scratch) / "made")
                    (Path(scratch) / "made").rename(path)
        return path

    def unpack(self, scratch: Path, target: Path) -> None:
        """Download the packages and what they depend on, and unpack them to a folder.

        Parameters
        ----------
        scratch : Path
            An empty folder; the downloads stay there.
        target : Path

        Raises
        ------
        DebianError
            If apt cannot get a package.
        """
        for name in ("etc/apt", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial"):
            (scratch / name).mkdir(parents=True)
        (scratch / "var/lib/dpkg").mkdir()
        status = scratch / "var/lib/dpkg/status"
        status.touch()  # nothing is installed: apt brings each dependency
        source = f"deb [signed-by={_KEYRING}] {mirror()} {self.release} main\n"
        (scratch / "etc/apt/sources.list").write_text(source, encoding="utf-8")
        own = [
            f"Dir={scratch}", f"Dir::State::status={status}", "APT::Sandbox::User=",
            f"APT::Architecture={self.architecture}", f"APT::Architectures={self.architecture}",
            "Acquire::Check-Valid-Until=false",  # a mirror of sid may be weeks behind
        ]  # fmt: skip
        apt = ["apt-get", "-qq", *(word for option in own for word in ("-o", option))]
        run([*apt, "update"])
        run([*apt, "install", "-y", "--download-only", "--no-install-recommends", *self.names])
        versions = []
        for file in sorted((scratch / "var/cache/apt/archives").glob("*.deb")):
            run(["dpkg-deb", "-x", str(file), str(target)])
            versions.append(
                run(["dpkg-deb", "-W", "--showformat=${Package} ${Version}", str(file)])
            )
        (target / _VERSIONS).write_text("\n".join(versions), encoding="utf-8")

    def version(self, name: str) -> str:
        """Return the version of a package."""
        text = (self.folder / _VERSIONS).read_text(encoding="utf-8")
        return dict(line.split() for line in text.splitlines())[name]

    def command(self, program: str) -> list[str]:
        """Return how to call a program, whose name may be a pattern such as ``ocloc-*``."""
        found = sorted((self.folder / "usr/bin").glob(program))
        if not found:
            raise DebianError(f"{program} is in none of {', '.join(self.names)}")
        libraries = self.folder / _LIBRARIES
        return [str(libraries / _LOADER), "--library-path", str(libraries), str(found[-1])]


def upstream(version: str) -> str:
    """Return the makers' part of a package's version: 7.0.2 of 7.0.2+dfsg-3."""
    return re.sub(r"^\d+:|[+-].*$", "", version)
