"""The arrays of one job: its parts ask for them, and they get their memory together.

    constructors    array("pool", ..)   array("nodes", ..)     names, shapes, first contents
    allocate        all of them, if they fit the device; the small ones as one

On a ``PaperDevice`` the same constructors tell what a job takes.

A fit has some 40 small arrays, which lie in one allocation, and whose first contents go up in one
copy. A copy for each took 80 us on PoCL, with the wait for it, and takes 10 to 14 us to enqueue on
a GPU. No two parts overlap: NVIDIA's OpenCL crashed when one of several overlapping parts was
released.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import Device, DeviceArray
from pyopencl_gbdt.device.given_arrays import FirstContents, Place
from pyopencl_gbdt.device.room import MOST_TOGETHER, JobRoom
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Arrays of at most so many bytes are joined.
MOST_BYTES = 64 * 1024

#: Names of arrays, with their shapes and dtypes.
Planned = Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]


def joint_arrays(
    device: Device,
    planned: Planned,
    larger: Planned | None = None,
    room: JobRoom | None = None,
    given: Mapping[str, DeviceArray] | None = None,
) -> dict[str, DeviceArray]:
    """Allocate arrays as parts of one.

    What is set before the device first launches, copies or reads goes up in one copy; see
    ``Device.send``. What is not set is undefined.

    Parameters
    ----------
    planned : mapping of str to (shape, dtype)
    larger : mapping of str to (shape, dtype), or None
        Arrays that lie behind the others, and whose contents go up when they are set.
    room : JobRoom or None
        Where they lie, if they find room there.
    given : mapping of str to DeviceArray, or None
        Arrays of these shapes that get the memory; None makes new ones.
    """
    device.send()  # what an earlier allocation is to hold
    if not planned:
        return {}
    every = {**planned, **(larger or {})}
    begins: dict[str, int] = {}
    n_first = end = 0
    for name, (shape, dtype) in every.items():
        begins[name] = end
        n_bytes = max(1, math.prod(shape) * dtype.itemsize)
        end = -(-(end + n_bytes) // device.alignment) * device.alignment
        n_first = end if name in planned else n_first
    place = None if room is None else room.take(device, end)
    whole, first = place or (device.empty(end, np.uint8, "small arrays"), 0)
    contents = FirstContents(n_first, first)
    arrays: dict[str, DeviceArray] = {}
    for name, (shape, dtype) in every.items():
        if given is None:
            array = device.part(whole, first + begins[name], shape, dtype)
        else:
            array = given[name]
            array.lie_at(whole, first + begins[name])
        arrays[name] = array
        if name in planned:
            array.first_contents = Place(contents, begins[name])
    device.unsent = weakref.ref(whole), contents  # a cycle would keep a failed fit's memory
    return arrays


def uploaded(device: Device, values: Sequence[npt.NDArray[Any]]) -> list[DeviceArray]:
    """Return copies of small host arrays, which go up together."""
    planned = {str(number): (one.shape, one.dtype) for number, one in enumerate(values)}
    arrays = list(joint_arrays(device, planned, room=device.room).values())
    for array, one in zip(arrays, values, strict=True):
        array.set(one)
    return arrays


#: What an array holds at first: values, or a function that fills it. None is anything.
Contents = npt.NDArray[Any] | Sequence[Any] | Callable[[DeviceArray], None] | None


def zeros(array: DeviceArray) -> None:
    """Fill an array with zero bytes; give this function as contents."""
    array.device.clear(array)


@dataclass
class MemoryPlan:
    """Names, shapes and dtypes of the arrays that a job will allocate."""

    arrays: dict[str, tuple[tuple[int, ...], np.dtype[np.generic]]] = field(default_factory=dict)

    @classmethod
    def of(cls, arrays: Mapping[str, tuple[int | Sequence[int], npt.DTypeLike]]) -> MemoryPlan:
        """Return the plan of arrays with these names, shapes and dtypes."""
        found = cls()
        for name, wanted in arrays.items():
            found.add(name, *wanted)
        return found

    def add(self, name: str, shape: int | Sequence[int], dtype: npt.DTypeLike) -> None:
        """Add an array to the plan; each name can be added once."""
        if name in self.arrays:
            raise ValueError(f"array {name!r} is planned twice")
        full = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
        self.arrays[name] = (full, np.dtype(dtype))

    def bytes_of(self, name: str) -> int:
        """Bytes of one array."""
        shape, dtype = self.arrays[name]
        product = 1
        for n in shape:
            product *= n
        return product * dtype.itemsize

    @property
    def total_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(self.bytes_of(name) for name in self.arrays)

    def check(self, device: Device, advice: str) -> None:
        """Raise if the plan does not fit a device; call this before allocating.

        Raises
        ------
        MemoryPlanError
            With the bytes needed, the bytes available and ``advice``, which says what to lower.
        """
        caps = device.caps
        sizes = {name: self.bytes_of(name) for name in self.arrays}
        total, largest = sum(sizes.values()), max(sizes, key=sizes.__getitem__)
        there = caps.global_bytes - device.allocated_bytes
        if total > there:
            raise MemoryPlanError(
                f"training needs {total} bytes on {caps.label}, which has {there} left "
                f"of {caps.global_bytes}; the largest part is {largest!r} with "
                f"{sizes[largest]} bytes; {advice}"
            )
        if sizes[largest] > caps.max_alloc_bytes:
            raise MemoryPlanError(
                f"training needs {sizes[largest]} bytes in one piece for {largest!r} on "
                f"{caps.label}, which allocates {caps.max_alloc_bytes} at most; {advice}"
            )


class Arena:
    """The memory of one job, on a device or on paper.

    Attributes
    ----------
    plan : MemoryPlan
        Every array that was asked for.
    beside : MemoryPlan
        What others will allocate later: it has to fit beside the plan.
    arrays : dict of str to DeviceArray
        The planned arrays; they have no memory before ``allocate``.
    advice : list of str
        What those who ask for arrays say to change where these do not fit: "lower max_bin".
    is_joint : bool
        Whether large arrays lie in the allocation of the small ones, so that launches pass few.
    """

    def __init__(self, device: Device, beside: MemoryPlan | None = None) -> None:
        self.device, self.beside, self.is_joint = device, beside or MemoryPlan(), False
        self.arrays: dict[str, DeviceArray] = {}
        self._begin()

    def _begin(self) -> None:
        self.plan = MemoryPlan()
        self.advice: list[str] = []
        self._contents: dict[str, Contents] = {}
        self._has_memory = False

    def __getitem__(self, name: str) -> DeviceArray:
        return self.arrays[name]

    def arguments(self, *names: str) -> dict[str, DeviceArray]:
        """Return arrays that a kernel calls by the same names."""
        return {name: self.arrays[name] for name in names}

    @property
    def has_memory(self) -> bool:
        """Whether ``allocate`` has run."""
        return self._has_memory

    def array(
        self,
        name: str,
        shape: int | Sequence[int],
        dtype: npt.DTypeLike,
        contents: Contents = None,
    ) -> DeviceArray:
        """Return an array; everybody who asks for a name gets the same one.

        Before ``allocate`` it is a promise: memory and contents come with all others'. Afterwards
        it has both at once, and the contents also if it was there before.

        Raises
        ------
        ValueError
            If the name stands for an array of another shape or dtype.
        """
        full = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
        wanted = full, np.dtype(dtype)
        known = self.plan.arrays.setdefault(name, wanted)
        if known != wanted:
            raise ValueError(f"array {name!r} is {known}, not {wanted}")
        if name not in self.arrays:
            missing = DeviceArray(self.device, *wanted, None)
            there = self.device.empty(*wanted, name) if self._has_memory else missing
            self.arrays[name] = there
        if contents is not None and self.device.holds_memory:
            if self._has_memory:
                _fill(self.arrays[name], contents)
            else:
                self._contents[name] = contents
        return self.arrays[name]

    def forget(self, name: str) -> None:
        """Let a name stand for another array; the memory of the former one is freed."""
        del self.plan.arrays[name], self.arrays[name]
        self._contents.pop(name, None)

    def forget_all(self) -> None:
        """Let go of all arrays, so that others can be asked for."""
        self.arrays.clear()
        self._begin()

    def check(self, advice: str) -> None:
        """Refuse what cannot fit the device, with what others will allocate; see ``MemoryPlan``.

        Raises
        ------
        MemoryPlanError
        """
        MemoryPlan(self.plan.arrays | self.beside.arrays).check(self.device, advice)

    def allocate(self, *, joins: bool) -> None:
        """Give all arrays their memory, then their contents; see ``MemoryPlan.check`` before.

        With ``joins``, small arrays become parts of one allocation, and one copy brings their first
        contents; see ``joint_arrays``. Contents that functions write come after all others.
        """
        planned = self.plan.arrays
        small = [name for name in planned if joins and self.plan.bytes_of(name) <= MOST_BYTES]
        lies = self._lies_together(small)
        large = [name for name in planned if lies and name not in small]
        joint = joint_arrays(
            self.device,
            {name: planned[name] for name in small},
            {name: planned[name] for name in large},
            self.device.room if lies else None,
            self.arrays,
        )
        for name, wanted in planned.items():
            if name not in joint:
                self.arrays[name].lie_in(self.device.empty(*wanted, name))
        self._has_memory = True
        contents, self._contents = self._contents, {}
        for name in sorted(contents, key=lambda name: callable(contents[name])):
            _fill(self.arrays[name], contents[name])

    def _lies_together(self, small: Sequence[str]) -> bool:
        """Tell whether large arrays lie in the allocation of the small ones."""
        most = min(MOST_TOGETHER, self.device.caps.max_alloc_bytes // 2)
        joint = self.is_joint or self.device.room is not None
        return bool(small) and joint and self.plan.total_bytes <= most


class _Renamed(Mapping[str, DeviceArray]):
    """The arrays of an arena, some of them by other names."""

    def __init__(self, arena: RenamedArena) -> None:
        self._arena = arena

    def __getitem__(self, name: str) -> DeviceArray:
        return self._arena[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arena.every.arrays)

    def __len__(self) -> int:
        return len(self._arena.every.arrays)


class RenamedArena(Arena):
    """An arena that keeps some names for itself; other names stand for the arrays of ``every``.

    ``own``: names that stand for arrays of their own; also with what pages add to a name.
    ``suffix``: the end of these arrays' names in ``every``.
    """

    def __init__(self, every: Arena, own: Collection[str], suffix: str) -> None:
        self.every, self.device, self.beside = every, every.device, every.beside
        self._own, self._suffix = frozenset(own), suffix

    def named(self, name: str) -> str:
        """Return an array's name in ``every``."""
        first, space, rest = name.partition(" ")
        return first + self._suffix + space + rest if first in self._own else name

    @property
    def arrays(self) -> Mapping[str, DeviceArray]:  # type: ignore[override]
        """The arrays by the names that are asked for here."""
        return _Renamed(self)

    def __getitem__(self, name: str) -> DeviceArray:
        return self.every[self.named(name)]

    def arguments(self, *names: str) -> dict[str, DeviceArray]:
        """Return arrays that a kernel calls by the same names."""
        return {name: self[name] for name in names}

    @property
    def has_memory(self) -> bool:
        """Whether ``every`` has."""
        return self.every.has_memory

    def array(
        self,
        name: str,
        shape: int | Sequence[int],
        dtype: npt.DTypeLike,
        contents: Contents = None,
    ) -> DeviceArray:
        """Return an array of ``every``, by its name there."""
        return self.every.array(self.named(name), shape, dtype, contents)


def _fill(array: DeviceArray, contents: Contents) -> None:
    if callable(contents):
        contents(array)
    elif contents is not None:
        array.set(contents)
