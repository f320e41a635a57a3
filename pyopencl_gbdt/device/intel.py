"""Make Intel's CPU runtime from pip visible to the OpenCL loader.

The ``.icd`` file in the wheel names a path of the machine it was built on, so the loader does not
find the library. The loader reads ``OCL_ICD_VENDORS`` instead of ``/etc/OpenCL/vendors`` where it
is set, so a folder of our own holds one file for Intel's library and links to the system's files.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import tempfile
from pathlib import Path

from pyopencl_gbdt.device.cache import cache_folder

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


def make_visible() -> None:
    """Point the loader at a folder that holds Intel's library and the system's own drivers.

    Does nothing where the user set ``OCL_ICD_VENDORS`` or the wheel is not installed. Must run
    before the process first asks for platforms.
    """
    if os.environ.get(_VARIABLE):
        return
    library = find_library()
    if library is None:
        return
    contents = {"intel-cpu-pip.icd": f"{library}\n"}
    if _SYSTEM_VENDORS.is_dir():
        for file in sorted(_SYSTEM_VENDORS.glob("*.icd")):
            contents[file.name] = file.read_text(encoding="utf-8", errors="replace")
    for base in (cache_folder(), Path(tempfile.gettempdir()) / f"pyopencl_gbdt-{os.getpid()}"):
        folder = base / "icd"
        try:
            _write(folder, contents)
        except OSError:
            continue
        os.environ[_VARIABLE] = str(folder)
        return


def _write(folder: Path, contents: dict[str, str]) -> None:
    """Bring a folder to exactly these files; a folder that already has them is left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    present = {p.name: p.read_text(encoding="utf-8") for p in folder.glob("*.icd")}
    if present == contents:
        return
    for name in present.keys() - contents.keys():
        (folder / name).unlink(missing_ok=True)
    for name, text in contents.items():
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
            file.write(text)
        shutil.move(file.name, folder / name)
