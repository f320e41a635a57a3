"""What helper processes do: measure facts, and compile programs.

``first_use`` and ``compile_apart`` start them; no module imports this one.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pyopencl as cl

from pyopencl_gbdt.device import cache
from pyopencl_gbdt.device.discovery import find, open_device
from pyopencl_gbdt.device.drivers import measured_facts
from pyopencl_gbdt.device.drivers.atomic_facts import FAILED
from pyopencl_gbdt.device.opencl.source import launch_ahead


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
    """Have the driver compile a kernel: many do at its first launch."""
    ask = cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE
    x = max(1, kernel.get_work_group_info(ask, queue.device)[0])
    with contextlib.suppress(cl.Error):  # it needs more than the device has: not the compiler's
        launch_ahead(queue, kernel, types, dummy, x)
        queue.finish()
