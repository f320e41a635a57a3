"""Make Intel's CPU runtime from pip visible to the OpenCL loader.

The ``.icd`` file in the wheel names a path of the machine that built it, so the loader does not
find the library. If ``OCL_ICD_VENDORS`` is set, the loader reads that folder instead of
``/etc/OpenCL/vendors``. So this module makes a folder with a file for Intel's library and copies of
the system's files.

The loader loads any library that these files name, so no other user may write them. The folder is
new, closed to other users, and removed when the loader has read it. Child processes make their own.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
from collections.abc import Iterator
from pathlib import Path

from pyopencl_gbdt.device import private, private_paths

_SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
_VARIABLE = "OCL_ICD_VENDORS"


def find_library() -> Path | None:
    """Return ``libintelocl.so`` of the installed ``intel-opencl-rt``, or None."""
    try:
        files = importlib.metadata.files("intel-opencl-rt") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == "libintelocl.so":
            path = Path(str(file.locate())).resolve()
            if path.is_file():
                return path
    return None


@contextlib.contextmanager
def visible() -> Iterator[str]:
    """Point the loader to a folder that names Intel's library and the system's own drivers.

    Does nothing if the user set ``OCL_ICD_VENDORS`` or the wheel is not installed. The loader reads
    the folder once, when the process first asks for platforms; do that inside this context.

    Yields
    ------
    str
        Why the loader does not find Intel's runtime although it is installed; empty otherwise.
    """
    library = None if os.environ.get(_VARIABLE) else find_library()
    if library is None:
        yield ""
        return
    folder = private_paths.temporary_folder()
    if folder is None:
        yield (
            "OpenCL: Intel's CPU runtime is installed, but the OpenCL loader finds it through a "
            "folder for temporary files alone, and none can be written; set TMPDIR"
        )
        return
    before = os.environ.get(_VARIABLE)
    try:
        problem = ""
        try:
            _write(folder, library)
        except OSError as error:
            problem = f"OpenCL: Intel's CPU runtime is not seen: {folder}: {error.strerror}"
        else:
            os.environ[_VARIABLE] = str(folder)
        yield problem
    finally:
        if before is None:
            os.environ.pop(_VARIABLE, None)
        else:
            os.environ[_VARIABLE] = before
        private_paths.remove(folder, os.getpid())


def _write(folder: Path, library: Path) -> None:
    """Write a file for Intel's library, and copies of the system's files."""
    contents = {}
    if _SYSTEM_VENDORS.is_dir():
        for file in sorted(_SYSTEM_VENDORS.glob("*.icd")):
            with contextlib.suppress(OSError):  # the loader cannot read it either
                contents[file.name] = file.read_bytes()
    contents["intel-cpu-pip.icd"] = os.fsencode(library) + b"\n"
    with private.opened(folder, follow=False) as opened:
        for name, data in contents.items():
            opened.write(name, data)
