"""The helper process of ``build_ahead``: compile kernels by PoCL, until standard input ends.

It calls OpenCL's loader itself: pyopencl and NumPy would take four times as long to import as the
rest of the process takes to start. No module imports this one.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
from collections import deque
from collections.abc import Sequence
from ctypes import c_size_t, c_uint, c_uint64, c_void_p
from types import SimpleNamespace

from pyopencl_gbdt.device.opencl.loader import ALL, Loader
from pyopencl_gbdt.device.opencl.pocl import LOAD, NO_HEADER, POCL, mend

#: A kernel to compile: the number of its program, negative if it is not planned; the program's
#: source and options; the kernel's name, and the NumPy types of its arguments, empty for arrays.
Order = tuple[int, str, str, str, Sequence[str]]


class BuildOrders:
    """What standard input asks for; a thread reads it.

    Attributes
    ----------
    said_end : bool
        Whether the fit's process said that nothing more comes. Else it was killed.
    """

    def __init__(self) -> None:
        self.planned: deque[Order] = deque()
        self.others: deque[Order] = deque()
        self.ended = self.said_end = False
        self.changed = threading.Condition()

    def read(self) -> None:
        try:
            for line in sys.stdin:
                message = json.loads(line)
                if message is None:  # a forked process may keep the pipe open
                    self.said_end = True
                    break
                number, source, options, kernels = message
                with self.changed:
                    todo = self.planned if number >= 0 else self.others
                    todo += [(number, source, options, *kernel) for kernel in kernels]
                    self.changed.notify()
        except ValueError:  # the fit was killed within a message
            pass
        finally:
            with self.changed:
                self.ended = True
                self.changed.notify()

    def next(self) -> Order | None:
        """Return the kernel to compile next, or None if there will be none.

        Programs that were not planned are launched in the order in which they come: the last one
        is next.
        """
        with self.changed:
            self.changed.wait_for(lambda: self.planned or self.others or self.ended)
            if self.ended:
                return None
            return self.planned.popleft() if self.planned else self.others.pop()


class Compiler:
    """PoCL's compiler for one device.

    ``library``: a file that is linked to OpenCL's loader.
    ``number``: the device's number on PoCL's platform.
    """

    def __init__(self, library: str, number: int) -> None:
        self._opencl = opencl = Loader(library)
        platforms = [one for one in opencl.platforms() if opencl.name(one).strip() == POCL]
        self._device = opencl.devices(platforms[0], ALL)[number]
        mend(SimpleNamespace(int_ptr=self._device.value, version=opencl.version(self._device)))
        self._context = opencl.context(self._device)
        queue = self._context, self._device, c_uint64(0)
        self._queue = opencl.made("clCreateCommandQueue", *queue)
        self._programs: dict[str, c_void_p] = {}

    def build(self, source: str, options: str) -> c_void_p:
        """Return a built program; each is built once."""
        if source not in self._programs:
            built = self._opencl.build(self._context, self._device, source, options)
            self._programs[source] = built
        return self._programs[source]

    def compile(self, source: str, options: str, name: str, types: Sequence[str]) -> None:
        """Launch a kernel with two work-groups in z, in which it returns at once."""
        call, program = self._opencl.call, self.build(source, options)
        kernel = self._opencl.made("clCreateKernel", program, name.encode())
        for index, kind in enumerate(types):
            n_bytes = int(kind[2:]) if kind else ctypes.sizeof(c_void_p)
            call("clSetKernelArg", kernel, c_uint(index), c_size_t(n_bytes), bytes(n_bytes))
        grid, group, none = (
            (c_size_t * 3)(1, 1, 2),
            (c_size_t * 3)(1, 1, 1),
            (c_uint(0), None, None),
        )
        call("clEnqueueNDRangeKernel", self._queue, kernel, c_uint(3), None, grid, group, *none)
        call("clFinish", self._queue)


def compile_kernels(library: str, number: int) -> None:
    """Compile the kernels that standard input names; answer each by its program's number."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # drivers write to standard output, too
    orders = BuildOrders()

    def read() -> None:
        orders.read()
        if not orders.said_end:  # the fit was killed: nobody waits for the kernel being compiled
            os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    compiler = Compiler(library, number)
    compiler.build(LOAD, NO_HEADER)  # the compiler's library is loaded while nothing is asked for
    while (order := orders.next()) is not None:
        compiler.compile(*order[1:])
        answers.write(f"{order[0]}\n")
        answers.flush()
