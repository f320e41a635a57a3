"""Folders and files that no other user can change.

Cached machine code runs with the rights of the user who loads it, so no other user may have written
it. Owner and mode are read from the opened file, not from its path, because a path can point to
another file a moment later. Drivers accept only paths, which they open
later than these were checked. So no other user may be able to replace such a folder: no other user
may own a folder above it, or be able to write one.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyopencl_gbdt.owners import OTHERS_WRITE, keepers

_BY_HANDLE = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
_CLOSED_BY_EXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
#: Refuse a symbolic link in a file's place, and do not wait for the writer of a pipe.
_NO_TRICKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def problem(status: os.stat_result) -> str:
    """Return how other users could have changed a folder or a file; empty if they could not."""
    if not hasattr(os, "geteuid"):
        return ""
    if status.st_uid not in (os.geteuid(), 0):
        return "belongs to another user"
    if status.st_mode & OTHERS_WRITE:
        return "can be written by other users"
    return ""


class Folder:
    """An open folder that no other user can change; ``opened`` makes it."""

    def __init__(self, path: Path, handle: int | None) -> None:
        self.path, self.handle = path, handle

    def _open(self, name: str, flags: int) -> int:
        if self.handle is None:
            return os.open(self.path / name, flags, 0o600)
        return os.open(name, flags, 0o600, dir_fd=self.handle)

    def _inside(self, name: str, argument: str = "dir_fd") -> tuple[Any, dict[str, Any]]:
        if self.handle is None:
            return self.path / name, {}
        return name, {argument: self.handle}

    def read(self, name: str) -> bytes:
        """Return a file's bytes.

        Raises
        ------
        OSError
            If the file is absent, a link or not a regular file, or another user could have changed
            it.
        """
        handle = self._open(name, os.O_RDONLY | _NO_TRICKS | _CLOSED_BY_EXEC)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            wrong = "" if stat.S_ISREG(status.st_mode) else "is no regular file"
            wrong = wrong or problem(status)
            if wrong:
                raise PermissionError(errno.EPERM, wrong, str(self.path / name))
            return file.read()

    def write(self, name: str, data: bytes) -> None:
        """Write a file in one step; only this user can read it.

        Raises
        ------
        OSError
            With the file's name.
        """
        part = f".writing-{secrets.token_hex(8)}"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_TRICKS | _CLOSED_BY_EXEC
            handle = self._open(part, flags)
            try:
                with os.fdopen(handle, "wb") as file:
                    if hasattr(os, "fchmod"):
                        os.fchmod(handle, 0o600)  # the umask may have removed our own rights
                    file.write(data)
                source, of_source = self._inside(part, "src_dir_fd")
                target, of_target = self._inside(name, "dst_dir_fd")
                os.replace(source, target, **of_source, **of_target)  # noqa: PTH105 - by handle
            except BaseException:
                place, where = self._inside(part)
                with contextlib.suppress(OSError):
                    os.unlink(place, **where)
                raise
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path / name)) from error


@contextlib.contextmanager
def opened(
    path: Path, *, make: bool = False, tighten: bool = False, follow: bool = True
) -> Iterator[Folder]:
    """Open a folder that no other user can change.

    Parameters
    ----------
    make : bool, default False
        Whether to create it, and absent folders above it, with mode 0700.
    tighten : bool, default False
        Whether to remove other users' right to write from a folder that this user owns, instead of
        refusing the folder.
    follow : bool, default True
        Whether the path itself may be a symbolic link.

    Raises
    ------
    OSError
        If it is absent, cannot be opened or created, or other users could have changed its files.
    """
    if not _BY_HANDLE:  # Windows, where other users cannot write a user's folders
        if make:
            path.mkdir(parents=True, exist_ok=True)
        yield Folder(path, None)
        return
    flags = os.O_RDONLY | os.O_DIRECTORY | _CLOSED_BY_EXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        handle = os.open(path, flags)
    except FileNotFoundError:
        if not make:
            raise
        _make(path)
        handle = os.open(path, flags)
    try:
        status = os.fstat(handle)
        if tighten and status.st_mode & OTHERS_WRITE and status.st_uid == os.geteuid():
            os.fchmod(handle, 0o700)
            status = os.fstat(handle)
        wrong = problem(status)
        if wrong:
            raise PermissionError(errno.EPERM, wrong, str(path))
        yield Folder(path, handle)
    finally:
        os.close(handle)


def _make(path: Path) -> None:
    """Create a folder, and absent folders above it, for this user alone."""
    absent = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(absent):
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:  # another process was faster
            continue
        folder.chmod(0o700)  # the umask may have removed our own rights


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

    ``n_bytes``: space that must be free.
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
        probe = folder / f".probe-{secrets.token_hex(8)}"
        try:
            probe.write_bytes(bytes(_PROBE_BYTES))  # finds quotas and wrong permissions
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        return f"{folder}: {error.strerror}"
    return ""


def _free_bytes(folder: Path) -> int:
    """Return the free bytes for a user; unlimited where the file system does not tell."""
    if not hasattr(os, "statvfs"):
        import shutil

        return shutil.disk_usage(folder).free
    system = os.statvfs(folder)
    return system.f_bavail * system.f_frsize if system.f_blocks else 1 << 62


def temporary_bases() -> list[Path]:
    """Return folders in which to make temporary folders, best first."""
    import tempfile

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

    ``n_bytes``: space that must be free.
    """
    import tempfile

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
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
