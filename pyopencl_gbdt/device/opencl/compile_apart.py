"""Compile kernels in other processes, with drivers that the library's tests do not run on.

A compiler that crashes would end the program, and one that needs minutes would look as if it hung.
In a helper process both become an error, upon which ``fallback`` takes the next variant. A few
helpers compile side by side: a fit asks for the programs of its rounds before it launches any. A
helper stores the built program in the cache, from which this process loads it. It also launches
each kernel without work: many drivers compile at the first launch, and keep the result on disk.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import re
import subprocess
import threading
from concurrent.futures import Future

from pyopencl_gbdt.device import cache, helper_process
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.drivers import first_use
from pyopencl_gbdt.device.helper_process import usable_cores
from pyopencl_gbdt.device.opencl import build_ahead
from pyopencl_gbdt.device.signature import argument_types
from pyopencl_gbdt.logger import tell

#: Environment variable: seconds after which a program's compilation is given up.
ENVIRONMENT = "PYOPENCL_GBDT_BUILD_SECONDS"
_MOST_SECONDS = 120.0
#: A compilation that takes longer is told of while it lasts.
_LONG_SECONDS = 10.0
_CODE = "from pyopencl_gbdt.device.helpers import compile_programs; compile_programs(sys.argv[2])"
_KERNEL = re.compile(r"(\bKERNEL\(\s*\d+\s*\)\s*\w+\s*\([^()]*\)\s*\{)")
#: Processes that compile side by side at most; each holds a context of the device.
_MOST_HELPERS = 4
#: The pool of each device, by process and device.
_pools: dict[tuple[int, str], Pool] = {}


class CompilerError(Exception):
    """A compiler crashed, or was given up; the text says how and what to do."""


def needed(caps: Capabilities) -> bool:
    """Tell whether a device's kernels are compiled in a helper process."""
    if caps.tested_driver or os.environ.get(first_use.INSIDE) or build_ahead.is_off():
        return False
    return helper_process.possible()


def guarded(source: str) -> str:
    """Return a rendered source whose kernels do nothing in grids of two work-groups in z."""
    return _KERNEL.sub(r"\1 if (get_num_groups(2) == 2) return;", source)


def submit(
    caps: Capabilities, key: str, source: str, options: list[str], template: str
) -> Future[None]:
    """Begin to compile a program that is not in the cache yet; the helper stores it there.

    Errors in the source are left to the caller, who compiles it again for the compiler's log.

    Returns
    -------
    Future
        Its ``result()`` waits. It raises ``CompilerError`` if the compiler crashes or takes too
        long, now or in an earlier process.
    """
    place = os.getpid(), caps.device_id
    if place not in _pools:
        _pools[place] = Pool(caps)
    return _pools[place].submit(key, source, options, template)


class Pool:
    """Threads that each let a helper process compile one program at a time."""

    def __init__(self, caps: Capabilities) -> None:
        self.caps = caps
        self._jobs: dict[str, Future[None]] = {}
        self._todo: queue.Queue[tuple[str, str, list[str], str]] = queue.Queue()
        self._n_threads = 0
        self.helpers: list[CompileHelper] = []

    def submit(self, key: str, source: str, options: list[str], template: str) -> Future[None]:
        """See the function ``submit``."""
        job = self._jobs.get(key)
        if job is None:
            job = self._jobs[key] = Future()
            self._todo.put((key, source, options, template))
            if self._n_threads < min(_MOST_HELPERS, usable_cores()):
                self._n_threads += 1
                threading.Thread(target=self._work, daemon=True).start()
        return job  # by now it may be done

    def _work(self) -> None:
        helper = None
        while True:
            key, source, options, template = self._todo.get()
            mark = f"{key[:32]}.refused"
            try:
                kept = cache.read(mark)
                if kept is not None:
                    text = kept.decode("utf-8", "replace")
                    raise CompilerError(f"{text} (remove {mark} from the cache to try again)")
                if helper is None or not helper.alive:
                    helper = CompileHelper(self.caps)
                    self.helpers.append(helper)
                helper.compile(key, source, options, template)
            except CompilerError as error:
                if helper is not None and kept is None:
                    helper.close()
                    with contextlib.suppress(OSError):
                        cache.write(mark, str(error).encode())
                self._jobs.pop(key).set_exception(error)
            except Exception as error:  # whoever waits for the program raises it
                self._jobs.pop(key).set_exception(error)
            else:
                self._jobs.pop(key).set_result(None)


class CompileHelper:
    """A process that compiles programs for a device."""

    def __init__(self, caps: Capabilities) -> None:
        self.label, self.owner = caps.label, os.getpid()
        self.process = helper_process.start(
            _CODE,
            caps.device_id,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            variables={first_use.INSIDE: "1"},
        )
        self._replies: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        atexit.register(self.close)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._replies.put(line)
        self._replies.put(b"")

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def compile(
        self, key: str, source: str, options: list[str], template: str, *, launches: bool = True
    ) -> None:
        """Compile a program; ``launches`` says whether each kernel is launched once, too.

        Raises
        ------
        CompilerError
        """
        assert self.process.stdin is not None
        kernels = argument_types(source) if launches else []
        message = json.dumps([key, source, options, kernels])
        with contextlib.suppress(OSError):  # it has ended: there will be no reply
            self.process.stdin.write(message.encode() + b"\n")
            self.process.stdin.flush()
        if not self._reply(template):
            code = self.process.wait()
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            raise CompilerError(f"the compiler ends its process {how}")

    def _reply(self, template: str) -> bytes:
        from pyopencl_gbdt.device.team.handshake import seconds

        most = seconds(os.environ.get(ENVIRONMENT) or _MOST_SECONDS, ENVIRONMENT, _MOST_SECONDS)
        first = min(_LONG_SECONDS, most)
        with contextlib.suppress(queue.Empty):
            return self._replies.get(timeout=first)
        if most > first:
            tell(
                f"compiling {template} for {self.label} takes longer than {first:.0f} s; it is "
                f"given up after {most:.0f} ({ENVIRONMENT}), and another variant is used if there "
                "is one"
            )
        try:
            return self._replies.get(timeout=most - first)
        except queue.Empty:
            raise CompilerError(
                f"the compiler takes more than {most:g} s; set {ENVIRONMENT} to wait longer"
            ) from None

    def close(self) -> None:
        """End the process; a compilation that runs is given up."""
        if os.getpid() == self.owner and self.alive:
            self.process.kill()
            self.process.wait()
