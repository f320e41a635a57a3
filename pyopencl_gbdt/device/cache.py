"""A cache on disk for built programs and tuning results, shared by one user's processes.

A program's file holds a digest and a payload. A file is written under another name and then renamed
in one step, so a reader sees a whole file or none. A damaged file is ignored and replaced. So is a
file that another user could have written; ``owner_only_files`` checks that.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from pyopencl_gbdt.device import owner_only_files

_DIGEST_BYTES = 32
#: Environment variables that move the cache folder while a program runs.
PLACES = ("PYOPENCL_GBDT_CACHE", "XDG_CACHE_HOME")
#: Free space that the default folder must have; a first fit stores about a megabyte.
_ENOUGH_BYTES = 4 << 20
#: By folder: why nothing can be stored there. Each process checks a folder once.
_unusable: dict[Path, str] = {}


def usual_folder() -> Path | None:
    """Return the default cache folder, writable or not; None for a user without a home folder."""
    explicit = os.environ.get("PYOPENCL_GBDT_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return Path(base or Path.home() / ".cache") / "pyopencl_gbdt"
    except RuntimeError:  # no home folder: a container's bare user
        return None


def why_unusable(folder: Path, *, follow: bool = True) -> str:
    """Return why nothing can be stored in a cache folder; empty if it can be used.

    Each process checks a folder once.

    ``folder``: created if it is absent.
    ``follow``: whether it may be a symbolic link.
    """
    if folder not in _unusable:
        try:
            with owner_only_files.opened(folder, make=True, tighten=_is_default(), follow=follow):
                pass
            _unusable[folder] = owner_only_files.why_no_room(folder, _ENOUGH_BYTES)
        except OSError as error:
            _unusable[folder] = f"{error.filename or folder}: {error.strerror}"
    return _unusable[folder]


def _places() -> list[tuple[Path, bool]]:
    """Return the folders to read from, each with whether it may be a link; the last is written."""
    usual = usual_folder()
    if usual is not None and (not _is_default() or not why_unusable(usual)):
        return [(usual, True)]
    user = getattr(os, "geteuid", lambda: "user")()
    places = [] if usual is None else [(usual, True)]  # files stored earlier may be readable
    bases = owner_only_files.temporary_bases()
    for base in bases:
        place = base / f"pyopencl_gbdt-{user}"
        if not why_unusable(place, follow=False):
            return [*places, (place, False)]
    return places or [(bases[0] / f"pyopencl_gbdt-{user}", False)]


def cache_folder() -> Path:
    """Return the user's cache folder for this library.

    ``PYOPENCL_GBDT_CACHE`` names it. Otherwise it is the default folder, or, where that cannot be
    written, a folder of this user's below the temporary folder.
    """
    return _places()[-1][0]


def cache_key(*facts: str) -> str:
    """Return a file name for a program that depends on ``facts``."""
    return hashlib.sha256("\x00".join(facts).encode()).hexdigest()


def compiler_settings() -> list[str]:
    """Return the environment variables that change what the drivers' compilers build."""
    names = (
        "CL_CONFIG_", "IGC_", "AMD_OCL_", "GPU_", "HSA_", "RADV_", "RUSTICL_", "POCL_",
        "PYOPENCL_BUILD_",
    )  # fmt: skip
    return sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith(names))


def _digest(key: str, payload: bytes) -> bytes:
    """Return the digest at the start of a program's file; it depends on the file's name too."""
    return hashlib.sha256(key.encode() + b"\0" + payload).digest()


def load(key: str) -> bytes | None:
    """Return the stored payload, or None if it is absent, unreadable, damaged or not ours."""
    data = read(f"{key}.bin") or b""
    digest, payload = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if len(digest) < _DIGEST_BYTES or _digest(key, payload) != digest:
        return None
    return payload


def store_log(key: str, text: str) -> Path | None:
    """Keep a compiler's log for a bug report; return its path, or None if it cannot be written."""
    try:
        return write(f"{key[:16]}.log", text.encode())
    except OSError:
        return None


def store(key: str, payload: bytes) -> bool:
    """Store a payload; return whether it was written. An unwritable folder is not an error."""
    try:
        write(f"{key}.bin", _digest(key, payload) + payload)
    except OSError:
        return False
    return True


def read(name: str) -> bytes | None:
    """Return a cached file's bytes, or None if it is absent, unreadable or not ours."""
    for place, follow in _places():
        try:
            with owner_only_files.opened(place, tighten=_is_default(), follow=follow) as folder:
                return folder.read(name)
        except OSError:
            continue
    return None


def write(name: str, data: bytes) -> Path:
    """Write a file to the cache folder in one step; return its path.

    Raises
    ------
    OSError
        With the file's name, if it cannot be written or other users can write to the folder.
    """
    place, follow = _places()[-1]
    with owner_only_files.opened(place, make=True, tighten=_is_default(), follow=follow) as folder:
        folder.write(name, data)
    return place / name


def _is_default() -> bool:
    """Tell whether the library chose the folder; only then may it change the folder's mode."""
    return not os.environ.get("PYOPENCL_GBDT_CACHE")
