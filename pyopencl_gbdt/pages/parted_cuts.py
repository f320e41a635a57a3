"""Cut points of rows that lie in parts, one part with each member of a team.

The cut points are those of one device that has all rows, in the order of ranks, bit for bit. The
rule of ``quantize.cl.mako`` takes bins one after the other, and each depends on the one before. So
every member applies it to what all members know, which are counts of rows in ranges of values:

    all values   |               1000               |      a range holds so many rows
    its parts    |  0 | 20 | 310 | 400 | 250 |20 | 0|      256 of them, added up over the team
    a border lies in here   ^        ^                     only these are divided again

A value is a key of 32 bits, so a range is a single value after four divisions at most. Where few
rows are left, or the columns have few values, members exchange the values themselves.

Devices of one process have all rows, so each cuts some of the columns, and they share the cuts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.batches.rows import BatchedRows, Rows, as_rows
from pyopencl_gbdt.data.budget import available_memory
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import (
    ColumnCuts,
    ColumnsAtATime,
    ColumnTotals,
    DistinctCounts,
    DistinctValues,
    FollowingValues,
    MissingValues,
    RangeCounts,
    WholeWeights,
    ZeroSigns,
)
from pyopencl_gbdt.numerics.portable_math import to_quanta
from pyopencl_gbdt.pages.column_counts import (
    FEW_ROWS,
    PARTS,
    ColumnCounts,
    KeyRange,
    OwnColumns,
    merged,
)
from pyopencl_gbdt.pages.cuts import SHARES, CutRule, Cuts, Ranks, cut_features, layout_of
from pyopencl_gbdt.pages.page import Layout, Page, QuantizedData
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.pages.sources import planned_codes
from pyopencl_gbdt.primitives.packed_codes import bytes_of_codes, code_dtype, empty_codes

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
#: Members send all distinct values of a column where their numbers add up to at most this: 16 bytes
#: each, as much as the counts of two divisions of 256 borders.
FEW_VALUES = 1 << 16
#: Most bytes of keys that a member sorts at a time.
_BLOCK_BYTES = 1 << 28
#: Rows that are looked at at a time.
_ROWS = 1 << 16
#: Most ranges whose counts are added up at a time: 64 MiB of counts.
_MOST_RANGES = 1 << 14


class RankCounts(ColumnCounts):
    """The counts of a column, and bins that begin at the values in which ranks lie; see ``Ranks``.

    Ranks are known as soon as the first and the last value are; until then, the ranges that hold
    these tell about where, so that all ranges are asked for at once. ``_keys`` holds the first key
    of each bin but the first, then the last value's.
    """

    def __init__(self, total: I64, max_bin: int, n_counted: int, rule: CutRule) -> None:
        super().__init__(total, max_bin, n_counted, rule)
        self.every = self.most + 1

    def asked(self) -> list[tuple[int, int]]:
        """Find borders as far as they are known; return the ranges to divide next."""
        asked = super().asked()
        if not asked and self._bits.size <= self.every:
            n = self._first.size
            inner = np.arange(1, min(n, self.most))
            self._begin(np.append(inner, np.arange(n)[-1:]), self._counts[:, 0].cumsum())
        return asked

    def _next_borders(self) -> I64:
        inner = Ranks.inner_ends(self._counts[:, -1].cumsum(), self.most)
        places = np.unique(np.append(inner, [0, self._bits.size - 1]))
        unknown: I64 = places[self._bits[places] > 0]
        if not unknown.size:
            self._begin(np.append(inner, self._bits.size - 1), self._counts[:, 0].cumsum())
        return unknown

    def _begin(self, places: npt.NDArray[np.int_], rows: I64) -> None:
        """Let bins begin at all of these values but the last one, which ends the last bin."""
        self._keys = [int(key) for key in self._first[places]]
        self._rows = [int(rows[place - 1]) for place in places[:-1]] + [int(n) for n in rows[-1:]]

    def without_successor(self) -> U32:
        """Return no keys: thresholds are first values of bins, which are known."""
        return np.zeros(0, np.uint32)

    def sides(self, found: U32) -> tuple[F32, F32]:
        """Return the thresholds and the last value, as both sides."""
        if not self._keys:
            return np.zeros(0, np.float32), np.zeros(0, np.float32)
        values = self.values(np.array(self._keys, np.uint32), first=True)
        values[-1] = self.values(np.array(self._keys[-1:], np.uint32), first=False)[0]
        return values, values


def parted_cuts(
    team: Team,
    values: F32 | Rows,
    weight: F32 | None,
    max_bin: int,
    cut: U32 | None = None,
    rule: CutRule = SHARES,
) -> Cuts:
    """Return the cut points of the rows of all members.

    Parameters
    ----------
    team : Team
        Every member calls this with its own rows; one may have none.
    values : float32 array or Rows, shape (n_rows, n_features), C order
        NaN is missing. Batches are read once for missing values, and once for each block of columns
        whose keys lie in memory together.
    weight : float32 array, shape (n_rows,), or None
        Weights >= 0; either all members with rows have them, or none has.
    max_bin : int
        Most bins for values of a feature, 2..65535; missing values have a code of their own.
    cut : uint32 array or None
        Features to cut into bins, ascending; None is all. The others have no bins.

    Returns
    -------
    Cuts
        The same in all members, and what ``Quantizer.cuts`` returns for the rows of all members.
        Unused elements of ``below`` and ``above`` are 0.

    Notes
    -----
    Waits for the team. ``docs/quantile-summaries.md`` states bytes and number of exchanges.
    """
    rows, in_batches = as_rows(values), isinstance(values, BatchedRows)
    cut = np.arange(rows.shape[1], dtype=np.uint32) if cut is None else cut
    n_rows, n_counted, whole = _whole_weights(team, weight, len(rows))
    cuts = Cuts.none(_missing(team, rows, cut), max_bin)
    for features in _blocks(cut, len(rows), team, in_batches=in_batches):
        own = OwnColumns(_counted(rows, weight, features), whole)
        known = _known(team, own, max_bin, n_counted, rule)
        found = team.exchange(
            FollowingValues, [own.following(c, k.without_successor()) for c, k in enumerate(known)]
        )
        for feature, column, nexts in zip(features, known, zip(*found, strict=True), strict=True):
            cuts.put(feature, *column.sides(np.min(nexts, axis=0)), column.fullest(n_rows))
    return cuts


def _whole_weights(team: Team, weight: F32 | None, n_own: int) -> tuple[int, int, I64 | None]:
    """Return the rows of all members, how many count, and the own ones' weights as integers."""
    counted = weight if weight is None else weight[weight > 0]
    top = None if weight is None or not weight.size else int(np.frexp(weight)[1].max())
    facts = team.exchange(WholeWeights, (n_own, n_own if counted is None else counted.size, top))
    n_rows, n_counted = (sum(numbers) for numbers in list(zip(*facts, strict=True))[:2])
    tops = [fact[2] for fact in facts if fact[2] is not None]
    if not tops:
        return n_rows, n_counted, None
    if counted is None:  # a member without rows
        return n_rows, n_counted, np.zeros(0, np.int64)
    # exact for integer weights, and their sum stays below 2^61
    quanta = to_quanta(counted, 61 - max(tops) - n_rows.bit_length())
    return n_rows, n_counted, np.maximum(quanta, 1)


def _missing(team: Team, rows: Rows, cut: U32) -> npt.NDArray[np.bool_]:
    """Return which of the features to cut have missing values, also in rows of weight 0."""
    found = np.zeros(rows.shape[1], np.int64)
    for _, block in rows.blocks(_ROWS):
        found[cut] |= np.isnan(block[:, cut]).any(axis=0)
    return team.add_up(MissingValues, found) > 0


def _counted(rows: Rows, weight: F32 | None, features: U32) -> F32:
    """Return some columns of the rows that count, shape (n_features, n_counted)."""
    counts = None if weight is None else weight > 0
    n_counted = len(rows) if counts is None else np.count_nonzero(counts)
    end, found = 0, np.empty((features.size, n_counted), np.float32)
    for first, block in rows.blocks(_ROWS):
        own = block if counts is None else block[counts[first : first + len(block)]]
        end, begin = end + len(own), end
        for column, feature in zip(found, features, strict=True):
            column[begin:end] = own[:, feature]
    return found


def _blocks(cut: U32, n_own: int, team: Team, *, in_batches: bool) -> Iterator[U32]:
    """Yield the features that are worked on together: as many as memory allows every member.

    Where batches are read anew for each block, it may take an eighth of the memory that is left.
    """
    at_a_time = min(team.exchange(ColumnsAtATime, _most_columns(n_own, in_batches=in_batches)))
    for first in range(0, cut.size, at_a_time):
        yield cut[first : first + at_a_time]


def _most_columns(n_own: int, *, in_batches: bool) -> int:
    there = available_memory() if in_batches else None
    n_bytes = max(_BLOCK_BYTES, (there or 0) // 8)
    return max(1, n_bytes // (20 * max(n_own, 1)))


def columns_bytes(
    n_own: int,
    n_rows: int,
    n_features: int,
    max_bin: int,
    n_members: int,
    *,
    weighted: bool,
    in_batches: bool,
) -> int:
    """Return the peak bytes of a member's arrays in ``parted_cuts``, beside its values.

    All values are taken to be distinct. NumPy's arrays ask no arena: their numbers were measured
    with ``tracemalloc``, 40 k to 400 k rows of 3 to 40 columns, 1 to 4 members, by two threads.
    With more threads, each has up to 0.4 MB of pieces that are not counted.

    ``n_own``, ``n_rows``: rows of the member, and of all.
    ``weighted``, ``in_batches``: whether rows have weights; whether they come in batches.
    """
    columns = min(n_features, _most_columns(n_own, in_batches=in_batches))
    if n_rows <= FEW_VALUES:  # every member gets all values
        return n_rows * columns * (80 if weighted else 56)
    each = 16 * columns + 4 * n_features + 60 if weighted else 8 * columns + 9
    counts = 8 * PARTS * min(columns * max_bin, _MOST_RANGES)
    counts = int(counts * (1 + weighted / 3) * (1.5 + 0.35 * n_members))
    return max(n_own * each, n_own * columns * (12 if weighted else 4) + counts)


def _known(
    team: Team, own: OwnColumns, max_bin: int, n_counted: int, rule: CutRule
) -> list[ColumnCounts]:
    """Return the columns of a block with all their borders found."""
    columns = range(len(own.keys))
    whole = [KeyRange(column, 0, 32) for column in columns]
    totals = team.add_up(ColumnTotals, own.counts(whole).sum(axis=1))
    few = team.add_up(DistinctCounts, own.distinct()) <= FEW_VALUES
    of_rule = RankCounts if rule.ranked else ColumnCounts
    found = [of_rule(total, max_bin, n_counted, rule) for total in totals]
    while True:
        asked = [KeyRange(c, *at) for c in columns for at in found[c].asked()]
        if not asked:
            break
        is_few = [few[at.column] or found[at.column].rows_in(at.first) <= FEW_ROWS for at in asked]
        _divide(team, own, found, list(compress(asked, [not one for one in is_few])))
        _list(team, own, found, list(compress(asked, is_few)))
        for column in found:
            column.settle()
    zeros = np.array(team.exchange(ZeroSigns, own.zeros))
    for c in columns:
        signs = zeros[:, c][zeros[:, c, 0] > 0]
        if signs.size:
            found[c].zeros = int(signs[0, 0]) == 2, int(signs[-1, 1]) == 2
    return found


def _divide(
    team: Team, own: OwnColumns, found: list[ColumnCounts], asked: Sequence[KeyRange]
) -> None:
    """Divide ranges into parts with the rows of all members."""
    for begin in range(0, len(asked), _MOST_RANGES):
        some = asked[begin : begin + _MOST_RANGES]
        counts = team.add_up(RangeCounts, own.counts(some))
        for at, parts in zip(some, counts, strict=True):
            first = at.first + (np.arange(PARTS) << at.part_bits)
            there = parts[:, 0] > 0
            found[at.column].put(at.first, first[there], at.part_bits, parts[there])


def _list(
    team: Team, own: OwnColumns, found: list[ColumnCounts], asked: Sequence[KeyRange]
) -> None:
    """Divide ranges into the distinct values of all members."""
    if not asked:
        return
    entries = merged(team.exchange(DistinctValues, own.entries(asked)))
    ends = np.searchsorted(entries.places, np.arange(1, len(asked) + 1) << 32)
    begin = 0
    for at, end in zip(asked, ends, strict=True):
        keys = entries.places[begin:end] & 0xFFFFFFFF
        found[at.column].put(at.first, keys, 0, entries.counts[begin:end])
        begin = int(end)


def shared_layout(
    device: Device,
    team: Team,
    data: Dataset,
    max_bin: int,
    shares: Sequence[float],
    *,
    exact: bool = True,
    rule: CutRule = SHARES,
) -> Layout:
    """Return the layout of all rows' codes; every member cuts some of the columns.

    Parameters
    ----------
    team : Team
        Its members are threads of one process.
    shares : sequence of float
        Part of the columns for every member; their sum is 1.
    exact : bool
        Whether bins end at exact quantiles, see ``Quantizer``.
    """
    every = cut_features(data)
    ends = np.rint(np.cumsum(shares) * every.size).astype(np.int64)
    own = np.split(every, ends[:-1])[team.rank]
    codes = max(1, int(shares[team.rank] * data.n_rows))
    most = planned_codes(device, data.rows, max_bin, rule)
    taken = bytes_of_codes(device, codes, data.n_features, most)
    quantizer = Quantizer(
        device, data.rows, data.weight, max_bin, code_bytes=taken, cut=own, exact=exact, rule=rule
    )
    cuts = quantizer.cuts()
    data.end_reading()
    parts = team.exchange(ColumnCuts, (own, cuts))
    return layout_of(_merged(parts), data)


def _merged(parts: Sequence[tuple[npt.NDArray[np.uint32], Cuts]]) -> Cuts:
    """Join the cut points of different columns."""
    first = parts[0][1]
    arrays = {name: array.copy() for name, array in vars(first).items()}
    for columns, cuts in parts[1:]:
        for name, array in arrays.items():
            array[columns] = getattr(cuts, name)[columns]
    return Cuts(**arrays)


def encoded_part(
    data: Dataset, device: Device, layout: Layout, max_bin: int, n_pages: int = 0
) -> QuantizedData:
    """Return rows as codes on a device, given the layout of all rows; there may be no row.

    The data set keeps the result for the next call.
    """
    key = (device.process_key, id(layout), n_pages)  # the result keeps the layout alive
    if data.kept is not None and data.kept[0] == key and isinstance(data.kept[1], QuantizedData):
        return data.kept[1]
    data.forget()  # frees the former codes first
    if data.n_rows:
        most = max(max_bin, layout.most_codes)
        pages = Quantizer(device, data.rows, None, most, n_pages).encode(layout)
    else:
        codes = empty_codes(device, 0, layout.n_features, code_dtype(layout.most_codes))
        pages = [Page(codes, 0, 0)]
    made = QuantizedData(pages, layout)
    data.kept = (key, made)
    return made
