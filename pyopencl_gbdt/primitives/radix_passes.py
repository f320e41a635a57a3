"""Bind the launches of a radix sort to arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.primitives.checks import ceil_div
from pyopencl_gbdt.primitives.radix_plan import SWEEP_DIGITS, DigitBits, SortPlan

Bind = Callable[..., Launch]


@dataclass(frozen=True)
class Side:
    """The arrays that hold keys and values before or after a pass.

    Attributes
    ----------
    keys : DeviceArray
    values : DeviceArray or None
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
    plan : SortPlan
    bits : DigitBits
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
