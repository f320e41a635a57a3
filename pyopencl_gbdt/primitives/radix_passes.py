"""The launches of a radix sort, bound to arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.primitives.checks import ceil_div
from pyopencl_gbdt.primitives.radix_plan import SWEEP_DIGITS, Bits, Plan

Bind = Callable[..., Launch]


@dataclass(frozen=True)
class Side:
    """Where keys and values lie before or after a pass.

    Attributes
    ----------
    keys : DeviceArray
    values : DeviceArray or None
    start : int
        The first column's first key; its values are the first ones.
    """

    keys: DeviceArray
    values: DeviceArray | None
    start: int

    def moved(self, other: Side) -> tuple[DeviceArray, ...]:
        """Return the arguments of kernels that move values to the other side, too."""
        if self.values is None or other.values is None:
            return ()
        return self.values, other.values


@dataclass(frozen=True)
class Passes:
    """What is needed to bind the launches of a sort.

    Attributes
    ----------
    plan : Plan
    bits : Bits
    scratch : mapping of str to DeviceArray
        As ``plan`` has it.
    bind : callable
        Of a program: ``bind`` or ``prepare``.
    columns : int
        How many are sorted.
    """

    plan: Plan
    bits: Bits
    scratch: Mapping[str, DeviceArray]
    bind: Bind
    columns: int

    def launches(self, keys: DeviceArray, values: DeviceArray | None, first: int) -> list[Launch]:
        """Return what sorts columns from the first one on, in place."""
        plan, scratch = self.plan, self.scratch
        home = Side(keys, values, first * plan.n)
        away = Side(scratch["keys"], scratch.get("values"), 0)
        if plan.by_columns(self.columns):
            return self._whole_columns(home, away)
        return self._sweeps(home, away) if plan.sweeps else self._chunks(home, away)

    def _whole_columns(self, home: Side, away: Side) -> list[Launch]:
        plan = self.plan
        groups = min(self.columns, away.keys.shape[0])
        sizes = np.uint64(home.start), np.uint64(plan.n), np.uint32(self.columns)
        digits = self.bits.arguments()
        arguments = (home.keys, *sizes, *digits, away.keys, *home.moved(away))
        return [self.bind("radix_columns", groups, *arguments)]

    def _chunks(self, source: Side, target: Side) -> list[Launch]:
        """Three launches a pass: count, scan, scatter."""
        plan, bind, columns = self.plan, self.bind, self.columns
        chunk, groups = plan.chunking(columns)
        counts, in_all = self.scratch["counts"], (np.uint64(plan.n), np.uint64(chunk))
        counters = np.uint32(columns * groups << plan.row.params["radix_bits"])
        launches = []
        for number in range(self.bits.passes):
            sizes = np.uint64(source.start), *in_all, *self.bits.digit(number)
            to = target.keys, np.uint64(target.start), *source.moved(target)
            grid = groups, columns
            launches += [
                bind("radix_count", grid, source.keys, *sizes, counts),
                bind("radix_offsets", 1, counts, counters, self.scratch["total"]),
                bind("radix_scatter", grid, source.keys, *sizes, counts, *to),
            ]
            source, target = target, source
        return launches

    def _sweeps(self, source: Side, target: Side) -> list[Launch]:
        """Count the digits of all passes, then a launch a pass."""
        plan, bind, columns = self.plan, self.bind, self.columns
        state, histogram, tickets = (self.scratch[x] for x in ("state", "histogram", "tickets"))
        used = columns * plan.tiles * SWEEP_DIGITS  # fewer columns than the most use less
        cleared = (state, used), (histogram, histogram.size), (tickets, tickets.size)
        sizes = [part for array, size in cleared for part in (array, np.uint64(size))]
        chunk, groups = plan.chunking(columns)
        n, start = np.uint64(plan.n), np.uint64(source.start)
        digits = self.bits.arguments()
        units = plan.caps.compute_units
        launches = [
            bind("radix_clear", min(8 * units, ceil_div(used, plan.wg_size)), *sizes),
            bind(
                "radix_histogram", (groups, columns),
                *(source.keys, start, n, np.uint64(chunk), *digits, histogram),
            ),
            bind("radix_bases", (self.bits.passes, columns), histogram),
        ]  # fmt: skip
        for number in range(self.bits.passes):
            sizes = [np.uint64(source.start), n, *self.bits.digit(number), np.uint32(number)]
            words = histogram, tickets, state
            to = target.keys, np.uint64(target.start), *source.moved(target)
            grid = plan.tiles, columns
            launches.append(bind("radix_sweep", grid, source.keys, *sizes, *words, *to))
            source, target = target, source
        return launches
