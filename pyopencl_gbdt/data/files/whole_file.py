"""Write files atomically: a reader sees the whole new file or the old one.

Data are written to a file of a random name in the same folder, which is renamed when complete::

    .pyopencl_gbdt-0123456789abcdef.partial    ->    model.json

A killed process leaves its partial file behind; the next write into that folder removes it. A
writing process holds a lock on its partial file, which the system releases when the process ends.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from pathlib import Path

from pyopencl_gbdt.errors import FileWriteError, MissingFolderError, ParameterError
from pyopencl_gbdt.owners import PlantedError, check_replaced, resolved

try:
    import fcntl
except ImportError:  # Windows; it refuses to remove an open file, so no lock is needed
    fcntl = None  # type: ignore[assignment]

_PARTIAL = re.compile(r"\.pyopencl_gbdt-[0-9a-f]{16}\.partial")
_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NONBLOCK", 0)
)  # fmt: skip
#: Tries, since another process may remove our file in the instant before we lock it.
_ATTEMPTS = 5

_MOVES = {
    errno.ENOSPC: "free some space, or choose another folder",
    errno.EDQUOT: "free some space, or choose another folder",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.EROFS: "choose a folder that can be written",
    errno.ENAMETOOLONG: "give a shorter name",
}
#: Windows: access denied, and a sharing violation. Both come of files that are open elsewhere.
_OPEN_ELSEWHERE = (5, 32)


def write_whole(path: str | os.PathLike[str], data: bytes, *, follow_link: bool = True) -> None:
    """Write a file atomically: after a crash or a full disk there is the old file or the new one.

    ``path``: a regular file of this name is replaced.
    ``follow_link``: if ``path`` is a symbolic link, replace the link's target rather than the link.

    Raises
    ------
    FileWriteError
        If the file cannot be written: names ``path`` and what to do. No partial file remains. Also
        if another user may have planted a link on the way or, in a sticky folder, owns the file.
    MissingFolderError
        If the folder does not exist.
    ParameterError
        If ``path`` is not a path.
    """
    try:
        name = os.fsdecode(path)
    except TypeError:
        name = "\0"
    if "\0" in name:
        raise ParameterError(f"path={path!r}: expected the path of a file; give a string or a Path")
    target = _target(name, follow_link)
    folder = target.parent
    _refuse(name, target)
    for attempt in range(_ATTEMPTS):
        try:
            remove_partial_files(folder)
            _write(target, data)
        except OSError as error:
            if not isinstance(error, FileNotFoundError) or attempt == _ATTEMPTS - 1:
                raise _problem(name, error) from error
            _refuse(name, target)
        else:
            return


def _target(name: str, follow_link: bool) -> Path:
    """Return the file to replace, whose path goes through no link.

    Raises
    ------
    FileWriteError
        If another user may have planted a link on the way, or owns the file.
    """
    path = Path(name)
    try:
        target = resolved(path) if follow_link else resolved(path.parent) / path.name
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # of the folder: told next
            check_replaced(target)
    except PlantedError as error:
        raise FileWriteError(f"{name}: {error}") from None
    except OSError as error:
        raise _problem(name, error) from error
    return target


def _refuse(name: str, target: Path) -> None:
    """Raise if the folder does not exist, or if ``target`` is a folder or a device."""
    folder = target.parent
    if not folder.exists():
        raise MissingFolderError(
            f"{name}: the folder {folder} is absent: expected one that exists; create it first, "
            "or choose another"
        )
    if not folder.is_dir():
        raise FileWriteError(
            f"{name}: {folder} is not a folder: expected one; choose another place for the file"
        )
    try:
        kind = target.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise _problem(name, error) from error
    if not stat.S_ISREG(kind) and not stat.S_ISLNK(kind):
        raise FileWriteError(
            f"{name}: is a {'folder' if stat.S_ISDIR(kind) else 'device'}: expected the path "
            "of a file; choose another name"
        )


def _problem(name: str, error: OSError) -> FileWriteError:
    move = _MOVES.get(error.errno or 0, "look at the folder, or choose another")
    if getattr(error, "winerror", None) in _OPEN_ELSEWHERE:
        move = "close the programs that have it open, or choose another name"
    problem = FileWriteError(
        f"{name}: cannot be written ({error.strerror or error}): an existing file is unchanged; "
        f"{move}"
    )
    problem.errno = error.errno
    return problem


def _write(target: Path, data: bytes) -> None:
    partial = target.parent / f".pyopencl_gbdt-{secrets.token_hex(8)}.partial"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if fcntl is not None:
                with contextlib.suppress(OSError):  # some file systems have no locks
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:  # rename while the lock is held
                partial.replace(target)
        if fcntl is None:
            partial.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
    if fcntl is not None:
        with contextlib.suppress(OSError):  # write the folder to disk too, for the new name
            folder = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def remove_partial_files(folder: str | os.PathLike[str]) -> None:
    """Remove partial files of killed processes of this user from a folder; never raises."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _PARTIAL.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_unless_locked(Path(entry.path))


def _remove_unless_locked(path: Path) -> None:
    found = path.lstat()
    owner = getattr(os, "geteuid", lambda: found.st_uid)()
    if not stat.S_ISREG(found.st_mode) or found.st_uid != owner:
        return
    if fcntl is None:
        path.unlink()
        return
    descriptor = os.open(path, os.O_RDWR | _FLAGS)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while a process writes it
        path.unlink()
    finally:
        os.close(descriptor)
