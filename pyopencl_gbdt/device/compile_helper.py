"""The helper process that ``compile_apart`` starts: it compiles the programs that it is told to."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

import numpy as np
import pyopencl as cl

from pyopencl_gbdt.device import cache
from pyopencl_gbdt.device.discovery import find


def serve(device_id: str) -> None:
    """Compile the programs that standard input holds, and answer each on standard output."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # drivers write to standard output, too
    device = find(device_id).handle
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    dummy = cl.Buffer(context, cl.mem_flags.READ_WRITE, 256)
    for line in sys.stdin:
        key, source, options, kernels = json.loads(line)
        with contextlib.suppress(cl.Error):  # the other process compiles it again for the log
            program = cl.Program(context, source).build(options, cache_dir=False)
            for name, types in kernels:
                _launch(queue, cl.Kernel(program, name), types, dummy)
            binaries = program.get_info(cl.program_info.BINARIES)
            if binaries and binaries[0]:
                cache.store(key, binaries[0])
        answers.write("done\n")
        answers.flush()


def _launch(queue: Any, kernel: Any, types: list[str], dummy: Any) -> None:
    """Launch a kernel with two work-groups in z, in which it returns at once."""
    for index, kind in enumerate(types):
        kernel.set_arg(index, np.dtype(kind).type(0) if kind else dummy)
    ask = cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE
    x = max(1, kernel.get_work_group_info(ask, queue.device)[0])
    with contextlib.suppress(cl.Error):  # it needs more than the device has: not the compiler's
        cl.enqueue_nd_range_kernel(queue, kernel, (x, 1, 2), (x, 1, 1))
        queue.finish()
