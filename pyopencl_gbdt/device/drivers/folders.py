"""Choose the folders in which PoCL and pyopencl keep what they build.

If its folder cannot be written, PoCL offers no device, and pyopencl raises in the middle of a fit.
This happens in containers without a writable home folder, and on full disks. So PoCL is given a
folder that only this user can write, and pyopencl's cache is switched off. Variables that the user
set are left alone.

PoCL reads its environment variable when it is first asked for devices. The variables are set for
that time only, so child processes make their own choice.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pyopencl_gbdt.device import cache, owner_only_files
from pyopencl_gbdt.device.drivers import intel
from pyopencl_gbdt.errors import KernelBuildError, KernelFallbackWarning

T = TypeVar("T")
POCL = "POCL_CACHE_DIR"
PYOPENCL = "PYOPENCL_NO_CACHE"
#: Free bytes that PoCL must have: it ends the process on a full disk. A first fit writes 1 to 30
#: MB.
POCL_BYTES = 64 << 20
_PYOPENCL_BYTES = 1 << 20
#: The folder that this process named to PoCL; empty if it named none.
_pocl_folder = ""
#: Problems by platform; None until the drivers were asked for devices.
_notes: dict[str, str] | None = None
_lock = threading.RLock()
_POCL_PLATFORM, _INTEL = "Portable Computing Language", "Intel(R) OpenCL"


def usual_pocl_folder() -> Path:
    """Return PoCL's default folder for kernels, which it uses without ``POCL_CACHE_DIR``."""
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "pocl" / "kcache"
    if os.environ.get("HOME"):
        return Path(os.environ["HOME"]) / ".cache" / "pocl" / "kcache"
    return Path("/tmp/pocl/kcache")


def pocl_folder() -> Path:
    """Return the folder in which PoCL keeps the kernels of this process."""
    return Path(_pocl_folder or os.environ.get(POCL) or usual_pocl_folder())


def choose_pocl_folder() -> tuple[str, str]:
    """Return the folder to name to PoCL, empty for its default, and the problem, if any."""
    if os.name != "posix":
        return "", ""
    given = os.environ.get(POCL)
    if given:
        wrong = owner_only_files.why_no_room(_nearest(Path(given).absolute()), 0)
        note = f"OpenCL: {POCL}={given}: PoCL has no device where it cannot write: {wrong}"
        return "", note if wrong else ""
    wrong = owner_only_files.why_unusable(usual_pocl_folder(), POCL_BYTES)
    if not wrong:
        return "", ""
    shared = (cache.cache_folder() / "pocl").absolute()
    if not owner_only_files.why_unusable(shared, POCL_BYTES):
        return str(shared), ""
    instead = owner_only_files.temporary_folder(POCL_BYTES)
    if instead is not None:
        return str(instead), ""
    return "", (
        f"OpenCL: PoCL has no device where it cannot write: {wrong}; set {POCL} to a folder of "
        f"your own with {POCL_BYTES >> 20} MiB left"
    )


def warn_of_damage(label: str) -> None:
    """Warn that a program in PoCL's folder is damaged and was built again."""
    warnings.warn(
        f"{label}: a program in {pocl_folder()}, where PoCL keeps what it builds, is damaged; it "
        "was built again. Remove the folder while no program uses PoCL, and this warning ends",
        KernelFallbackWarning,
        stacklevel=3,
    )


def no_kernels(template: str, label: str, driver: str) -> KernelBuildError:
    """Return the error to raise when a program has no kernels although it was built again."""
    return KernelBuildError(
        f"kernel {template!r} builds on {label}, driver {driver}, but the program has no kernels: "
        f"what the driver keeps on disk is damaged; remove that folder (PoCL's is "
        f"{pocl_folder()}), and run again"
    )


def _nearest(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def why_no_pyopencl_cache() -> str:
    """Return why pyopencl's own cache cannot be used; empty if it can. It is a database."""
    try:
        import platformdirs
    except ImportError:  # this pyopencl has it elsewhere; `without_failing_cache` still helps
        return ""
    try:
        folder = Path(platformdirs.user_cache_dir("pytools", "pytools"))
    except (RuntimeError, OSError, KeyError) as error:  # no home folder
        return str(error)
    if sys.platform == "darwin" and os.environ.get("XDG_CACHE_HOME"):
        folder = Path(os.environ["XDG_CACHE_HOME"]) / "pytools"
    return owner_only_files.why_unusable(folder, _PYOPENCL_BYTES)


@contextlib.contextmanager
def chosen() -> Iterator[dict[str, str]]:
    """Set the drivers' folders while they are first asked for devices.

    Yields
    ------
    dict of str to str
        By platform, the problem that explains why it may be missing.
    """
    global _notes  # noqa: PLW0603 - a fact of the process, as the environment is
    with contextlib.ExitStack() as stack:
        if _notes is None:
            stack.enter_context(_lock)
        if _notes is not None:
            yield _notes
            return
        invisible = stack.enter_context(intel.visible())
        told, notes = _settings()
        if invisible:
            notes[_INTEL] = invisible
        before = {name: os.environ.get(name) for name in told}
        os.environ.update(told)
        try:
            if PYOPENCL in told:
                _switch_off()  # pyopencl reads the variable on import, perhaps long ago
            yield notes
            _notes = notes
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def _settings() -> tuple[dict[str, str], dict[str, str]]:
    """Return the environment variables to set, and problems by platform."""
    global _pocl_folder  # noqa: PLW0603 - a fact of the process
    told, notes = {}, {}
    folder, wrong = choose_pocl_folder()
    if folder:
        _pocl_folder = told[POCL] = folder
    if wrong:
        notes[_POCL_PLATFORM] = wrong
    if not os.environ.get(PYOPENCL) and why_no_pyopencl_cache():
        told[PYOPENCL] = "1"
    return told, notes


def _switch_off() -> None:
    """Switch off pyopencl's cache of launch code; making the code anew takes no measurable time."""
    with contextlib.suppress(ImportError):  # without pyopencl, `discovery` reports it
        import pyopencl

        pyopencl._PYOPENCL_NO_CACHE = True


def remember_launch_code() -> None:
    """Have pyopencl make each kernel's launch code once a process.

    For every kernel object pyopencl asks a database on disk, 0.2 to 0.4 ms each; a fit binds 100 to
    400 kernels. What the function returns depends on its arguments and on whether there is a cache.
    """
    try:
        from pyopencl import invoker
    except Exception:  # the cache cannot be opened, see ``without_failing_cache``
        return
    known: Any = invoker
    usual = getattr(known, "generate_enqueue_and_set_args", None)
    if usual is None or hasattr(usual, "__wrapped__"):
        return
    order = tuple(inspect.signature(usual).parameters)

    @functools.cache
    def made(names: tuple[str, ...], values: tuple[Any, ...], without_cache: bool) -> Any:
        return usual(**dict(zip(names, values, strict=True)))

    @functools.wraps(usual)
    def generate(*args: Any, **named: Any) -> Any:
        import pyopencl

        given = {**dict(zip(order, args, strict=False)), **named}
        without_cache: bool = getattr(pyopencl, "_PYOPENCL_NO_CACHE", False)
        try:
            values = tuple(tuple(v) if isinstance(v, list) else v for v in given.values())
            return made(tuple(given), values, without_cache)
        except TypeError:  # an argument that cannot be hashed
            return usual(*args, **named)

    known.generate_enqueue_and_set_args = generate


def without_failing_cache(make: Callable[[], T]) -> T:
    """Make kernels; if pyopencl's cache fails, switch it off and try again.

    The cache fails on full disks, or when its database is damaged.

    Parameters
    ----------
    make : callable
        Returns the kernels.
    """
    import pyopencl

    known: Any = pyopencl
    try:
        return make()
    except pyopencl.Error:
        raise
    except Exception:  # errors of SQLite, pickle and the system
        if getattr(known, "_PYOPENCL_NO_CACHE", True):
            raise
        _switch_off()
    return make()
