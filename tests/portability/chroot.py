"""A folder with a Debian of its own, for drivers that this machine does not have.

debootstrap fills the folder with Mesa's and PoCL's OpenCL drivers. Commands run in it in namespaces
of their own: when a command ends or is killed, its processes and mounts are gone, and the folder
holds nothing but files.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.portability.debian import mirror

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("mesa-opencl-icd", "mesa-vulkan-drivers", "pocl-opencl-icd", "python3-venv")
#: Network names and pip's configuration. What a machine does not have is left out.
_COPIED = ("/etc/resolv.conf", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
_PASSED = re.compile(r"(https?|no)_proxy|PIP_(EXTRA_)?INDEX_URL", re.IGNORECASE)
#: dpkg neither waits for the disk nor writes pages for readers: 46 s of a core, not 58.
_DPKG = "force-unsafe-io\npath-exclude /usr/share/doc/*\npath-exclude /usr/share/man/*\n"
#: A mirror of sid may be weeks behind; packages are still checked against its signature.
_OLD_MIRROR = "Acquire::Check-Valid-Until=false"
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
_VARIABLES = {
    "PATH": "/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
    "PYTHONPATH": "/checkout",
    "PYTHONPYCACHEPREFIX": "/root/.cache/modules",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_ROOT_USER_ACTION": "ignore",
    "PYOPENCL_GBDT_TUNING": "off",
}
_MOST_SECONDS = 600


def why_not() -> str:
    """Return why this machine cannot make a chroot, and what to do; empty if it can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "only root can make a chroot: run it as root"
    for tool, package in (("unshare", "util-linux"), ("chroot", "coreutils"), ("apt-get", "apt")):
        if shutil.which(tool) is None:
            return f"{tool} is not installed: run it on Debian, with the package {package}"
    if not mirror():
        return "apt's sources name no mirror of Debian: run it on Debian"
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
        """Install Debian, the drivers, and a virtual environment, unless they are there.

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
        self.folder.chmod(0o755)  # apt reads as a user of its own
        with tempfile.TemporaryDirectory(prefix="debootstrap-") as scratch:
            words, variables = _debootstrap(Path(scratch))
            words += ["--variant=minbase", "--include=ca-certificates", self.suite]
            _done([*_OWN, *words, str(self.folder), mirror()], {**os.environ, **variables})
        for name in filter(os.path.exists, _COPIED):
            shutil.copy(name, f"{self.folder}{name}")
        (self.folder / "etc/dpkg/dpkg.cfg.d/portability").write_text(_DPKG, encoding="utf-8")
        (self.folder / "checkout").mkdir()
        apt = ["apt-get", "-qq", "-y", "--no-install-recommends", "-o", _OLD_MIRROR]
        for words in (
            [*apt, "update"],
            [*apt, "install", *PACKAGES],
            ["python3", "-m", "venv", "/venv"],
            ["pip", "install", "-q", *_requirements(), "pytest", "pytest-xdist"],
        ):
            _done(self._words(words), {**os.environ})

    def _words(self, words: Sequence[str], variables: Mapping[str, str] | None = None) -> list[str]:
        passed = {name: text for name, text in os.environ.items() if _PASSED.fullmatch(name)}
        given = {**_VARIABLES, **passed, **(variables or {})}
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
        return subprocess.run(
            self._words(words, variables), capture_output=True, text=True, check=False,
            timeout=seconds, stdin=subprocess.DEVNULL,
        )  # fmt: skip


def _done(words: Sequence[str], variables: Mapping[str, str]) -> None:
    done = subprocess.run(
        words, env=dict(variables), capture_output=True, text=True, check=False,
        timeout=_MOST_SECONDS, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-1500:]
        raise ChrootError(f"{' '.join(words[-6:])} ended with {done.returncode}:\n{said}")


def _debootstrap(scratch: Path) -> tuple[list[str], dict[str, str]]:
    """Return how to call debootstrap, which is unpacked to a folder if it is not installed."""
    if shutil.which("debootstrap"):
        return ["debootstrap"], {}
    fetch = 'cd "$0" && apt-get -qq download debootstrap && dpkg -x debootstrap_*.deb .'
    fetched = ["bash", "-c", fetch, str(scratch)]
    try:
        _done(fetched, os.environ)
    except ChrootError:  # apt may not know the list of packages yet
        _done(["apt-get", "-qq", "update"], os.environ)
        _done(fetched, os.environ)
    program = scratch / "usr/sbin/debootstrap"
    return ["sh", str(program)], {"DEBOOTSTRAP_DIR": str(scratch / "usr/share/debootstrap")}


def _requirements() -> list[str]:
    """Return the packages that this library needs."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    return setup["options"]["install_requires"].split()


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
