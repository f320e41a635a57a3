"""Which rows an estimator holds out of training, to stop or to calibrate by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import DataError

RowIds = npt.NDArray[np.int64]
#: The least number of rows of which a share is held out.
LEAST_ROWS = 10


class NothingHeldOutError(Exception):
    """Raised where no rows can be held out; the text says why."""


@dataclass(frozen=True)
class HoldOut:
    """How rows are held out.

    Attributes
    ----------
    share : float or int
        Share of the rows, above 0 and below 1; or number of rows.
    classes : bool
        Whether labels are codes of classes, whose shares are kept.
    in_time : bool
        Whether the last rows are held out.
    groups : array-like, shape (n_rows,), or None
        Rows of a group stay together.
    seed : int
        For ``numpy.random.RandomState``, whose numbers are the same in all NumPy versions.
    """

    share: float | int
    classes: bool = False
    in_time: bool = False
    groups: Any = None
    seed: int = 0

    def divide(self, data: Dataset) -> tuple[RowIds, RowIds]:
        """Return the rows to train on and the rows held out, both ascending.

        Queries and groups stay together. Of a class with a single row none is held out.

        Raises
        ------
        NothingHeldOutError
            If there are too few rows, one class, one query or one group.
        DataError
            If ``groups`` has not an entry for each row.
        """
        n_rows = data.n_rows
        units = self._units(data)
        wanted = self.share if isinstance(self.share, int) else _ceil(self.share, n_rows)
        if n_rows < LEAST_ROWS or wanted >= n_rows:
            raise NothingHeldOutError(f"{n_rows} rows are too few to hold out {wanted}")
        if units is not None:
            what, of_row = units
            return _whole_units(what, of_row, wanted, self._order)
        if self.in_time:
            return np.arange(n_rows - wanted), np.arange(n_rows - wanted, n_rows)
        if self.classes:
            held = _by_class(data.label.astype(np.int64), wanted, self._order)
        else:
            held = self._order(n_rows)[:wanted]
        return _without(held, n_rows)

    def _units(self, data: Dataset) -> tuple[str, RowIds] | None:
        """Return what rows belong to, in words, and which one each row belongs to."""
        if data.group_offsets is not None:
            sizes = np.diff(data.group_offsets)
            return "query", np.repeat(np.arange(sizes.size), sizes)
        if self.groups is None:
            return None
        given = np.asarray(self.groups)
        if given.shape != (data.n_rows,):
            raise DataError(
                f"groups of shape {given.shape}: expected ({data.n_rows},), an entry for each row; "
                "give the group of every row of X"
            )
        _, first, codes = np.unique(given, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))  # numbered in order of first occurrence
        return "group", rank[codes.reshape(-1)].astype(np.int64)

    def _order(self, n: int) -> RowIds:
        """Return 0 to n - 1 in the order in which they are held out."""
        if self.in_time:
            return np.arange(n)[::-1].astype(np.int64)
        return np.random.RandomState(self.seed).permutation(n).astype(np.int64)


def _ceil(share: float, n_rows: int) -> int:
    """Return the least whole number that is not below the product, as scikit-learn has it."""
    return int(np.ceil(share * n_rows))


def _whole_units(
    what: str, of_row: RowIds, wanted: int, order: Callable[[int], RowIds]
) -> tuple[RowIds, RowIds]:
    """Hold out whole queries or groups until they have the rows wanted; one stays at least."""
    sizes = np.bincount(of_row)
    if sizes.size < 2:
        raise NothingHeldOutError(f"all rows are of one {what}")
    chosen = order(sizes.size)[:-1]
    enough = int(np.searchsorted(np.cumsum(sizes[chosen]), wanted)) + 1
    held = np.isin(of_row, chosen[:enough])
    return np.flatnonzero(~held), np.flatnonzero(held)


def _by_class(codes: RowIds, wanted: int, order: Callable[[int], RowIds]) -> RowIds:
    """Return rows such that each class has its share of them, by largest remainders."""
    counts = np.bincount(codes)
    if np.count_nonzero(counts) < 2:
        raise NothingHeldOutError("all rows are of one class")
    shares, rest = np.divmod(counts * wanted, codes.size)
    most = np.argsort(-rest, kind="stable")[: wanted - int(shares.sum())]
    shares[most] += 1
    shares = np.minimum(shares, np.maximum(counts - 1, 0))
    if not shares.any():
        raise NothingHeldOutError("no class has two rows")
    rows = order(codes.size)
    return np.concatenate([rows[codes[rows] == code][:n] for code, n in enumerate(shares)])


def _without(held: RowIds, n_rows: int) -> tuple[RowIds, RowIds]:
    is_held = np.zeros(n_rows, bool)
    is_held[held] = True
    return np.flatnonzero(~is_held), np.flatnonzero(is_held)


def divided(data: Dataset, division: HoldOut) -> tuple[Dataset, Dataset]:
    """Return the data sets to train on and held out."""
    rest, held = division.divide(data)
    return data.slice(rest), data.slice(held)
