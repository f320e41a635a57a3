"""What helper processes do: measure facts, compile programs, and compile kernels ahead.

``first_use``, ``compile_apart`` and ``build_ahead`` start them; no module imports this one.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections import deque
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import numpy as np
import pyopencl as cl

from pyopencl_gbdt.device import cache
from pyopencl_gbdt.device.discovery import find, open_device
from pyopencl_gbdt.device.drivers import measured_facts
from pyopencl_gbdt.device.drivers.atomic_facts import FAILED
from pyopencl_gbdt.device.opencl import pocl as pocl_target
from pyopencl_gbdt.device.opencl.build_ahead import END, TURN
from pyopencl_gbdt.device.opencl.source import NO_HEADER, POCL


def measure(device_id: str, names: list[str]) -> None:
    """Measure facts of a device in the helper process; write a line for each to standard output."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # drivers write to standard output, too
    device = open_device(device_id)
    for fact in measured_facts.TABLE:
        if fact.name in names and fact.measure is not None:
            problem = ""
            try:
                answer = fact.measure(device)
            except Exception as error:  # a driver may raise anything
                answer, problem = FAILED, str(error).partition("\n")[0]
            answers.write(json.dumps([fact.name, answer, problem]) + "\n")
            answers.flush()


def compile_programs(device_id: str) -> None:
    """Compile the programs that standard input holds, in the helper process; answer each."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # drivers write to standard output, too
    device = find(device_id).handle
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    dummy = cl.Buffer(context, cl.mem_flags.READ_WRITE, 256)
    for line in _lines():
        key, source, options, kernels = json.loads(line)
        with contextlib.suppress(cl.Error):  # the other process compiles it again for the log
            program = cl.Program(context, source).build(options, cache_dir=False)
            for name, types in kernels:
                _launch(queue, cl.Kernel(program, name), types, dummy)
            binaries = program.get_info(cl.program_info.BINARIES)
            if key and binaries and binaries[0]:
                cache.store(key, binaries[0])
        answers.write("done\n")
        answers.flush()


def _lines() -> Iterator[str]:
    """Yield the lines of standard input; end this process at its end, also while it compiles.

    Standard input ends when the process that asked has ended, so nobody waits for the answer, and
    the folders of kernels may be about to be removed.
    """
    lines: SimpleQueue[str] = SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield lines.get()


def _launch(queue: Any, kernel: Any, types: list[str], dummy: Any) -> None:
    """Launch a kernel with two work-groups in z, in which it returns at once."""
    for index, kind in enumerate(types):
        kernel.set_arg(index, np.zeros((), kind)[()] if kind else dummy)
    ask = cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE
    x = max(1, kernel.get_work_group_info(ask, queue.device)[0])
    with contextlib.suppress(cl.Error):  # it needs more than the device has: not the compiler's
        cl.enqueue_nd_range_kernel(queue, kernel, (x, 1, 2), (x, 1, 1))
        queue.finish()


class BuildOrders:
    """What standard input asks for; a thread reads it.

    Attributes
    ----------
    said_end : bool
        Whether the fit's process said that nothing more comes. Else it was killed.
    """

    def __init__(self) -> None:
        self.todo: deque[tuple[str, list[str], str, list[str]]] = deque()
        self.turned = self.ended = self.said_end = False
        self.changed = threading.Condition()

    def read(self) -> None:
        try:
            for line in sys.stdin:
                message = json.loads(line)
                if message == END:
                    self.said_end = True
                    break
                with self.changed:
                    if message == TURN:
                        self.turned = True
                    else:
                        source, options, kernels = message
                        self.todo.extend((source, options, *kernel) for kernel in kernels)
                    self.changed.notify()
        except ValueError:  # the fit was killed within a message
            pass
        finally:
            with self.changed:
                self.ended = True
                self.changed.notify()

    def next(self) -> tuple[str, list[str], str, list[str]] | None:
        """Return the kernel to compile next, or None if there will be none."""
        with self.changed:
            self.changed.wait_for(lambda: self.todo or self.ended)
            if self.ended:
                return None
            return self.todo.pop() if self.turned else self.todo.popleft()


def compile_kernels(number: int) -> None:
    """Compile the kernels that standard input names, until it ends.

    Parameters
    ----------
    number : int
        The device's number on PoCL's platform.
    """
    orders = BuildOrders()

    def read() -> None:
        orders.read()
        if not orders.said_end:  # the fit was killed: nobody waits for the kernel being compiled
            os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    pocl = next(platform for platform in cl.get_platforms() if platform.name.strip() == POCL)
    device = pocl.get_devices()[number]
    pocl_target.mend(device)
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    # the compiler's library is loaded while nothing is asked for
    cl.Program(context, "__kernel void load() {}").build([NO_HEADER], cache_dir=False)
    built: dict[str, Any] = {}
    while (order := orders.next()) is not None:
        source, options, name, types = order
        if source not in built:
            built[source] = cl.Program(context, source).build(options, cache_dir=False)
        kernel = cl.Kernel(built[source], name)
        for index, kind in enumerate(types):
            kernel.set_arg(index, np.zeros((), kind)[()] if kind else None)
        cl.enqueue_nd_range_kernel(queue, kernel, (1, 1, 2), (1, 1, 1))
        queue.finish()
