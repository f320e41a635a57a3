"""Make Intel's CPU runtime from pip visible to the OpenCL loader.

On Linux the ``.icd`` file in the wheel names a path of the machine that built it, so the loader
does not find the library. If ``OCL_ICD_VENDORS`` is set, the loader reads that folder instead of
``/etc/OpenCL/vendors``. So this module makes a folder with a file for Intel's library and copies of
the system's files.

The loader loads any library that these files name, so no other user may write them. The folder is
new, closed to other users, and removed when the loader has read it. Child processes make their own.

On Windows drivers are in the registry, which only administrators write. The loader in pyopencl's
wheels, Khronos's, also loads what ``OCL_ICD_FILENAMES`` names, but not in an administrator's
process.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from pyopencl_gbdt.device import owner_only_files

_SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
_VARIABLE = "OCL_ICD_VENDORS"
_LIBRARIES = ("libintelocl.so", "intelocl64.dll")
#: Names libraries to the loader of Windows, beside those of the registry.
_FILENAMES = "OCL_ICD_FILENAMES"
_REGISTER = r'reg add HKLM\SOFTWARE\Khronos\OpenCL\Vendors /t REG_DWORD /d 0 /f /v "{}"'


def _is_installed() -> bool:
    """Tell whether a folder of Python's path has the wheel."""
    for place in sys.path:
        with contextlib.suppress(OSError):  # absent, or an archive
            if any(Path(place or ".").glob("intel_opencl_rt-*")):
                return True
    return False


def find_library() -> Path | None:
    """Return the library of the installed ``intel-opencl-rt``, or None."""
    if not _is_installed():
        return None
    import importlib.metadata  # imports a mail reader

    try:
        files = importlib.metadata.files("intel-opencl-rt") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name in _LIBRARIES:
            path = Path(str(file.locate())).resolve()
            if path.is_file():
                return path
    return None


def _is_windows() -> bool:
    return sys.platform == "win32"


def _is_administrator() -> bool:
    """Tell whether the loader of Windows leaves this process's environment unread."""
    import ctypes

    shell = getattr(ctypes, "windll").shell32  # noqa: B009 - only Windows has it
    return bool(shell.IsUserAnAdmin())


@contextlib.contextmanager
def visible() -> Iterator[str]:
    """Show the loader Intel's library, beside the system's own drivers.

    Does nothing if the user set the loader's variable or the wheel is not installed. The loader
    reads the variable once, when the process first asks for platforms; do that inside this context.

    Yields
    ------
    str
        Why the loader does not find Intel's runtime although it is installed; empty otherwise.
    """
    variable = _FILENAMES if _is_windows() else _VARIABLE
    library = None if os.environ.get(variable) else find_library()
    if library is None:
        yield ""
    elif _is_windows():
        with _set(variable, str(library)):
            yield _unread(library) if _is_administrator() else ""
    else:
        with _in_folder(library) as problem:
            yield problem


def _unread(library: Path) -> str:
    return (
        "OpenCL: Intel's CPU runtime is installed, but in an administrator's process the loader "
        f"finds drivers in the registry alone: run {_REGISTER.format(library)}"
    )


@contextlib.contextmanager
def _set(variable: str, value: str) -> Iterator[None]:
    """Set a variable of the environment for a time."""
    before = os.environ.get(variable)
    os.environ[variable] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = before


@contextlib.contextmanager
def _in_folder(library: Path) -> Iterator[str]:
    """Point the loader to a folder that names Intel's library and the system's own drivers."""
    folder = owner_only_files.temporary_folder()
    if folder is None:
        yield (
            "OpenCL: Intel's CPU runtime is installed, but the OpenCL loader finds it through a "
            "folder for temporary files alone, and none can be written; set TMPDIR"
        )
        return
    try:
        try:
            _write(folder, library)
        except OSError as error:
            yield f"OpenCL: Intel's CPU runtime is not seen: {folder}: {error.strerror}"
        else:
            with _set(_VARIABLE, str(folder)):
                yield ""
    finally:
        owner_only_files.remove(folder, os.getpid())


def _write(folder: Path, library: Path) -> None:
    """Write a file for Intel's library, and copies of the system's files."""
    contents = {}
    if _SYSTEM_VENDORS.is_dir():
        for file in sorted(_SYSTEM_VENDORS.glob("*.icd")):
            with contextlib.suppress(OSError):  # the loader cannot read it either
                contents[file.name] = file.read_bytes()
    contents["intel-cpu-pip.icd"] = os.fsencode(library) + b"\n"
    with owner_only_files.opened(folder, follow=False) as opened:
        for name, data in contents.items():
            opened.write(name, data)
