"""Build exact quantile summaries, and keep the entries of some ranks: prepared once, then bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, build_variant_program
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.primitives.checks import (
    C_NAMES,
    OFFSET_DTYPES,
    check_apart,
    check_array,
    check_dtype,
    check_length,
    chunking,
)
from pyopencl_gbdt.primitives.scan import Scan
from pyopencl_gbdt.primitives.segmented_radix_sort import SegmentedRadixSort
from pyopencl_gbdt.primitives.segmented_scan import SegmentedScan
from pyopencl_gbdt.primitives.summary_arrays import (
    MAX_COLUMNS,
    MAX_ENTRIES,
    QuantileSummary,
    check_summary,
)


class SummaryStep:
    """The common part of build, merge and prune: launch by chunks, and scan flags to places."""

    def __init__(
        self,
        device: Device,
        n_columns: int,
        n_flags: int,
        part: str,
        variant: str | Variant,
        offset: str = "u32",
    ) -> None:
        self.device = device
        self.n_columns = check_length("n_columns", n_columns, MAX_COLUMNS)
        built = build_variant_program(device, "quantile_summary", variant, part=part, offset=offset)
        self._variant, self._program = built
        self._places = device.empty(n_flags + 1, np.uint32)
        self._scan = Scan(device, n_flags + 1, np.uint32)

    def _bind(self, kernel: str, n_elements: int, /, **arguments: Any) -> Launch:
        """Bind a kernel whose work-groups have a chunk of ``n_elements``."""
        chunk, groups = chunking(self._variant, self._program.wg_size, n_elements, self.device)
        return self._program.bind(kernel, groups, chunk=chunk, **arguments)


class SummaryBuild(SummaryStep):
    """The exact summaries of ``n_columns`` columns of ``n`` values: prepare it, then bind it.

    Parameters
    ----------
    n : int
        Values of all columns, 0..2**32 - 1.
    n_columns : int
        0..2**31 - 1.
    longest, offset_dtype
        As for ``SegmentedRadixSort``.
    variant : str or Variant, default "auto"

    Raises
    ------
    DataError, ParameterError
        If a dtype or a size is not among those above.

    Notes
    -----
    Scratch: 17 bytes for each value, and that of ``SegmentedRadixSort``.
    """

    def __init__(
        self,
        device: Device,
        n: int,
        n_columns: int,
        *,
        longest: int | None = None,
        offset_dtype: npt.DTypeLike = np.int64,
        variant: str | Variant = "auto",
    ) -> None:
        self.n = check_length("n", n, MAX_ENTRIES)
        self.offset_dtype = check_dtype("offset_dtype", offset_dtype, OFFSET_DTYPES)
        super().__init__(
            *(device, n_columns, self.n, "build", variant), offset=C_NAMES[self.offset_dtype]
        )
        self._sort = SegmentedRadixSort(
            *(device, self.n, self.n_columns, np.float32, np.int64),
            longest=longest,
            offset_dtype=self.offset_dtype,
        )
        self._sums = SegmentedScan(device, self.n, np.int64, inclusive=True)
        self._keys, self._weights = device.empty(n, np.float32), device.empty(n, np.int64)

    def bind(
        self,
        values: DeviceArray,
        weights: DeviceArray,
        offsets: DeviceArray,
        out: QuantileSummary,
    ) -> list[Launch]:
        """Bind the kernels to arrays; returns and errors are as for ``Reduce.bind``.

        Parameters
        ----------
        values : DeviceArray of float32, n elements
        weights : DeviceArray of int64, n elements
        offsets : DeviceArray of ``offset_dtype``, n_columns + 1 elements
            Must ascend from 0 to n; the result is undefined otherwise.
        out : QuantileSummary with room for n entries, written
        """
        n, device = self.n, self.device
        check_array("values", values, device, [np.float32], n)
        check_array("weights", weights, device, [np.int64], n)
        check_array("offsets", offsets, device, [self.offset_dtype], self.n_columns + 1)
        check_summary("out", out, device, self.n_columns, n, MAX_ENTRIES)
        check_apart("out.values", out.values, "values", values)
        keys, sums, places = self._keys, self._weights, self._places
        columns = {"offsets": offsets, "n_columns": self.n_columns}
        bind, ranks = self._bind, out.ranks
        return [
            bind("summary_values", n, values=values, weights=weights, n=n, keys=keys, kept=sums),
            *self._sort.bind(keys, offsets, sums),
            *self._sums.bind_offsets(sums, offsets, sums),
            bind("summary_last", n + 1, keys=keys, n=n, last=places),
            bind("summary_column_ends", self.n_columns, keys=keys, last=places, **columns),
            *self._scan.bind(places, places),
            bind("summary_entries", n, keys=keys, sums=sums, places=places, n=n,
                 values=out.values, ranks=ranks),
            bind("summary_offsets", self.n_columns + 1, places=places, entry_offsets=out.offsets,
                 ranks=ranks, **columns),
            bind("summary_weights", n, entry_offsets=out.offsets, n_columns=self.n_columns,
                 ranks=ranks),
        ]  # fmt: skip


MOST_PARTS = 2**31 - 1


class SummaryPrune(SummaryStep):
    """Entries of given ranks, of summaries with room for ``capacity`` entries.

    Prepare it once, then bind it to arrays. It keeps the entries of the ranks ``k / parts`` of each
    column's weight, for k from 0 to n_queries - 1. A column with at most n_queries entries stays as
    it is.

    Parameters
    ----------
    capacity : int
        0..2**32 - 1.
    n_columns : int
        0..2**31 - 1.
    n_queries, parts : int
        1..2**31 - 1, and n_queries at most parts + 1.
    variant : str or Variant, default "auto"

    Raises
    ------
    ParameterError
        If a size is not among those above.

    Notes
    -----
    Scratch: 4 bytes for each column, and 8 for each entry that can remain (``kept``).
    """

    def __init__(
        self,
        device: Device,
        capacity: int,
        n_columns: int,
        n_queries: int,
        parts: int,
        *,
        variant: str | Variant = "auto",
    ) -> None:
        self.capacity = check_length("capacity", capacity, MAX_ENTRIES)
        columns = check_length("n_columns", n_columns, MAX_COLUMNS)
        self.parts = check_parts("parts", parts)
        self.n_queries = check_parts("n_queries", n_queries, self.parts + 1)
        self.kept = min(self.capacity, columns * self.n_queries)
        super().__init__(device, columns, self.kept, "prune", variant)
        self._slots = device.empty(columns + 1, np.uint32)
        self._scan_slots = Scan(device, columns + 1, np.uint32)
        self._chosen = device.empty(self.kept, np.uint32)

    def bind(self, summary: QuantileSummary, out: QuantileSummary) -> list[Launch]:
        """Bind the kernels to arrays; returns and errors are as for ``Reduce.bind``.

        Parameters
        ----------
        summary : QuantileSummary of ``n_columns`` and ``capacity``
        out : QuantileSummary with room for ``kept`` entries, written; not ``summary``
        """
        check_summary("summary", summary, self.device, self.n_columns, self.capacity, self.capacity)
        check_summary("out", out, self.device, self.n_columns, self.kept, MAX_ENTRIES)
        check_apart("out.values", out.values, "summary.values", summary.values)
        slots, places, chosen = self._slots, self._places, self._chosen
        of_slots = {"slots": slots, "n_columns": self.n_columns}
        queries = {"offsets": summary.offsets, "n_queries": self.n_queries}
        bind, columns = self._bind, self.n_columns
        return [
            bind("summary_rooms", columns + 1, n_columns=columns, rooms=slots, **queries),
            *self._scan_slots.bind(slots, slots),
            bind("summary_choose", self.kept, ranks=summary.ranks, parts=self.parts, chosen=chosen,
                 **of_slots, **queries),
            bind("summary_distinct", self.kept + 1, chosen=chosen, n=self.kept, is_new=places,
                 **of_slots),
            *self._scan.bind(places, places),
            bind("summary_take", self.kept, values=summary.values, ranks=summary.ranks,
                 chosen=chosen, places=places, out_values=out.values, out_ranks=out.ranks,
                 **of_slots),
            bind("summary_offsets", columns + 1, places=places, out_offsets=out.offsets,
                 **of_slots),
        ]  # fmt: skip


def check_parts(name: str, number: object, most: int = MOST_PARTS) -> int:
    """Return ``number`` as an int in ``1..most``; raises ParameterError otherwise."""
    most = min(most, MOST_PARTS)
    integer = isinstance(number, int | np.integer) and not isinstance(number, bool)
    found = int(number) if integer else 0  # type: ignore[call-overload]
    if not 1 <= found <= most:
        raise ParameterError(f"{name}={number!r}: expected an integer 1..{most}; try {name}=256")
    return found
