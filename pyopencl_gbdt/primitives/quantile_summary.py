"""Weighted quantile summaries: few values of a column, with bounds of their ranks.

Summaries of parts of the data can be merged, also those of other devices. Greenwald & Khanna,
"Space-efficient online computation of quantile summaries" (2001); Chen & Guestrin, "XGBoost: a
scalable tree boosting system" (2016), appendix A, which adds weights.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant
from pyopencl_gbdt.primitives.checks import (
    check_apart,
    check_array,
    check_length,
    offsets_on_device,
    own_device,
    run,
)
from pyopencl_gbdt.primitives.summary_arrays import (
    MAX_ENTRIES,
    QuantileSummary,
    check_summary,
    own_summary,
)
from pyopencl_gbdt.primitives.summary_build import (
    SummaryBuild,
    SummaryPrune,
    SummaryStep,
    check_parts,
)


class SummaryMerge(SummaryStep):
    """Merges of summaries with room for so many entries: prepare it once, then bind it.

    Parameters
    ----------
    first_capacity, second_capacity : int
        Their sum is 0..2**32 - 1.
    n_columns : int
        0..2**31 - 1.
    variant : str or Variant, default "auto"

    Raises
    ------
    ParameterError
        If a size is not among those above.

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


__all__ = [
    "QuantileSummary",
    "SummaryBuild",
    "SummaryMerge",
    "SummaryPrune",
    "build",
    "cuts",
    "merge",
    "prune",
]


def build(
    values: DeviceArray,
    weights: DeviceArray,
    offsets: DeviceArray | npt.ArrayLike,
    *,
    variant: str | Variant = "auto",
) -> QuantileSummary:
    """Return the exact summary of every column: each distinct value with its ranks, error 0.

    Parameters
    ----------
    values : DeviceArray of float32, n elements
        The columns one after the other, in any order within a column. -0.0 counts as +0.0;
        infinities are values. A NaN is left out.
    weights : DeviceArray of int64, n elements
        Each value's weight. A value is left out if its weight is below 1. A column's must add up
        to less than 2**62; ranks are undefined otherwise.
    offsets : DeviceArray of uint32 or int64, or array_like of integers, n_columns + 1 elements
        Column c is ``offsets[c]..offsets[c + 1] - 1``. Host values are checked; those of a device
        array must ascend from 0 to n.
    variant : str or Variant, default "auto"

    Returns
    -------
    QuantileSummary
        With room for n entries; the host does not wait for it.

    Raises
    ------
    DataError
        If an array is of another device, dtype or size, or host offsets descend or do not cover all
        values.
    ParameterError
        If ``variant`` is unknown.
    """
    device = own_device("values", values)
    check_array("values", values, device, [np.float32])
    check_array("weights", weights, device, [np.int64], values.size)
    ends = offsets_on_device(offsets, device, values.size, cover=True)
    longest = None
    if not isinstance(offsets, DeviceArray):
        longest = int(np.diff(np.asarray(offsets)).max(initial=0))
    prepared = SummaryBuild(
        *(device, values.size, ends.size - 1),
        longest=longest,
        offset_dtype=ends.dtype,
        variant=variant,
    )
    out = QuantileSummary.empty(device, ends.size - 1, values.size)
    run(prepared.bind(values, weights, ends, out))
    return out


def merge(
    first: QuantileSummary, second: QuantileSummary, *, variant: str | Variant = "auto"
) -> QuantileSummary:
    """Return the summary of the data of two summaries.

    It has every value of both, once. Their errors add up: relative to the weight of the data, the
    error is at most the larger one of both. The order of the two does not matter.

    Parameters
    ----------
    first, second : QuantileSummary
        Both have equally many columns. Weights of a column in both add up to less than 2**62.
    variant : str or Variant, default "auto"

    Returns
    -------
    QuantileSummary
        With room for the entries of both; the host does not wait for it.

    Raises
    ------
    DataError
        If one is not a summary, is on another device, or has another number of columns.
    ParameterError
        If there is room for 2**32 entries or more in both, or ``variant`` is unknown.
    """
    own_summary("first", first)
    own_summary("second", second)
    device, n_columns = first.device, first.n_columns
    prepared = SummaryMerge(device, first.capacity, second.capacity, n_columns, variant=variant)
    out = QuantileSummary.empty(device, n_columns, first.capacity + second.capacity)
    run(prepared.bind(first, second, out))
    return out


def prune(
    summary: QuantileSummary, size: int, *, variant: str | Variant = "auto"
) -> QuantileSummary:
    """Return a summary of at most ``size + 1`` entries for each column.

    It keeps the entries of the ranks ``k / size`` of the column's weight, k = 0..size, and so the
    least and the greatest value. This adds at most ``1 / size`` of the column's weight to the
    error. A column with at most ``size + 1`` entries stays as it is.

    The middle of an entry is half of the sum of its two ranks. A rank lies between the middles of
    two neighbouring entries a and b. The first is taken if twice the rank is less than
    ``a.below + a.weight + b.up_to - b.weight``, else the second (Chen & Guestrin 2016, appendix A,
    function g). All are integers, so no rank is rounded.

    Parameters
    ----------
    size : int
        1..2**31 - 2.
    variant : str or Variant, default "auto"

    Returns
    -------
    QuantileSummary
        With room for ``n_columns * (size + 1)`` entries, or as many as before if these are fewer;
        the host does not wait for it.

    Raises
    ------
    DataError
        If ``summary`` is not a summary.
    ParameterError
        If ``size`` is out of range, or ``variant`` is unknown.
    """
    size = check_parts("size", size, 2**31 - 2)
    return _queried(summary, size + 1, size, variant)


def cuts(
    summary: QuantileSummary, max_bin: int, *, variant: str | Variant = "auto"
) -> tuple[DeviceArray, DeviceArray]:
    """Return cut points: the least value of each of at most ``max_bin`` bins of every column.

    Cut point k is the value of rank ``k / max_bin`` of the column's weight, as ``prune`` finds it;
    equal ones are one. Bin k has the values from cut point k up to, and without, the next one. The
    values of a bin other than its least weigh at most ``1 / max_bin`` of the column's weight plus
    the summary's error. Of an exact summary, these are the exact weighted quantiles. A column with
    at most ``max_bin`` entries has a bin for each.

    Parameters
    ----------
    max_bin : int
        1..2**31 - 1.
    variant : str or Variant, default "auto"

    Returns
    -------
    values : DeviceArray of float32
        The columns' cut points one after the other; they ascend in each column.
    offsets : DeviceArray of uint32, n_columns + 1 elements
        Column c has the cut points ``offsets[c]..offsets[c + 1] - 1``. Elements of ``values`` from
        the last offset on are undefined. The host waits for neither array.

    Raises
    ------
    DataError
        If ``summary`` is not a summary.
    ParameterError
        If ``max_bin`` is out of range, or ``variant`` is unknown.
    """
    max_bin = check_parts("max_bin", max_bin)
    kept = _queried(summary, max_bin, max_bin, variant)
    return kept.values, kept.offsets


def _queried(
    summary: QuantileSummary, n_queries: int, parts: int, variant: str | Variant
) -> QuantileSummary:
    """Return the entries of ranks k / parts, k < n_queries."""
    given = own_summary("summary", summary)
    device, n_columns = given.device, given.n_columns
    prepared = SummaryPrune(device, given.capacity, n_columns, n_queries, parts, variant=variant)
    out = QuantileSummary.empty(device, n_columns, prepared.kept)
    run(prepared.bind(given, out))
    return out
