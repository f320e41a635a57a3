"""Compile long programs in helper processes, beside the threads of this one.

NVIDIA's OpenCL compiles one program at a time for the most part, however many threads ask for it:
the programs of a first fit take 4.0 s one after another, 2.5 s by two threads and 2.4 s by ten
(H200). Processes do not wait for each other. A helper takes 0.8 s to start. So helpers start when
a fit opens of whose kind nothing is kept, while this process renders sources and sorts columns.
Then they take the long programs. They end when nothing comes for a while, as each holds a context
of the device. ``PYOPENCL_GBDT_BUILD_AHEAD=off`` does without.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from concurrent.futures import Future
from contextlib import suppress

from pyopencl_gbdt.device import helper_process
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.drivers import first_use
from pyopencl_gbdt.device.helper_process import usable_cores
from pyopencl_gbdt.device.opencl import build_ahead
from pyopencl_gbdt.device.opencl.compile_apart import CompileHelper, CompilerError
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Helpers of a device. Four take 1.2 s to start, side by side; two take 0.85 s (H200).
_N_HELPERS = 2
#: Cores that the process may run on at least: the helpers', and two for threads of its own.
_FEWEST_CORES = 4
#: Memory that a device has at least; a context takes some 0.5 GB.
_FEWEST_BYTES = 8 << 30
#: Characters of a program that is worth a helper. Long ones take 0.4 to 1 s, others 0.1 to 0.4.
_LONG = 36_000
#: Seconds that helpers take to start at most; so long a program waits for them.
_START_SECONDS = 1.2
#: Seconds after which a helper without work ends.
_IDLE_SECONDS = 5.0
#: Compiled first, which loads the compiler.
_EMPTY = "__kernel void load() {}"
#: The helpers of each device, by process and device.
_helpers: dict[tuple[int, str], Helpers] = {}


def start_helpers(caps: Capabilities) -> None:
    """Start the helpers of a device, where they may be; once a process."""
    place = os.getpid(), caps.device_id
    if place not in _helpers and wanted(caps):
        _helpers[place] = Helpers(caps, _N_HELPERS)


def compiled_beside(
    caps: Capabilities, key: str, source: str, options: list[str], template: str
) -> bool:
    """Compile a program by a helper, if it is long and one is ready; the cache has it then.

    Returns
    -------
    bool
        Whether a helper has tried; it stores nothing where the source does not compile.
    """
    helpers = _helpers.get((os.getpid(), caps.device_id))
    if helpers is None or len(source) < _LONG:
        return False
    return helpers.compiled(key, source, options, template)


def wanted(caps: Capabilities) -> bool:
    """Tell whether a device's programs may be compiled by helpers."""
    if os.environ.get(first_use.INSIDE) or build_ahead.is_off() or not helper_process.possible():
        return False
    return usable_cores() >= _FEWEST_CORES and caps.global_bytes >= _FEWEST_BYTES


@dataclass(frozen=True)
class _Job:
    """A program to compile; ``done`` says whether a helper has tried."""

    key: str
    source: str
    options: list[str]
    template: str
    done: Future[bool]


class Helpers:
    """Threads that each have a helper process, which compiles one program at a time."""

    def __init__(self, caps: Capabilities, number: int) -> None:
        self._caps = caps
        self._todo: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._ready = threading.Semaphore(0)  # threads that wait for a program
        self._started = time.monotonic() + _START_SECONDS
        for _ in range(number):
            threading.Thread(target=self._work, daemon=True).start()

    def compiled(self, key: str, source: str, options: list[str], template: str) -> bool:
        """See the function ``compiled_beside``."""
        if not self._ready.acquire(timeout=max(0.0, self._started - time.monotonic())):
            return False
        job = _Job(key, source, options, template, Future())
        self._todo.put(job)
        return job.done.result()

    def _work(self) -> None:
        # no process may start, or the limit of time may be no number: the fit compiles all itself
        with suppress(OSError, CompilerError, ParameterError):
            helper = CompileHelper(self._caps)
            try:
                helper.compile("", _EMPTY, [], "", launches=False)
                while (job := self._next()) is not None:
                    try:
                        self._compile(helper, job)
                    except BaseException:  # whoever waits compiles it
                        job.done.set_result(False)
                        raise
                    job.done.set_result(True)
            finally:
                helper.close()

    def _compile(self, helper: CompileHelper, job: _Job) -> None:
        helper.compile(job.key, job.source, job.options, job.template, launches=False)

    def _next(self) -> _Job | None:
        """Wait for a program; None if none came for a while."""
        self._ready.release()
        while True:
            try:
                return self._todo.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                if self._ready.acquire(blocking=False):  # else a program is about to come
                    return None
