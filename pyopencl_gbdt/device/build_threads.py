"""Build several programs at a time, in threads of this process.

NVIDIA's compilers work side by side in one process. The programs of a first fit, H200: NVRTC 3.2 s
one after another, 1.5 by three threads, 1.15 by nine; OpenCL 4.5, 2.8 and 2.6. A new process with
empty caches took 2.9 to 3.2 s through CUDA, and takes 1.6 to 1.8; through OpenCL 3.4 to 3.8, and
3.1 to 3.5. A process of its own would take 2 s to open the device. PoCL crashes when threads build.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from pyopencl_gbdt.device.helper_process import usable_cores

T = TypeVar("T")

#: ``off`` builds NVIDIA's programs one after the other, for comparison.
ENVIRONMENT = "PYOPENCL_GBDT_BUILD_THREADS"
#: Threads that build at most: a first fit has about ten programs.
_MOST = 8
#: The threads of each process.
_pools: dict[int, ThreadPoolExecutor] = {}
#: Builds that have not ended, by their keys.
_begun: dict[Hashable, Future[Any]] = {}
#: Templates whose programs wait, of each thread.
_own = threading.local()


def wanted() -> bool:
    """Tell whether threads build: where a second core is free for it."""
    return os.environ.get(ENVIRONMENT, "").strip().lower() != "off" and usable_cores() > 1


def begin(build: Callable[[], T], key: Hashable = None) -> Future[T]:
    """Begin to build a program; ``result()`` waits for it.

    What was begun with the same ``key``, and has not ended, is the same build.
    """
    own = os.getpid()
    begun: Future[T] | None = None if key is None else _begun.get(key)
    if begun is None:
        if own not in _pools:
            _pools[own] = ThreadPoolExecutor(min(_MOST, usable_cores()), "pyopencl_gbdt-build")
        begun = _pools[own].submit(build)
        if key is not None:
            _begun[key] = begun
            begun.add_done_callback(lambda _: _begun.pop(key, None))
    return begun


@contextlib.contextmanager
def waiting(templates: frozenset[str]) -> Iterator[None]:
    """Let programs of some templates wait until it is known whether their kernels are launched."""
    before: frozenset[str] = getattr(_own, "waiting", frozenset())
    _own.waiting = templates
    try:
        yield
    finally:
        _own.waiting = before


def waits(template: str) -> bool:
    """Tell whether a template's program waits."""
    return template in getattr(_own, "waiting", frozenset())
