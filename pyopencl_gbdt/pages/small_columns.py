"""Sort, cut and encode the columns of small data on the host, beside a device that is a CPU.

    key of each row     3  5  3  8
    sorted keys         3  3  5  8
    their rows          0  2  1  3        equal values by ascending rows, as the kernels sort
    codes              |  0  |  1  |      of these rows

The kernels give the same cut points and codes. But a first fit waits until they are compiled.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import ordered
from pyopencl_gbdt.pages.cuts import NO_KEY, SHARES, CutRule, Cuts, run_begins
from pyopencl_gbdt.pages.together import Cutter
from pyopencl_gbdt.primitives.packed_codes import PackedCodes, code_dtype

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
#: uint8 or uint16.
Codes = npt.NDArray[Any]
#: Values and columns at most. PoCL, ms of one core by the host and by kernels that are compiled:
#: 1 k x 20 1.7 and 1.3, 10 k x 20 5.1 and 4.0. To compile them, a first fit and its helper process
#: take 0.4 s.
MOST_VALUES, MOST_COLUMNS = 1 << 18, 64
_HALF = np.uint32(16)


def sorted_rows(column: F32) -> tuple[npt.NDArray[np.uint32], I64]:
    """Return the sorted keys of a column, and their rows; missing values are last."""
    keys = ordered(column)
    keys[np.isnan(column)] = NO_KEY
    # NumPy sorts 16 bits by their digits: both halves in 0.1 ms, where 10 k keys take 0.5
    rows = np.argsort(keys.astype(np.uint16), kind="stable")
    rows = rows[np.argsort((keys >> _HALF).astype(np.uint16)[rows], kind="stable")]
    return keys[rows], rows


def _share_ends(n_rows: int, most: int, behind: I64 | None = None) -> I64:
    """Return the index behind each bin's last row, as ``cuts.share_end``, of rows that weigh 1.

    ``behind``: for every row, the index behind the last one with the same value; None: all differ.
    """
    place, found = 0, list[int]()
    for left in range(most, 0, -1):
        if place < n_rows:
            place -= (place - n_rows) // left
            place = place if behind is None else behind.item(place - 1)
            found.append(place)
    return np.array(found, np.int64)


#: Columns share them whose bins end between different values.
_even_ends = lru_cache(maxsize=64)(_share_ends)


def bin_ends(keys: npt.NDArray[np.uint32], most: int, rule: CutRule) -> I64:
    """Return the index behind each bin's last row, of the sorted keys of all present values."""
    begins = run_begins(keys)
    ends = np.append(begins[1:], keys.size)[: begins.size]
    rows = ends - begins
    if rule is not SHARES or ends.size <= most:
        return np.append(0, ends)[rule.bin_ends(rows, most)]
    behind, even = np.repeat(ends, rows), _even_ends(keys.size, most)
    if (behind[even - 1] == even).all():  # none lies between equal values
        return even
    return _share_ends(keys.size, most, behind)


def cut_small(own: Cutter) -> tuple[Cuts, Codes] | None:
    """Return the cut points of a quantiser's columns, and codes by feature; None if kernels do."""
    device, values = own.device, own.values
    if not (device.works_in_place and device.holds_memory and device.room is None):
        return None
    if own.weighted or not own.exact or own.cut.size < own.n_features:
        return None
    if not isinstance(values, np.ndarray) or values.size > MOST_VALUES:
        return None
    return None if own.n_features > MOST_COLUMNS else cut_and_encode(values, own.max_bin, own.rule)


def cut_and_encode(values: F32, max_bin: int, rule: CutRule) -> tuple[Cuts, Codes]:
    """Return the cut points of all columns, and the codes by feature.

    Parameters
    ----------
    values : float32 array, shape (n_rows, n_features)
        NaN is missing.

    Returns
    -------
    Cuts
    uint8 or uint16 array, shape (n_features, n_rows)
        Missing values have the code after the feature's bins.
    """
    n_rows, n_features = values.shape
    cuts = Cuts.none(np.zeros(n_features, np.bool_), max_bin)
    codes = np.empty((n_features, n_rows), np.uint16)
    for feature, column in enumerate(np.ascontiguousarray(values.T)):
        keys, order = sorted_rows(column)
        present = int(keys.searchsorted(NO_KEY))
        cuts.missing[feature] = some_missing = present < n_rows
        ends = bin_ends(keys[:present], rule.most_bins(max_bin, some_missing=some_missing), rule)
        rows = np.diff(ends, prepend=0, append=n_rows)
        codes[feature, order] = np.repeat(np.arange(rows.size, dtype=np.uint16), rows)
        if ends.size:
            last, first = column[order[ends - 1]], column[order[ends[:-1]]]
            above = np.append(first, last[-1:])
            fullest = rows[:-1].argmax()
            full = fullest if rows[fullest] > rows[-1] else ends.size
            cuts.put(feature, rule.lower_sides(last, above), above, int(full))
    most = int((cuts.n_bins + cuts.missing).max())
    return cuts, codes.astype(code_dtype(most), copy=False)


def put_codes(packed: PackedCodes, by_feature: Codes) -> None:
    """Write codes of a page's rows by feature, and by row."""
    order, each = packed.order, packed.block_features
    by_row = np.zeros(packed.codes.shape, order.dtype)
    for block, part in enumerate(order.blocks(by_row)):
        own = by_feature[block * each : (block + 1) * each]
        part[:, : len(own)] = own.T
    packed.codes.set(by_row)
    packed.by_feature.set(np.ascontiguousarray(by_feature))
