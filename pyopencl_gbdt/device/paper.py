"""Stand-ins that plan memory: a device that runs nothing, and a team without other members.

Memory is planned by building: the constructors of a fit run on paper, and ask for what they ask a
real device for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import Array, Device, DeviceArray, Wait
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.given_arrays import as_dtype, as_shape
from pyopencl_gbdt.device.program import Groups, Launch, Program
from pyopencl_gbdt.device.render import Param
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import Stamp
from pyopencl_gbdt.device.timing import nothing
from pyopencl_gbdt.lazy_dataclasses import dataclass

_MOST_BYTES = 1 << 62
#: Takes the arguments of a kernel by name, and sets what the host will read: ``array.handle``.
Answer = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Allocation:
    """An array that a device was asked for; ``name`` is empty for arrays without one."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


def _launched(answer: Answer | None, arguments: Mapping[str, Any], more: Sequence[Any]) -> None:
    """Answer for a kernel; the arguments stay as long as its launch, as those of others do."""
    if answer is not None:
        answer(arguments)


class PaperProgram(Program):
    """Kernels that are never rendered, built or run.

    A launch calls the device's answer to the kernel, if there is one.
    """

    source = ""

    def __init__(self, device: PaperDevice, template: str, wg_size: int) -> None:
        self.device, self.template, self.wg_size = device, template, wg_size

    def bind(self, kernel_name: str, groups: Groups, /, *args: Any, **named: Any) -> Launch:
        answer = self.device.answers.get((self.template, kernel_name))
        return Launch(kernel_name, partial(_launched, answer, named, args))

    prepare = bind

    def _bind(self, name: str, groups: Groups, args: tuple[Any, ...], n_fits: int = 1) -> Launch:
        return self.bind(name, groups, *args)


class PaperDevice(Device):
    """Counts and lists what is allocated; an array that is read holds zeros.

    ``caps``: the device whose memory is planned.

    Attributes
    ----------
    allocations : list of Allocation
        All arrays so far, in order, freed ones too.
    answers : dict of (str, str) to callable
        What a template's kernels would write, by both names, where the host reads it.
    """

    holds_memory = False

    def __init__(self, caps: Capabilities) -> None:
        super().__init__(caps)
        self.allocations: list[Allocation] = []
        self.answers: dict[tuple[str, str], Answer] = {}
        self._alignment, self._begin = super().alignment, 0

    @classmethod
    def like(cls, device: Device, *, has_limits: bool = True) -> PaperDevice:
        """Return a device with the abilities of another one, and as much free memory.

        Without limits it has all the memory that it is asked for.
        """
        found = cls(device.caps if has_limits else _without_limits(device.caps))
        found.borrows, found.works_in_place = device.borrows, device.works_in_place
        found.allocated_bytes = found.peak_bytes = found._begin = device.allocated_bytes
        found._alignment = device.alignment
        return found

    @property
    def asked_bytes(self) -> int:
        """The most bytes that it was asked for at a time; not those of the device it is like."""
        return self.peak_bytes - self._begin

    @property
    def alignment(self) -> int:
        return self._alignment

    def empty(
        self, shape: int | Sequence[int], dtype: npt.DTypeLike, name: str = ""
    ) -> DeviceArray:
        array = super().empty(shape, dtype, name)
        self.allocations.append(Allocation(name, array.shape, array.dtype))
        return array

    def upload(self, values: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> DeviceArray:
        host = np.asarray(values, dtype)  # may repeat one number, which is never copied out
        return self.empty(host.shape, host.dtype)

    def borrow(self, host: Array) -> DeviceArray:
        if not (self.borrows and host.nbytes):
            return self.upload(host)
        return DeviceArray(self, host.shape, host.dtype, None)

    def in_host_memory(self, shape: int | Sequence[int], dtype: npt.DTypeLike) -> DeviceArray:
        return DeviceArray(self, as_shape(shape), as_dtype(dtype), None)

    def write_later(self, array: DeviceArray, host: Array, start_bytes: int) -> Wait:
        return nothing

    def copy(self, source: DeviceArray, target: DeviceArray, start: int) -> None:
        pass

    def read(self, array: DeviceArray) -> Array:
        answered = isinstance(array.handle, np.ndarray)
        return array.handle.copy() if answered else np.zeros(array.shape, array.dtype)

    def read_into(self, array: DeviceArray, host: Array) -> None:
        pass

    def write(self, array: DeviceArray, host: Array, start_bytes: int) -> None:
        pass

    def finish(self) -> None:
        pass

    def _allocate(self, nbytes: int, array: DeviceArray) -> Any:
        return None

    def _clear(self, array: DeviceArray) -> None:
        pass

    def _bytes_of(self, whole: DeviceArray, begin: int, array: DeviceArray) -> Any:
        return None

    def _part(
        self, array: DeviceArray, start_bytes: int, nbytes: int, shape: tuple[int, ...]
    ) -> Any:
        return None

    def _build(self, template: str, wg_size: int, params: dict[str, Param]) -> Program:
        return PaperProgram(self, template, wg_size)


class PaperTeam(Team):
    """A member of a team whose members all give what this one gives."""

    def __init__(self, rank: int, size: int) -> None:
        self._rank, self._size = rank, size

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def size(self) -> int:
        return self._size

    def _exchange(self, stamp: Stamp, value: Any) -> tuple[list[Stamp], list[Any]]:
        return [stamp] * self.size, [value] * self.size


@lru_cache
def _without_limits(caps: Capabilities) -> Capabilities:
    return replace(caps, global_bytes=_MOST_BYTES, max_alloc_bytes=_MOST_BYTES)
