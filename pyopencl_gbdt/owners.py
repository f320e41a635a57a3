"""Who owns links and files: what another user may have planted is neither followed nor believed.

As Linux does in sticky folders (``fs.protected_symlinks``), for every folder that others can write:
a link counts if this user, root or the folder's owner made it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path

#: The bits of a mode by which other users can write.
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
#: Links that a path may go through, as in Linux.
_MOST_LINKS = 40


class PlantedError(PermissionError):
    """Another user may have planted a link or a file; the text says whose it is."""


def keepers() -> tuple[int, ...]:
    """Return the user ids that are trusted: this process's, and root's.

    In a user namespace, such as Apptainer's, root may appear as the overflow user.
    """
    owners = [os.geteuid(), 0]
    with contextlib.suppress(OSError, ValueError):
        if Path("/proc/self/uid_map").read_text().split()[:3] != ["0", "0", "4294967295"]:
            owners.append(int(Path("/proc/sys/kernel/overflowuid").read_text()))
    return tuple(owners)


def resolved(path: Path) -> Path:
    """Return the path without links, as ``os.path.realpath`` does.

    A link is read before its owner is, so that no other user can exchange it in between.

    Raises
    ------
    PlantedError
        If it goes through a link that another user may have planted.
    OSError
        If it goes through too many links.
    """
    if not hasattr(os, "geteuid"):  # Windows, where other users cannot write a user's folders
        return Path(os.path.realpath(path))
    path, n_links = path.absolute(), 0
    found, ahead = Path(path.anchor), list(reversed(path.parts[1:]))
    while ahead:
        part = ahead.pop()
        place = found.parent if part == ".." else found / part
        try:
            leads = place.readlink()
        except OSError:  # it is not a link, or absent
            found = place
            continue
        _refuse_others(place, place.parent.stat().st_mode & OTHERS_WRITE, "is a link that")
        n_links += 1
        if n_links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        found = Path(leads.anchor) if leads.is_absolute() else found
        ahead += reversed(leads.parts[1:] if leads.is_absolute() else leads.parts)
    return found


def check_replaced(path: Path) -> None:
    """Raise ``PlantedError`` if another user owns a file, in a sticky folder, that is replaced.

    Raises
    ------
    PlantedError, OSError
    """
    if hasattr(os, "geteuid"):
        mode = path.parent.stat().st_mode
        with contextlib.suppress(FileNotFoundError):
            _refuse_others(path, mode & stat.S_ISVTX and mode & OTHERS_WRITE, "")


def _refuse_others(place: Path, is_shared: int, what: str) -> None:
    owner = place.lstat().st_uid
    if is_shared and owner not in (*keepers(), place.parent.stat().st_uid):
        raise PlantedError(
            f"{place} {what}{' ' if what else ''}belongs to {user(owner)}, in a folder that others "
            "can write: expected one of yours, of root or of the folder's owner; give another "
            "name, or a folder that no other user can write"
        )


def other_owner(path: Path, status: os.stat_result) -> str:
    """Return which other user owns an opened file; empty if this user or root does.

    Where a file system gives all files to one user, as some network mounts do, a new file shows
    whom this user's files belong to.
    """
    if not hasattr(os, "geteuid") or status.st_uid in keepers():
        return ""
    with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=path.parent) as new:
        if os.fstat(new.fileno()).st_uid == status.st_uid:
            return ""
    return user(status.st_uid)


def user(number: int) -> str:
    """Return a user's name and number."""
    with contextlib.suppress(ImportError, KeyError):
        import pwd

        return f"user {pwd.getpwuid(number).pw_name!r} ({number})"
    return f"user {number}"
