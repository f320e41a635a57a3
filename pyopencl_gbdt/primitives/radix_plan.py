"""Sizes and scratch memory of a radix sort, for each variant, and its launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Capabilities, Device, DeviceArray, Launch, Variant, choose
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.primitives.checks import ceil_div

#: Bits of a digit in the variants that count the digits of all passes at once.
SWEEP_BITS = 8
SWEEP_DIGITS = 1 << SWEEP_BITS

#: Keys of 4 bytes that a work-item takes where there are few.
_FEW_ITEMS = 4
Scratch = Mapping[str, tuple[int | tuple[int, int], npt.DTypeLike]]


@dataclass(frozen=True)
class DigitBits:
    """A range of a key's bits, cut into digits.

    Attributes
    ----------
    begin, end : int
        The first bit, and the last bit + 1; bit 0 is the lowest.
    passes : int
        An even number, so that the sorted keys end in the array they came from.
    step : int
        Bits of a digit; the last digits may have fewer bits, or none.
    """

    begin: int
    end: int
    passes: int
    step: int

    def digit(self, number: int) -> dict[str, int]:
        """Return the kernel arguments for one digit: its shift and its mask."""
        shift = self.begin + number * self.step
        width = max(0, min(self.step, self.end - shift))
        return {"shift": shift if width else self.begin, "mask": (1 << width) - 1}

    def arguments(self) -> dict[str, int]:
        """Return the arguments of kernels that read all digits of a key."""
        return {
            "first_bit": self.begin, "step": self.step, "n_passes": self.passes,
            "keep": (1 << self.end) - 1,
        }  # fmt: skip


def cut_bits(
    begin_bit: object, end_bit: object, dtype: np.dtype[Any], radix_bits: int
) -> DigitBits:
    """Cut a range of bits into an even number of digits of at most ``radix_bits``.

    Raises
    ------
    ParameterError
        If the range is not within the key's bits.
    """
    bits = 8 * dtype.itemsize
    end = _bit("end_bit", bits if end_bit is None else end_bit, 0, bits, dtype)
    begin = _bit("begin_bit", begin_bit, 0, end, dtype)
    passes = 2 * ceil_div(end - begin, 2 * radix_bits)
    return DigitBits(begin, end, passes, ceil_div(end - begin, passes) if passes else 1)


def _bit(name: str, bit: object, least: int, most: int, dtype: np.dtype[Any]) -> int:
    is_number = isinstance(bit, int | np.integer) and not isinstance(bit, bool)
    if not is_number or not least <= bit <= most:  # type: ignore[operator]
        raise ParameterError(
            f"{name}={bit!r}: expected an integer {least}..{most}, as 0 <= begin_bit <= end_bit <= "
            f"{8 * dtype.itemsize} for keys of {dtype.name}; leave both out to sort by all bits"
        )
    return int(bit)  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True)
class SortPlan:
    """Sizes and scratch memory of a sort with a variant, as it was built.

    Attributes
    ----------
    wg_size : int
        Work-items of a work-group.
    n, columns : int
        Keys of a column, and the most columns that are sorted at a time.
    key : dtype
    value : dtype or None
    """

    variant: Variant
    caps: Capabilities
    wg_size: int
    n: int
    columns: int
    key: np.dtype[Any]
    value: np.dtype[Any] | None

    @property
    def sweeps(self) -> bool:
        """Whether a pass is one launch, whose tiles look back for earlier tiles' counts."""
        return sweeps(self.variant)

    @property
    def place(self) -> np.dtype[Any]:
        """The dtype that counts keys."""
        return np.dtype(place_of(self.n * self.columns))

    @property
    def tile(self) -> int:
        """Keys that a work-group takes at a time."""
        n_keys = self.n * self.columns
        return self.wg_size * take(self.variant, self.caps, n_keys, self.key, self.value)

    @property
    def tiles(self) -> int:
        """Tiles of a column."""
        return ceil_div(self.n, self.tile)

    def by_columns(self, columns: int) -> bool:
        """Tell whether each work-group sorts whole columns by itself, without scans.

        It does on a CPU, if there is a column for every core.
        """
        return self.wg_size == 1 and columns >= self.caps.compute_units

    def chunking(self, columns: int) -> tuple[int, int]:
        """Return the keys of a chunk, which are whole tiles, and the chunks of a column."""
        most = max(1, self.variant.params["groups_per_unit"] * self.caps.compute_units // columns)
        chunk = self.tile * max(1, ceil_div(self.tiles, most))
        return min(chunk, max(1, self.n)), ceil_div(self.n, chunk)

    def scratch(self) -> Scratch:
        """Return shape and dtype of each scratch array."""
        columns = self.columns
        arrays: dict[str, tuple[int | tuple[int, int], npt.DTypeLike]] = {}
        if self.sweeps:
            passes = columns * self.key.itemsize
            arrays["state"] = columns * self.tiles * SWEEP_DIGITS, np.uint64
            arrays["histogram"] = 2 * passes * SWEEP_DIGITS, np.uint32
            arrays["tickets"] = passes, np.uint32
        else:
            groups = self.variant.params["groups_per_unit"] * self.caps.compute_units
            groups = min(columns * self.tiles, max(columns, groups))
            arrays["counts"] = groups << self.variant.params["radix_bits"], self.place
            arrays["total"] = 1, self.place
            if self.by_columns(columns):
                columns = min(columns, self.caps.compute_units)
        arrays["keys"] = (columns, self.n), self.key
        if self.value is not None:
            arrays["values"] = (columns, self.n), self.value
        return arrays


def sweeps(variant: Variant) -> bool:
    """Tell whether each pass of a variant is one launch."""
    return variant.template == "radix_onesweep"


def place_of(n_keys: int) -> type[np.unsignedinteger[Any]]:
    """Return the dtype that counts ``n_keys`` keys."""
    return np.uint32 if n_keys < 2**32 else np.uint64


def take(
    variant: Variant,
    caps: Capabilities,
    n_keys: int,
    key: np.dtype[Any],
    value: np.dtype[Any] | None,
) -> int:
    """Return the number of keys that a work-item takes.

    The variant has the number for keys of 4 bytes; of wider keys or values, a work-item takes
    fewer. In work-groups of one work-item the number does not change, as no tile is in local
    memory. Sweeps over fewer tiles than the device has units have smaller ones: these keep more
    units busy, and the compiler, which unrolls loops over keys, takes half the time.
    """
    items, wg_size = variant.params["items"], variant.params["wg_size"]
    if value is not None:  # values need registers too
        items = variant.params.get("items_with_values", items)
    if wg_size == 1:
        return items
    if sweeps(variant) and n_keys < items * wg_size * caps.compute_units:
        items = min(items, _FEW_ITEMS)
    if key.itemsize == 8 and not variant.lookback:
        items //= 2  # otherwise registers spill on Intel's Data Center GPU Max
    return max(1, items * 4 // max(key.itemsize, 0 if value is None else value.itemsize))


def scratch_bytes(
    device: Device,
    n: int,
    columns: int,
    *,
    has_values: bool,
    key_dtype: npt.DTypeLike = np.float32,
    value_dtype: npt.DTypeLike = np.uint32,
) -> int:
    """Return the bytes of a sort's scratch, with the variant that the device uses."""
    variant, caps = choose("radix_sort", device.caps), device.caps
    value = np.dtype(value_dtype) if has_values else None
    wg_size = min(variant.params["wg_size"], caps.max_work_group)
    plan = SortPlan(variant, caps, wg_size, n, columns, np.dtype(key_dtype), value)
    return MemoryPlan.of(plan.scratch()).total_bytes


Bind = Callable[..., Launch]


@dataclass(frozen=True)
class Side:
    """The arrays that hold keys and values before or after a pass.

    Attributes
    ----------
    start : int
        Index of the first column's first key. Its first value is at index 0.
    """

    keys: DeviceArray
    values: DeviceArray | None
    start: int

    def moved(self, other: Side, names: tuple[str, str]) -> dict[str, DeviceArray]:
        """Return the kernel arguments for moving values to the other side, if there are values."""
        if self.values is None or other.values is None:
            return {}
        return dict(zip(names, (self.values, other.values), strict=True))

    def passed(self, other: Side) -> dict[str, Any]:
        """Return the kernel arguments for moving keys and values to the other side."""
        return {
            "all_keys": self.keys, "start": self.start, "all_out_keys": other.keys,
            "out_start": other.start, **self.moved(other, ("all_values", "all_out_values")),
        }  # fmt: skip


@dataclass(frozen=True)
class Passes:
    """Binds the launches of a sort.

    Attributes
    ----------
    scratch : mapping of str to DeviceArray
        The arrays that ``plan`` lists.
    bind : callable
        ``bind`` or ``prepare`` of the program.
    columns : int
        Number of columns to sort.
    """

    plan: SortPlan
    bits: DigitBits
    scratch: Mapping[str, DeviceArray]
    bind: Bind
    columns: int

    def launches(self, keys: DeviceArray, values: DeviceArray | None, first: int) -> list[Launch]:
        """Return the launches that sort the columns from ``first`` on, in place."""
        plan, scratch = self.plan, self.scratch
        home = Side(keys, values, first * plan.n)
        away = Side(scratch["keys"], scratch.get("values"), 0)
        if plan.by_columns(self.columns):
            return self._whole_columns(home, away)
        return self._sweeps(home, away) if plan.sweeps else self._chunks(home, away)

    def _whole_columns(self, home: Side, away: Side) -> list[Launch]:
        plan = self.plan
        groups = min(self.columns, away.keys.shape[0])
        digits = self.bits.arguments()
        keep = digits.pop("keep")
        return [
            self.bind(
                "radix_columns", groups, keys=home.keys, scratch_keys=away.keys, start=home.start,
                n_keys=plan.n, n_columns=self.columns, **digits, keep_bits=keep,
                **home.moved(away, ("values", "scratch_values")),
            )
        ]  # fmt: skip

    def _chunks(self, source: Side, target: Side) -> list[Launch]:
        """Return three launches per pass: count, scan, scatter."""
        plan, bind, columns = self.plan, self.bind, self.columns
        chunk, groups = plan.chunking(columns)
        counts = self.scratch["counts"]
        counters = columns * groups << plan.variant.params["radix_bits"]
        launches = []
        for number in range(self.bits.passes):
            of_pass = {"n": plan.n, "chunk": chunk, **self.bits.digit(number)}
            grid = groups, columns
            launches += [
                bind(
                    "radix_count", grid, keys=source.keys, start=source.start, counts=counts,
                    **of_pass,
                ),
                bind("radix_offsets", 1, counts, counters, self.scratch["total"]),
                bind("radix_scatter", grid, offsets=counts, **source.passed(target), **of_pass),
            ]  # fmt: skip
            source, target = target, source
        return launches

    def _sweeps(self, source: Side, target: Side) -> list[Launch]:
        """Return the launches that count the digits of all passes, and one launch per pass."""
        plan, bind, columns = self.plan, self.bind, self.columns
        state, histogram, tickets = (self.scratch[x] for x in ("state", "histogram", "tickets"))
        used = columns * plan.tiles * SWEEP_DIGITS  # the scratch has room for more columns
        cleared = (state, used), (histogram, histogram.size), (tickets, tickets.size)
        sizes = [part for array_and_size in cleared for part in array_and_size]
        chunk, groups = plan.chunking(columns)
        units = plan.caps.compute_units
        launches = [
            bind("radix_clear", min(8 * units, ceil_div(used, plan.wg_size)), *sizes),
            bind(
                "radix_histogram", (groups, columns), keys=source.keys, start=source.start,
                n=plan.n, chunk=chunk, histogram=histogram, **self.bits.arguments(),
            ),
            bind("radix_bases", (self.bits.passes, columns), histogram),
        ]  # fmt: skip
        for number in range(self.bits.passes):
            launches.append(
                bind(
                    "radix_sweep", (plan.tiles, columns), n=plan.n, histogram=histogram,
                    tickets=tickets, state=state, **{"pass": number}, **self.bits.digit(number),
                    **source.passed(target),
                )
            )  # fmt: skip
            source, target = target, source
        return launches
