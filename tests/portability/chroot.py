"""A folder with a Debian of its own, for drivers that this machine does not have.

Packages with Mesa's and PoCL's OpenCL drivers, and all that they depend on, are unpacked to it.
None of their scripts runs: what these would link is named in the environment. Commands run in it in
namespaces of their own: when a command ends or is killed, its processes and mounts are gone, and
the folder holds nothing but files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.portability import debian, timed

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "base-files", "bash", "coreutils", "libpython3-stdlib", "mesa-opencl-icd",
    "mesa-vulkan-drivers", "pocl-opencl-icd", "python3-mako", "python3-minimal", "python3-numpy",
    "python3-pyopencl", "python3-pytest", "python3-pytest-xdist", "python3-scipy",
)  # fmt: skip
_READY = "ready-for-portability"
_OWN = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private")
#: $0: the chroot, $1: the checkout, which cannot be written to; then a command.
_INSIDE = """
set -e
mount -t proc proc "$0/proc"
mount --rbind /sys "$0/sys"
mount --rbind /dev "$0/dev"
mount --bind "$1" "$0/checkout"
mount -o remount,bind,ro "$0/checkout"
shift
exec chroot "$0" "$@"
"""
#: Where Debian's own installation would set links.
_BLAS = ":".join(f"/usr/lib/x86_64-linux-gnu/{name}" for name in ("blas", "lapack"))
_VARIABLES = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "LD_LIBRARY_PATH": _BLAS,
    "PYTHONPATH": "/checkout",
    "PYTHONPYCACHEPREFIX": "/root/.cache/modules",
    "PYOPENCL_GBDT_TUNING": "off",
}
_MOST_SECONDS = 600


def why_not() -> str:
    """Return why this machine cannot make a chroot, and what to do; empty if it can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "only root can make a chroot: run it as root"
    for tool, package in (("unshare", "util-linux"), ("chroot", "coreutils")):
        if shutil.which(tool) is None:
            return f"{tool} is not installed: run it on Debian, with the package {package}"
    if wrong := debian.why_not():
        return wrong
    tried = subprocess.run([*_OWN, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        return f"{tried.stderr.strip()}: a container needs the right to mount (--privileged)"
    return ""


class ChrootError(Exception):
    """A chroot could not be filled."""


@dataclass(frozen=True)
class Chroot:
    """A Debian in a folder.

    Attributes
    ----------
    folder : Path
        Empty or missing, or filled by an earlier run.
    suite : str
        Debian's name of a release, such as trixie.
    """

    folder: Path
    suite: str

    def fill(self) -> None:
        """Unpack Debian's packages, unless they are there.

        Raises
        ------
        ChrootError
            If a step fails; what was filled is removed. Or if the folder holds other files.
        """
        mark = self.folder / _READY
        found = mark.read_text(encoding="utf-8") if mark.is_file() else ""
        if found == self.suite:
            shutil.rmtree(self.folder / "root" / ".cache", ignore_errors=True)  # kernels
            return
        if found or (self.folder.is_dir() and any(self.folder.iterdir())):
            raise ChrootError(
                f"{self.folder} holds {found or 'other files'}: expected {self.suite}, nothing, or "
                "no such folder; name another one"
            )
        try:
            self._install()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        mark.write_text(self.suite, encoding="utf-8")

    def _install(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="debian-") as scratch:
            try:
                debian.Packages(self.suite, PACKAGES).unpack(Path(scratch), self.folder)
            except debian.DebianError as error:
                raise ChrootError(str(error)) from error
        for name in ("checkout", "dev", "proc", "root", "sys", "tmp"):
            (self.folder / name).mkdir(exist_ok=True)

    def _words(self, words: Sequence[str], variables: Mapping[str, str] | None = None) -> list[str]:
        given = {**_VARIABLES, **(variables or {})}
        clean = ["/usr/bin/env", "-i", "-C", "/checkout", *(f"{k}={v}" for k, v in given.items())]
        return [*_OWN, "bash", "-c", _INSIDE, str(self.folder), str(ROOT), *clean, *words]

    def run(
        self, words: Sequence[str], variables: Mapping[str, str], seconds: float = _MOST_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """Run a command with the checkout as its folder.

        Raises
        ------
        subprocess.TimeoutExpired
            After so many seconds. None of the command's processes goes on.
        """
        return timed.completed(self._words(words, variables), most_seconds=seconds)


@contextlib.contextmanager
def chroot_of(folder: Path | None, suite: str) -> Iterator[Chroot]:
    """Yield the chroot in a folder, or one in a folder that is removed afterwards."""
    if folder is not None:
        yield Chroot(folder.resolve(), suite)
        return
    made = Path(tempfile.mkdtemp(prefix="portability-debian-"))
    try:
        yield Chroot(made, suite)
    finally:
        shutil.rmtree(made, ignore_errors=True)
