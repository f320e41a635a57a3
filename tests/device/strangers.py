"""Other users, read-only and full file systems, for tests that root may run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

import pytest

from tests.processes import IMPORT_PATH, QUICK_BUILDS

#: No real user's number; it has no entry and no home.
STRANGER = 54321
#: May read and search everything, as this interpreter may lie in root's home, but writes nothing.
_AS_STRANGER = (
    "setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups",
    "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
)  # fmt: skip
#: Variables that would lead a process to caches of this machine.
_PLACES = ("HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "PYOPENCL_GBDT_CACHE", "POCL_CACHE_DIR",
           "POCL_KERNEL_CACHE", "PYOPENCL_NO_CACHE", "TMPDIR", "OCL_ICD_VENDORS")  # fmt: skip


only_root_gives_away = pytest.mark.skipif(
    getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can give files to another user"
)


def shared_folder(path: Path) -> Path:
    """Make a folder like /tmp: root's, all can write, and it is sticky."""
    path.mkdir()
    path.chmod(0o1777)
    return path


def link(path: Path, target: Path, owner: int = STRANGER) -> None:
    """Make a symbolic link of another user's."""
    path.symlink_to(target)
    os.lchown(path, owner, owner)


@cache
def why_no_stranger() -> str:
    """Return why no process of another user can be started here; empty if one can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "only root can start a process of another user"
    if shutil.which("setpriv") is None:
        return "setpriv is not installed"
    done = subprocess.run([*_AS_STRANGER, "true"], capture_output=True, check=False)
    if done.returncode != 0:
        return "this root may not become another user"
    # PoCL asks the system whether its library is readable, which knows nothing of capabilities
    packages = sysconfig.get_path("purelib")
    plain = (*_AS_STRANGER[:4], "test", "-r", packages)
    done = subprocess.run(plain, capture_output=True, check=False)
    return "" if done.returncode == 0 else f"{packages} is closed to other users"


@cache
def why_no_mounts() -> str:
    """Return why nothing can be mounted here; empty if a process can mount for itself alone."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "only root can mount"
    if shutil.which("unshare") is None:
        return "unshare is not installed"
    command = "mount -t tmpfs tmpfs /mnt"
    done = subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", command],
        capture_output=True, check=False,
    )  # fmt: skip
    return "" if done.returncode == 0 else "this root may not mount"


def run(
    arguments: list[str], places: dict[str, str], *, stranger: bool = False, mount: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run Python as another user, or after a mount that this process alone sees.

    Parameters
    ----------
    arguments : list of str
    places : dict of str to str
        Those of the variables of caches and temporary folders that are set.
    stranger : bool, default False
    mount : str
        A shell command.
    """
    if stranger and why_no_stranger():
        pytest.skip(why_no_stranger())
    if mount and why_no_mounts():
        pytest.skip(why_no_mounts())
    environment = {k: v for k, v in os.environ.items() if k not in _PLACES}
    environment |= {"PYTHONPATH": IMPORT_PATH, "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {**QUICK_BUILDS, **places}
    command = [*(_AS_STRANGER if stranger else ()), sys.executable, *arguments]
    if mount:
        script = f'set -e; {mount}; exec "$@"'
        command = ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", *command]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
