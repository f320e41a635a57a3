"""Built programs, and what was tuned, on disk, shared by one user's processes.

A program's file holds a digest and a payload. Files are written beside their place and moved there
in one step, so a reader sees a whole file or none; a damaged one is ignored and replaced. What
another user could have written is ignored, too: ``private`` says how.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from pyopencl_gbdt.device import private, private_paths

_DIGEST_BYTES = 32
#: Environment variables that move the cache folder while a program runs.
PLACES = ("PYOPENCL_GBDT_CACHE", "XDG_CACHE_HOME")
#: Space that the usual folder has to have; a first fit stores about a megabyte.
_ENOUGH_BYTES = 4 << 20
#: Why nothing can be stored in a folder, found out once a process.
_unusable: dict[Path, str] = {}


def usual_folder() -> Path | None:
    """Return where the cache lies unless that cannot be written; None for a user without a home."""
    explicit = os.environ.get("PYOPENCL_GBDT_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return Path(base or Path.home() / ".cache") / "pyopencl_gbdt"
    except RuntimeError:  # no home folder: a container's bare user
        return None


def why_unusable(folder: Path, *, follow: bool = True) -> str:
    """Return why nothing can be stored in a cache folder, as this process first found it.

    Parameters
    ----------
    folder : Path
        It is made if it is absent.
    follow : bool, default True
        Whether it may be a symbolic link.
    """
    if folder not in _unusable:
        try:
            with private.opened(folder, make=True, tighten=_is_default(), follow=follow):
                pass
            _unusable[folder] = private_paths.why_no_room(folder, _ENOUGH_BYTES)
        except OSError as error:
            _unusable[folder] = f"{error.filename or folder}: {error.strerror}"
    return _unusable[folder]


def _places() -> list[tuple[Path, bool]]:
    """Return the folders to read, the last of which is written; and whether links are followed."""
    usual = usual_folder()
    if usual is not None and (not _is_default() or not why_unusable(usual)):
        return [(usual, True)]
    user = getattr(os, "geteuid", lambda: "user")()
    places = [] if usual is None else [(usual, True)]  # what was stored earlier may be readable
    bases = private_paths.temporary_bases()
    for base in bases:
        place = base / f"pyopencl_gbdt-{user}"
        if not why_unusable(place, follow=False):
            return [*places, (place, False)]
    return places or [(bases[0] / f"pyopencl_gbdt-{user}", False)]


def cache_folder() -> Path:
    """Return the user's cache folder for this library.

    ``PYOPENCL_GBDT_CACHE`` names it. Otherwise it is the usual one, or, where that cannot be
    written, one of the user's own below the temporary folder.
    """
    return _places()[-1][0]


def cache_key(*facts: str) -> str:
    """Return a file name for a program that depends on ``facts``."""
    return hashlib.sha256("\x00".join(facts).encode()).hexdigest()


def compiler_settings() -> list[str]:
    """Return the environment's settings of the drivers' compilers, which change what they build."""
    names = ("CL_CONFIG_", "IGC_", "AMD_OCL_", "GPU_", "HSA_", "RADV_", "RUSTICL_", "POCL_")
    return sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith(names))


def _digest(key: str, payload: bytes) -> bytes:
    """Return what a program's file begins with; a file of another name does not fit."""
    return hashlib.sha256(key.encode() + b"\0" + payload).digest()


def load(key: str) -> bytes | None:
    """Return the stored payload, or None if it is absent, unreadable, damaged or not ours."""
    data = read(f"{key}.bin") or b""
    digest, payload = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if len(digest) < _DIGEST_BYTES or _digest(key, payload) != digest:
        return None
    return payload


def store_log(key: str, text: str) -> Path | None:
    """Keep a compiler's log for a report; return where, or None if it cannot be written."""
    try:
        return write(f"{key[:16]}.log", text.encode())
    except OSError:
        return None


def store(key: str, payload: bytes) -> bool:
    """Store a payload; return whether it worked. A folder that cannot be written is no error."""
    try:
        write(f"{key}.bin", _digest(key, payload) + payload)
    except OSError:
        return False
    return True


def read(name: str) -> bytes | None:
    """Return a file of the folder, or None if it is absent, unreadable or not ours."""
    for place, follow in _places():
        try:
            with private.opened(place, tighten=_is_default(), follow=follow) as folder:
                return folder.read(name)
        except OSError:
            continue
    return None


def write(name: str, data: bytes) -> Path:
    """Write a file of the folder in one step; return where it lies.

    Raises
    ------
    OSError
        With the file's name, if it cannot be written, or others can write to the folder.
    """
    place, follow = _places()[-1]
    with private.opened(place, make=True, tighten=_is_default(), follow=follow) as folder:
        folder.write(name, data)
    return place / name


def _is_default() -> bool:
    """Tell whether the folder is this library's alone: one that the user named stays as it is."""
    return not os.environ.get("PYOPENCL_GBDT_CACHE")
