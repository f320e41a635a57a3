"""Copies between host and device that run beside the kernels.

    into the device   |codes 3|rows 3|codes 4|rows 4|
    kernels               |page 2   |page 3 |page 4 |
    out of the device          |rows 2 |rows 3|

Each way has a queue of its own. A *mark* stands for work that was enqueued; copies and kernels can
wait for it on the device, and the host goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.program import Launch
from pyopencl_gbdt.device.timing import nothing
from pyopencl_gbdt.lazy_dataclasses import dataclass

Array = npt.NDArray[np.uint8]
#: ``base.Device`` and ``base.DeviceArray``, which know this module.
Device = Any
DeviceArray = Any
#: Stands for enqueued work; None is work that has run.
Mark = Any


class Transfers:
    """Copies one after the other, without queues of their own; the host waits for each.

    Subclasses, for OpenCL and for CUDA, do not wait.

    Attributes
    ----------
    n_in, n_out : int
        Bytes that were copied to the device, and from it.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.n_in = self.n_out = 0

    def bring(self, array: DeviceArray, host: Array, after: Sequence[Mark]) -> Mark:
        """Enqueue a copy of uint8 host memory to an array's first bytes.

        ``host``: best of ``Device.pinned``; stays alive and unchanged until the mark.
        ``after``: the marks that have to be reached before.
        """
        return self.bring_parts(array, [host], after)

    def bring_parts(
        self, array: DeviceArray, parts: Sequence[Array], after: Sequence[Mark]
    ) -> Mark:
        """Enqueue copies of host arrays to an array's first bytes, one behind the other.

        Parameters and result are those of ``bring``.
        """
        self.device.send()
        waits, start = [mark for mark in after if mark is not None], 0
        for host in parts:
            self._bring(array, host, waits, start)
            waits, start = [], start + host.nbytes  # copies run one after the other
        self.n_in += start
        return self._brought()

    def take(self, array: DeviceArray, host: Array, after: Sequence[Mark]) -> Mark:
        """Enqueue a copy of an array's first bytes to uint8 host memory; see ``bring``."""
        self.n_out += host.nbytes
        self.device.send()
        self._take(array, host, [mark for mark in after if mark is not None])
        return self._taken()

    def write_in_place(
        self, array: DeviceArray, nbytes: int, after: Mark, write: Callable[[Array], None]
    ) -> None:
        """Let a function write an array's first bytes where they lie; the host waits.

        Of devices that share the host's memory (``Device.borrows``); any thread may call it.

        Parameters
        ----------
        after : Mark
            What has to have run before.
        write : callable
            Takes uint8 host memory of so many bytes, and writes all of it.
        """
        raise NotImplementedError(f"{self.device.caps.label} does not share the host's memory")

    def kernels_done(self) -> Mark:
        """Return a mark of all kernels that were enqueued so far."""
        return None

    def kernels_wait(self, mark: Mark) -> None:
        """Let the kernels that are enqueued from now on wait for a mark."""

    def wait(self, mark: Mark) -> None:
        """Let the host wait for a mark."""

    def finish(self) -> None:
        """Let the host wait for all kernels and copies."""
        self.device.finish()

    def _bring(self, array: DeviceArray, host: Array, after: list[Mark], start: int) -> None:
        self.device.write(array, host, start)

    def _take(self, array: DeviceArray, host: Array, after: list[Mark]) -> None:
        self.device.read_into(array, host)

    def _brought(self) -> Mark:
        return None

    def _taken(self) -> Mark:
        return None


@dataclass(frozen=True)
class EarlyCopy:
    """Enqueues a copy of a small array to the host; later work does not delay it."""

    array: DeviceArray
    name: str = "copy to the host"
    _found: list[Any] = field(default_factory=list)

    def __call__(self) -> None:
        device, nbytes = self.array.device, self.array.nbytes
        host = self._found[0] if self._found else device.pinned(nbytes)
        self._found[:] = [host, device.read_later(self.array, host, 0)]

    def values(self) -> npt.NDArray[Any]:
        """Return the array as it was when the copy's turn came; waits for the copy.

        The next copy overwrites the values.
        """
        host, wait = self._found
        wait()
        self._found[1] = nothing  # the parts of a copy are asked for one by one
        values: npt.NDArray[Any] = host.view(self.array.dtype).reshape(self.array.shape)
        return values


@dataclass(frozen=True)
class CopiesInTurn(EarlyCopy):
    """The same, of which several may be under way; ``values`` returns those of one at a time."""

    _waiting: list[list[Any]] = field(default_factory=list)
    _free: list[Any] = field(default_factory=list)

    def __call__(self) -> None:
        device, nbytes = self.array.device, self.array.nbytes
        host = self._free.pop() if self._free else device.pinned(nbytes)
        self._waiting.append([host, device.read_later(self.array, host, 0)])

    @property
    def n_waiting(self) -> int:
        """Copies whose turn has not come."""
        return len(self._waiting)

    def turn(self) -> None:
        """Let ``values`` return the copy that was enqueued first of those that wait."""
        if self._found:
            self._free.append(self._found[0])
        self._found[:] = self._waiting.pop(0)

    def keep_newest(self) -> None:
        """Drop the copies that wait, but for the one that was enqueued last."""
        dropped, self._waiting[:] = self._waiting[:-1], self._waiting[-1:]
        for host, wait in dropped:
            wait()
            self._free.append(host)


@dataclass(frozen=True)
class PartOfCopy:
    """A row of an array that an ``EarlyCopy`` reads, in place of a copy of its own."""

    copy: EarlyCopy
    row: int
    dtype: npt.DTypeLike

    def __call__(self) -> None:
        """Do nothing: the row is read with the others."""

    def values(self) -> npt.NDArray[Any]:
        """Return the row's bytes as an array; waits for the copy."""
        values: npt.NDArray[Any] = self.copy.values()[self.row].view(self.dtype)
        return values


def copy_launch(source: DeviceArray, target: DeviceArray, start: int = 0) -> Launch:
    """Return the launch that copies a whole array into another one, from an element on."""
    return Launch("copy", _Copy(source, target, start))


def clear_launch(array: DeviceArray) -> Launch:
    """Return the launch that fills an array with zero bytes."""
    return Launch("clear", _Clear(array))


class _Copy:
    """A class, because a traceback would keep a closure's arrays alive."""

    def __init__(self, source: DeviceArray, target: DeviceArray, start: int) -> None:
        self.source, self.target, self.start = source, target, start

    def __call__(self) -> None:
        self.source.device.copy(self.source, self.target, self.start)


class _Clear:
    """As ``_Copy``."""

    def __init__(self, array: DeviceArray) -> None:
        self.array = array

    def __call__(self) -> None:
        self.array.device.clear(self.array)
