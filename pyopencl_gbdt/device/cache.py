"""Built programs, and what was tuned, on disk, shared by processes.

A program's file holds a digest and a payload. Files are written beside their place and moved there
in one step, so a reader sees a whole file or none; a damaged one is ignored and replaced.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

_DIGEST_BYTES = 32
#: Environment variables that move the cache folder while a program runs.
PLACES = ("PYOPENCL_GBDT_CACHE", "XDG_CACHE_HOME")


def cache_folder() -> Path:
    """Return the user's cache folder for this library (``PYOPENCL_GBDT_CACHE`` overrides it)."""
    explicit = os.environ.get("PYOPENCL_GBDT_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return Path(base or Path.home() / ".cache") / "pyopencl_gbdt"
    except RuntimeError:  # no home folder: a container's bare user
        user = getattr(os, "getuid", lambda: "user")()
        return Path(tempfile.gettempdir()) / f"pyopencl_gbdt-{user}"  # all users write here


def cache_key(*facts: str) -> str:
    """Return a file name for a program that depends on ``facts``."""
    return hashlib.sha256("\x00".join(facts).encode()).hexdigest()


def compiler_settings() -> list[str]:
    """Return the environment's settings of the drivers' compilers, which change what they build."""
    names = ("CL_CONFIG_", "IGC_", "AMD_OCL_", "GPU_", "HSA_", "RADV_", "RUSTICL_", "POCL_")
    return sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith(names))


def load(key: str) -> bytes | None:
    """Return the stored payload, or None if it is absent, unreadable or damaged."""
    data = read(f"{key}.bin") or b""
    digest, payload = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if len(digest) < _DIGEST_BYTES or hashlib.sha256(payload).digest() != digest:
        return None
    return payload


def _is_ours(folder: Path) -> bool:
    """Tell whether nobody else owns a folder: a program in it runs with our rights."""
    if not hasattr(os, "getuid"):
        return True
    return folder.stat().st_uid in (os.getuid(), 0)


def store_log(key: str, text: str) -> Path | None:
    """Keep a compiler's log for a report; return where, or None if it cannot be written."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not _is_ours(folder):
            return None
        path = folder / f"{key[:16]}.log"
        path.write_text(text, encoding="utf-8")
    except OSError:
        return None
    return path


def store(key: str, payload: bytes) -> bool:
    """Store a payload; return whether it worked. A folder that cannot be written is no error."""
    return write(f"{key}.bin", hashlib.sha256(payload).digest() + payload)


def read(name: str) -> bytes | None:
    """Return a file of the folder, or None if it is absent, unreadable or somebody else's."""
    folder = cache_folder()
    try:
        return (folder / name).read_bytes() if _is_ours(folder) else None
    except OSError:
        return None


def write(name: str, data: bytes) -> bool:
    """Write a file of the folder in one step; return whether it worked."""
    folder = cache_folder()
    temporary = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(folder):
            return False
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".writing-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).replace(folder / name)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        return False
    return True
