"""Merge two quantile summaries: prepared once, then bound to arrays."""

from __future__ import annotations

from pyopencl_gbdt.device import Device, Launch, Variant
from pyopencl_gbdt.primitives.checks import check_apart, check_length
from pyopencl_gbdt.primitives.summary_arrays import MAX_ENTRIES, QuantileSummary, check_summary
from pyopencl_gbdt.primitives.summary_step import SummaryStep


class SummaryMerge(SummaryStep):
    """Merges of summaries with room for so many entries: prepare it once, then bind it.

    Parameters
    ----------
    device : Device
    first_capacity, second_capacity : int
        Their sum is 0..2**32 - 1.
    n_columns : int
        0..2**31 - 1.
    variant : str or Variant, default "auto"

    Raises
    ------
    ParameterError
        If a size is none of the above.

    Notes
    -----
    Scratch: 4 bytes for each entry of the second summary.
    """

    def __init__(
        self,
        device: Device,
        first_capacity: int,
        second_capacity: int,
        n_columns: int,
        *,
        variant: str | Variant = "auto",
    ) -> None:
        first = check_length("first_capacity", first_capacity, MAX_ENTRIES)
        second = check_length("second_capacity", second_capacity, MAX_ENTRIES - first)
        self.capacities = first, second
        super().__init__(device, n_columns, second, "merge", variant)

    def bind(
        self, first: QuantileSummary, second: QuantileSummary, out: QuantileSummary
    ) -> list[Launch]:
        """Bind the kernels to arrays; returns and errors are as for ``Reduce.bind``.

        Parameters
        ----------
        first, second : QuantileSummary of ``n_columns`` and the capacities above
        out : QuantileSummary with room for the entries of both, written; neither of them
        """
        rooms, both = self.capacities, sum(self.capacities)
        check_summary("first", first, self.device, self.n_columns, rooms[0], rooms[0])
        check_summary("second", second, self.device, self.n_columns, rooms[1], rooms[1])
        check_summary("out", out, self.device, self.n_columns, both, MAX_ENTRIES)
        check_apart("out.values", out.values, "first.values", first.values)
        check_apart("out.values", out.values, "second.values", second.values)
        places, n_columns = self._places, self.n_columns
        given = {"places": places, "n_columns": n_columns}
        written = {"out_values": out.values, "out_ranks": out.ranks}
        return [
            self._bind(
                "summary_new", rooms[1] + 1, values=second.values, offsets=second.offsets,
                other_values=first.values, other_offsets=first.offsets, n_columns=n_columns,
                n=rooms[1], is_new=places,
            ),
            *self._scan.bind(places, places),
            *(
                self._bind(
                    "summary_merge", own.capacity, values=own.values, ranks=own.ranks,
                    offsets=own.offsets, other_values=other.values, other_ranks=other.ranks,
                    other_offsets=other.offsets, is_second=is_second, **given, **written,
                )
                for own, other, is_second in ((first, second, 0), (second, first, 1))
            ),
            self._bind(
                "summary_offsets", n_columns + 1, offsets=first.offsets,
                second_offsets=second.offsets, out_offsets=out.offsets, **given,
            ),
        ]  # fmt: skip
