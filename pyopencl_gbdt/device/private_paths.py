"""Check folders whose paths are given to a driver, and make temporary folders.

A driver opens a path later than it was checked. So no other user may be able to replace the folder:
no other user may own a folder above it, or be able to write one.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

from pyopencl_gbdt.owners import OTHERS_WRITE, keepers

_PROBE_BYTES = 1 << 16


def why_replaceable(path: Path) -> str:
    """Return how another user could replace a folder; empty if nobody could."""
    if not hasattr(os, "geteuid"):
        return ""
    folders, links = _on_the_way(path)
    for link in links:
        if link.lstat().st_uid not in keepers():
            return f"{link} is a link of another user's"
    for folder in folders:
        status = folder.stat()
        if status.st_uid not in keepers():
            return f"{folder} belongs to another user"
        if status.st_mode & stat.S_ISVTX:  # sticky, as /tmp: users can rename only their own files
            continue
        of_group = status.st_mode & stat.S_IWGRP and status.st_gid != 0
        if status.st_mode & stat.S_IWOTH or (of_group and status.st_uid != os.geteuid()):
            return f"{folder} can be written by other users"
    return ""


def _on_the_way(path: Path) -> tuple[list[Path], list[Path]]:
    """Return every folder above a path, and every symbolic link that the path goes through."""
    folders: dict[Path, None] = {}
    links: dict[Path, None] = {}
    ahead = [path.absolute()]
    while ahead:
        place = ahead.pop()
        folders.update(dict.fromkeys(place.parents))
        for part in (place, *place.parents):
            if part.is_symlink() and part not in links:
                links[part] = None
                ahead.append(part.parent / part.readlink())
    return list(folders), list(links)


def why_unusable(path: Path, n_bytes: int) -> str:
    """Return why files cannot be kept in a folder; empty if they can. The folder may be absent.

    Parameters
    ----------
    path : Path
    n_bytes : int
        Space that must be free.
    """
    if not path.is_absolute():
        return f"{path} is no absolute path"
    try:
        nearest = next(folder for folder in (path, *path.parents) if folder.exists())
        status = nearest.stat()
        wrong = "" if stat.S_ISDIR(status.st_mode) else "is no folder"
        if not wrong and hasattr(os, "geteuid"):
            shared = OTHERS_WRITE if nearest == path else stat.S_IWOTH
            if status.st_uid != os.geteuid():
                wrong = "belongs to another user"
            elif status.st_mode & shared:
                wrong = "can be written by other users"
        if wrong:
            return f"{nearest} {wrong}"
        return why_replaceable(nearest) or why_no_room(nearest, n_bytes)
    except OSError as error:
        return f"{error.filename or path}: {error.strerror}"


def why_no_room(folder: Path, n_bytes: int) -> str:
    """Return why this user cannot write ``n_bytes`` to a folder; empty if it seems possible."""
    try:
        if _free_bytes(folder) < n_bytes:
            return f"{folder} has less than {n_bytes >> 20} MiB left"
        with tempfile.TemporaryFile(dir=folder) as file:  # finds quotas and wrong permissions
            file.write(bytes(_PROBE_BYTES))
    except OSError as error:
        return f"{folder}: {error.strerror}"
    return ""


def _free_bytes(folder: Path) -> int:
    """Return the free bytes for a user; unlimited where the file system does not tell."""
    if not hasattr(os, "statvfs"):
        return shutil.disk_usage(folder).free
    system = os.statvfs(folder)
    return system.f_bavail * system.f_frsize if system.f_blocks else 1 << 62


def temporary_bases() -> list[Path]:
    """Return folders in which to make temporary folders, best first."""
    found = []
    named = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")]
    with contextlib.suppress(OSError):  # no temporary folder can be written
        usual = Path(tempfile.gettempdir())
        if str(usual) in [*named, "/tmp", "/var/tmp", "/usr/tmp"] or usual != Path.cwd():
            found.append(usual)  # not the working folder, which is Python's last choice
    if os.environ.get("XDG_RUNTIME_DIR"):
        found.append(Path(os.environ["XDG_RUNTIME_DIR"]))
    return [*found, *([Path("/dev/shm")] if sys.platform == "linux" else [])]


def temporary_folder(n_bytes: int = 0) -> Path | None:
    """Make an empty folder for this user alone; return None if no place for it is safe.

    It is removed when this process ends.

    Parameters
    ----------
    n_bytes : int
        Space that must be free.
    """
    for base in temporary_bases():
        try:
            if why_replaceable(base / "x") or _free_bytes(base) < n_bytes:
                continue
            folder = Path(tempfile.mkdtemp(prefix="pyopencl_gbdt-", dir=base))
        except OSError:
            continue
        atexit.register(remove, folder, os.getpid())
        return folder
    return None


def remove(folder: Path, process: int) -> None:
    """Remove a folder, but only in the process that made it, not in its children."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
