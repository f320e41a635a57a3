"""Compile kernels in a second process while the first one builds and launches others.

PoCL compiles a kernel when it is launched first, one at a time in a process, however many cores
there are. It keeps what it compiled on disk. So where its folder is empty, a helper process gets
the sources of a fit's rounds and compiles their kernels, too. It begins with those that were built
first. Once the fit launches kernels, the helper goes on from the other end, so both meet halfway.

The helper launches each kernel with two work-groups in z, which makes it return at once; see
``cl_kernels/dialect_opencl_fast_build.h``. If the helper fails, the fit compiles all kernels.
``PYOPENCL_GBDT_BUILD_AHEAD=off`` does without.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import threading
from typing import Any

from pyopencl_gbdt.device import helper_process
from pyopencl_gbdt.device.drivers import folders as driver_folders
from pyopencl_gbdt.device.helper_process import usable_cores
from pyopencl_gbdt.device.variants.table import KERNELS

ENVIRONMENT = "PYOPENCL_GBDT_BUILD_AHEAD"
#: Says that the fit launches kernels, see ``BuildOrders``.
TURN = "turn"
#: Says that nothing more comes; a forked process may keep the pipe open.
END = "end"
_CODE = (
    "from pyopencl_gbdt.device.helpers import compile_kernels; compile_kernels(int(sys.argv[2]))"
)
#: Seconds that a process waits at its end for the helper to finish the kernel that it compiles.
_PATIENCE = 10
#: The helper of this process, if it has one.
_helper: BuildHelper | None = None


class BuildHelper:
    """A process that compiles kernels.

    Parameters
    ----------
    number : int
        The device's number on its platform.
    """

    def __init__(self, number: int) -> None:
        self.owner = os.getpid()
        self.process = helper_process.start(
            _CODE,
            str(number),
            stdin=subprocess.PIPE,
            variables={
                driver_folders.POCL: str(driver_folders.pocl_folder()),
                "OPENBLAS_NUM_THREADS": "1",  # NumPy's threads would take time from the fit's
            },
        )
        self._turned = False
        atexit.register(self.end)

    def add(self, source: str, options: list[str], kernels: list[tuple[str, list[str]]]) -> None:
        """Compile kernels of a program that PoCL's folder holds.

        Parameters
        ----------
        source : str
            As it was built.
        kernels : list of (str, list of str)
            Names, and the NumPy types of the arguments; empty for arrays.
        """
        self._say([source, options, kernels])

    def turn(self) -> None:
        """Go on with the program that was added last."""
        if not self._turned:
            self._turned = True
            self._say(TURN)

    def launched(self) -> None:
        """End the helper, if it has turned: then the fit has launched what it was to compile."""
        if self._turned:
            self.close()

    def close(self) -> None:
        """Let the helper end; it finishes the kernel that it compiles."""
        pipe = self.process.stdin
        if pipe is None or pipe.closed or os.getpid() != self.owner:
            return
        with contextlib.suppress(OSError, ValueError):
            pipe.write(json.dumps(END).encode() + b"\n")
            pipe.close()
        threading.Thread(target=self.process.wait, daemon=True).start()  # so it leaves no zombie

    def end(self) -> None:
        """Close the helper, and wait until it has ended."""
        if os.getpid() != self.owner:
            return
        self.close()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _say(self, message: Any) -> None:
        pipe = self.process.stdin
        if pipe is None or pipe.closed or os.getpid() != self.owner:
            return
        try:
            pipe.write(json.dumps(message).encode() + b"\n")
            pipe.flush()
        except (OSError, ValueError):  # it has ended
            self.close()


def start(number: int) -> None:
    """Start the helper of this process, where a second core is free for it; once a process."""
    global _helper  # noqa: PLW0603 - a fact of the process
    if current() is not None or os.name != "posix" or not helper_process.possible():
        return
    if is_off() or usable_cores() < 2:
        return
    with contextlib.suppress(OSError):  # no process is left
        _helper = BuildHelper(number)


def runs_at_once(template: str) -> bool:
    """Tell whether kernels run as soon as they are built; then a helper would come too late."""
    return template in KERNELS and KERNELS[template].phase == "set-up"


def is_off() -> bool:
    """Tell whether the user forbids that other processes compile kernels."""
    return os.environ.get(ENVIRONMENT, "").strip().lower() == "off"


def current() -> BuildHelper | None:
    """Return the helper of this process, or None."""
    return _helper if _helper is not None and _helper.owner == os.getpid() else None
