"""Built programs on disk, shared by processes.

A file holds a digest and a payload. It is written beside its place and moved there in one step, so
a reader sees a whole file or none; a damaged one is ignored and replaced.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

_DIGEST_BYTES = 32


def cache_folder() -> Path:
    """Return the user's cache folder for this library (``PYOPENCL_GBDT_CACHE`` overrides it)."""
    explicit = os.environ.get("PYOPENCL_GBDT_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return Path(base or Path.home() / ".cache") / "pyopencl_gbdt"
    except RuntimeError:  # no home folder: a container's bare user
        return Path(tempfile.gettempdir()) / "pyopencl_gbdt"


def cache_key(*facts: str) -> str:
    """Return a file name for a program that depends on ``facts``."""
    return hashlib.sha256("\x00".join(facts).encode()).hexdigest()


def load(key: str) -> bytes | None:
    """Return the stored payload, or None if it is absent, unreadable or damaged."""
    try:
        data = (cache_folder() / f"{key}.bin").read_bytes()
    except OSError:
        return None
    digest, payload = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if len(digest) < _DIGEST_BYTES or hashlib.sha256(payload).digest() != digest:
        return None
    return payload


def store(key: str, payload: bytes) -> bool:
    """Store a payload; return whether it worked. A folder that cannot be written is no error."""
    folder = cache_folder()
    temporary = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".writing-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(hashlib.sha256(payload).digest() + payload)
        Path(temporary).replace(folder / f"{key}.bin")
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        return False
    return True
