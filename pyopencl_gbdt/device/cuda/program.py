"""Loaded CUDA kernels, and their launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy

from pyopencl_gbdt.device.base import DeviceArray
from pyopencl_gbdt.device.program import BoundKernel, Groups, Launch, Program, array_bytes

#: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: a kernel that needs more has to say so.
_LARGE_LOCAL = 8


class LoadedModule:
    """A module of the driver, which is loaded when its first kernel is asked for.

    Parameters
    ----------
    load : callable
        Waits for the compiler, and returns the module.

    Attributes
    ----------
    functions : dict of str to object
        Its kernels so far.
    """

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load: Callable[[], Any] | None = load
        self._module: Any = None
        self.functions: dict[str, Any] = {}

    def module(self) -> Any:
        """Return the module."""
        if self._module is None:
            assert self._load is not None
            self._module, self._load = self._load(), None  # it knows the device, with its stream
        return self._module


class CudaProgram(Program):
    """A loaded CUDA module, with its kernels by name."""

    place_in_z = "blockIdx.z"

    def __init__(self, device: Any, loaded: LoadedModule, source: str, wg_size: int) -> None:
        self.device = device
        self.loaded, self._functions = loaded, loaded.functions
        self.source = source
        self.wg_size = wg_size

    def function(self, name: str) -> Any:
        """Return a kernel; it is looked up once for all programs of its module."""
        found = self._functions.get(name)
        if found is None:
            module = self.finished(self.loaded.module)
            with self.device.cuda:
                found = module.get_function(name)
                if self.large_local:
                    cupy.cuda.driver.funcSetAttribute(found.ptr, _LARGE_LOCAL, self.large_local)
            self._functions[name] = found
        return found

    def _bind(self, name: str, groups: Groups, args: tuple[Any, ...], n_fits: int = 1) -> Launch:
        return Launch(name, _CudaEnqueue(self, name, groups, args, n_fits))

    def of_source(self, source: str) -> CudaProgram:
        found: CudaProgram = self.device.build_rendered(self.kernel, source, self.wg_size, {})
        found.kernel, found.large_local = self.kernel, self.large_local
        return found


class _CudaEnqueue(BoundKernel):
    """A kernel with its arguments set."""

    def __init__(
        self, program: CudaProgram, name: str, groups: Groups, args: tuple[Any, ...], n_fits: int
    ) -> None:
        super().__init__(program, name, groups, args, n_fits)
        self.device = program.device
        self.kernel, self.local = program.function(name), program.large_local
        self.block = (program.wg_size, 1, 1)
        self.handles: tuple[Any, ...] | None = None  # those of the first launch

    def __call__(self) -> None:
        device = self.device
        if not (self.grid[0] and self.grid[1]):
            return
        device.n_launches += 1
        if device.unsent is not None:
            device.send()
        with device.cuda, device.guarded(f"launching {self.name!r}", self.program):
            if device.profiler is None:
                self._launch()
                return
            with device.timed(self.program.label(self.name), array_bytes(self.args)):
                self._launch()

    def _launch(self) -> None:
        if self.handles is None:
            every = self.args
            self.handles = tuple([a.handle if isinstance(a, DeviceArray) else a for a in every])
        self.kernel(
            self.grid, self.block, self.handles, shared_mem=self.local, stream=self.device.stream
        )
