"""Keep the entries of some ranks of quantile summaries: prepared once, then bound to arrays."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Device, Launch, Variant
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.primitives.checks import check_apart, check_length
from pyopencl_gbdt.primitives.scan import Scan
from pyopencl_gbdt.primitives.summary_arrays import (
    MAX_COLUMNS,
    MAX_ENTRIES,
    QuantileSummary,
    check_summary,
)
from pyopencl_gbdt.primitives.summary_build import SummaryStep

MOST_PARTS = 2**31 - 1


class SummaryPrune(SummaryStep):
    """Entries of given ranks, of summaries with room for ``capacity`` entries.

    Prepare it once, then bind it to arrays. It keeps the entries of the ranks ``k / parts`` of each
    column's weight, for k from 0 to n_queries - 1. A column with at most n_queries entries stays as
    it is.

    Parameters
    ----------
    device : Device
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
        If a size is none of the above.

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
