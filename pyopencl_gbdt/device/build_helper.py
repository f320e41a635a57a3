"""The helper process that ``build_ahead`` starts: it compiles the kernels that it is told to."""

from __future__ import annotations

import json
import sys
import threading
from collections import deque
from typing import Any

import numpy as np
import pyopencl as cl

from pyopencl_gbdt.device import pocl_target
from pyopencl_gbdt.device.build_ahead import END, TURN
from pyopencl_gbdt.device.opencl_source import NO_HEADER, POCL


class BuildOrders:
    """What standard input asks for; a thread reads it."""

    def __init__(self) -> None:
        self.todo: deque[tuple[str, list[str], str, list[str]]] = deque()
        self.turned = self.ended = False
        self.changed = threading.Condition()

    def read(self) -> None:
        try:
            for line in sys.stdin:
                message = json.loads(line)
                if message == END:
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


def serve(number: int) -> None:
    """Compile the kernels that standard input names, until it ends.

    Parameters
    ----------
    number : int
        The device's number on PoCL's platform.
    """
    orders = BuildOrders()
    threading.Thread(target=orders.read, daemon=True).start()
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
            kernel.set_arg(index, np.dtype(kind).type(0) if kind else None)
        cl.enqueue_nd_range_kernel(queue, kernel, (1, 1, 2), (1, 1, 1))
        queue.finish()
