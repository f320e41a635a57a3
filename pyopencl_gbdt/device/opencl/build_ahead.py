"""Compile kernels in a second process while the first one builds and launches others.

PoCL compiles a kernel when it is launched first, one at a time in a process, however many cores
there are. It keeps what it compiled on disk. So where its folder is empty, a helper process
compiles kernels, too:

    the fit     sorts columns |builds and compiles its share |waits|rounds
    the helper  last kernel first |compiles its share ............|

While columns are sorted, the helper compiles the last kernel that it knows first, and the fit
launches the first ones. The programs of the rounds are planned before any is built. When the first
one is needed, both get a share of them.

A kernel that is launched with two work-groups in z returns at once, which makes PoCL compile it;
see ``cl_kernels/dialect_opencl_fast_build.h``. If the helper fails, the fit compiles all kernels.
``PYOPENCL_GBDT_BUILD_AHEAD=off`` does without.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from functools import partial

from pyopencl_gbdt.device import helper_process
from pyopencl_gbdt.device.drivers import folders as driver_folders
from pyopencl_gbdt.device.helper_process import usable_cores
from pyopencl_gbdt.device.variants.table import KERNELS
from pyopencl_gbdt.lazy_dataclasses import dataclass

ENVIRONMENT = "PYOPENCL_GBDT_BUILD_AHEAD"
_CODE = (
    "from pyopencl_gbdt.device.opencl.compile_ahead import compile_kernels; "
    "compile_kernels(sys.argv[2], int(sys.argv[3]))"
)
#: Kernels' names, and the NumPy types of their arguments; empty for arrays.
Kernels = Sequence[tuple[str, list[str]]]
#: Seconds that a fit waits for the helper; then it compiles the kernels itself.
_LONGEST = 60
#: Seconds that a process waits at its end for the helper to finish the kernel that it compiles.
_PATIENCE = 10
#: The helper of this process, if it has one.
_helper: BuildHelper | None = None


@dataclass
class Planned:
    """A program of the rounds; a process builds it when its first kernel is needed.

    Attributes
    ----------
    source : str
    options : str
    kernels : Kernels
    compile : callable
        Builds the program in this process, and has PoCL compile the kernels.
    is_own : bool
        Whether this process compiles it, not the helper.
    n_compiled : int
        Kernels that the helper has compiled.
    """

    source: str
    options: str
    kernels: Kernels
    compile: Callable[[], object]
    is_own: bool = True
    n_compiled: int = 0


def _nothing() -> None: ...


class BuildHelper:
    """A process that compiles kernels, see ``compile_ahead``.

    ``library``: a file that is linked to OpenCL's loader.
    ``number``: the device's number on its platform.
    """

    def __init__(self, library: str, number: int) -> None:
        self.owner = os.getpid()
        self.process = helper_process.start(
            _CODE,
            library,
            str(number),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            variables={driver_folders.POCL: str(driver_folders.pocl_folder())},
        )
        self._planned: list[Planned] = []
        self._is_shared = self._binds = self._has_ended = False
        self._changed = threading.Condition()
        try:
            threading.Thread(target=self._read, daemon=True).start()
        except RuntimeError:  # the system refuses a thread
            self.process.kill()
            raise
        atexit.register(self.end)

    def add(self, source: str, options: str, kernels: Kernels) -> None:
        """Compile kernels of a program that PoCL's folder holds; source and options as built."""
        self._say([-1, source, options, kernels])

    def plan(self, program: Planned) -> Callable[[], None] | None:
        """Plan a program of the rounds.

        Returns
        -------
        callable or None
            To be called before the program is built: waits for the helper, if it compiles the
            program. None if the programs are shared already: then build it at once.
        """
        with self._changed:
            same = [one for one in self._planned if one.source == program.source]
            if self._is_shared and not same:
                return None
            if not same:
                self._planned.append(program)
        return partial(self._before, same[0] if same else program)

    def _before(self, program: Planned) -> None:
        self._share()
        if program.is_own:
            return
        while (own := self._next_own()) is not None:
            own.compile()
        with self._changed:
            self._changed.wait_for(
                lambda: self._has_ended or program.n_compiled == len(program.kernels), _LONGEST
            )

    def _share(self) -> None:
        """Give each process a share of the programs: the longest one to the helper, and so on."""
        with self._changed:
            if self._is_shared:
                return
            self._is_shared = True
            own = helpers = 0
            for program in sorted(self._planned, key=lambda program: -len(program.source)):
                program.is_own = own < helpers
                if program.is_own:
                    own += len(program.source)
                else:
                    helpers += len(program.source)
                    number = self._planned.index(program)
                    self._say([number, program.source, program.options, program.kernels])

    def _next_own(self) -> Planned | None:
        with self._changed:
            own = [one for one in self._planned if one.is_own and one.n_compiled == 0]
            if not own:
                return None
            own[0].n_compiled = len(own[0].kernels)
            return own[0]

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if (number := int(line)) >= 0:
                with self._changed:
                    self._planned[number].n_compiled += 1
                    self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def binds(self) -> None:
        """Note that the fit binds its launches."""
        self._binds = True

    def launched(self) -> None:
        """End the helper, if the fit has launched what it was to compile."""
        if self._binds:
            self.close()

    def close(self) -> None:
        """Let the helper end; it finishes the kernel that it compiles."""
        pipe = self.process.stdin
        if pipe is None or pipe.closed or os.getpid() != self.owner:
            return
        with contextlib.suppress(OSError, ValueError):
            pipe.write(b"null\n")
            pipe.close()
        with self._changed:
            for program in self._planned:
                program.compile = _nothing  # it holds the fit's device
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

    def _say(self, message: list[object]) -> None:
        pipe = self.process.stdin
        if pipe is None or pipe.closed or os.getpid() != self.owner:
            return
        try:
            pipe.write(json.dumps(message).encode() + b"\n")
            pipe.flush()
        except (OSError, ValueError):  # it has ended
            self.close()


def start(library: str, number: int) -> None:
    """Start the helper of this process, where a second core is free for it; once a process."""
    global _helper  # noqa: PLW0603 - a fact of the process
    if current() is not None or os.name != "posix" or not helper_process.possible():
        return
    if is_off() or usable_cores() < 2:
        return
    with contextlib.suppress(OSError, RuntimeError):  # no process or thread is left
        _helper = BuildHelper(library, number)


def runs_at_once(template: str) -> bool:
    """Tell whether kernels run as soon as they are built."""
    return template in KERNELS and KERNELS[template].phase == "set-up"


def is_off() -> bool:
    """Tell whether the user forbids that other processes compile kernels."""
    return os.environ.get(ENVIRONMENT, "").strip().lower() == "off"


def current() -> BuildHelper | None:
    """Return the helper of this process, or None."""
    return _helper if _helper is not None and _helper.owner == os.getpid() else None
