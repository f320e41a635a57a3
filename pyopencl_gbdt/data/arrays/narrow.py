"""Convert numbers of any dtype to finite float32; errors name the first invalid value."""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.arrays.containers import CHUNK
from pyopencl_gbdt.data.blurred import Blurred, Sifted, has_large
from pyopencl_gbdt.data.threads import in_threads
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.messages import Source, plural, show

_TROUBLES = {
    "infinite": ("finite numbers{or_nan}", "replace them{by_nan} or drop their rows"),
    "too large": ("numbers that float32 can hold (up to 3.4028235e+38)", "rescale the column"),
    "missing": ("finite numbers, no NaN", "fill them in or drop their rows"),
}


class ValueScan:
    """Search blocks for values that float32 data may not hold; remember the first of each kind.

    ``allow_missing``: whether NaN is allowed.
    ``blurred``: searches for whole numbers that float32 cannot tell apart; None: nothing does.
    """

    def __init__(
        self, source: Source, *, allow_missing: bool = True, blurred: Blurred | None = None
    ) -> None:
        self.source = source
        self.allow_missing = allow_missing
        self.blurred = blurred
        self.count = dict.fromkeys(_TROUBLES, 0)
        self.first: dict[str, tuple[int, int, object]] = {}

    def add(
        self, given: NDArray[Any], narrow: NDArray[np.float32], row: int = 0, column: int = 0
    ) -> None:
        """Search one block: ``given[0, 0]`` is at (row, column), `narrow` is `given` in float32."""
        suspect = np.isinf(narrow) if self.allow_missing else ~np.isfinite(narrow)
        if not suspect.any():
            return
        infinite = np.isinf(given) & suspect  # an infinity that means "missing" is not an error
        masks = {
            "infinite": infinite,
            "too large": np.isinf(narrow) & ~infinite,
            "missing": np.isnan(narrow) & (not self.allow_missing),
        }
        for trouble, mask in masks.items():
            if not mask.any():
                continue
            self.count[trouble] += int(np.count_nonzero(mask))
            block_row, block_column = divmod(int(np.argmax(mask)), mask.shape[1])
            place = (row + block_row, column + block_column, given[block_row, block_column])
            self.first[trouble] = min(self.first.get(trouble, place), place, key=lambda p: p[:2])

    def compare(
        self,
        given: NDArray[Any],
        narrow: NDArray[np.float32],
        column: int = 0,
        starts: Sequence[int] | None = None,
    ) -> None:
        """Search all rows for blurred numbers, or the blocks that begin at ``starts``."""
        if self.blurred is None or not given.size:
            return
        search, columns = self.blurred, np.arange(column, column + given.shape[1])
        step = block_rows(given.shape[1])

        def sift(start: int) -> Sifted | None:
            rows = slice(start, start + step)
            return search.sift(columns, given[rows], narrow[rows])

        search.add_blocks(sift, range(0, len(given), step) if starts is None else starts)

    def finish(self) -> None:
        """Raise `DataError` if anything was found: how many values, the first, and what to do."""
        for trouble, (expected, move) in _TROUBLES.items():
            if self.count[trouble]:
                row, column, value = self.first[trouble]
                words = {"or_nan": "", "by_nan": ""}
                if self.allow_missing:
                    words = {"or_nan": " or NaN (missing)", "by_nan": " by NaN"}
                raise DataError(
                    f"{self.source.name} holds {plural(self.count[trouble], f'{trouble} value')}, "
                    f"the first ({show(value)}) at {self.source.place(row, column)}: "
                    f"expected {expected.format(**words)}; {move.format(**words)}"
                )


def to_float32(
    numeric: NDArray[Any],
    source: Source,
    *,
    allow_missing: bool = True,
    missing: float = float("nan"),
    blurred: Blurred | None = None,
) -> NDArray[np.float32]:
    """Convert to native float32 in C order and check that every value is finite.

    Parameters
    ----------
    numeric : (n_rows, n_columns) array of kind bool, int, uint or float
    allow_missing : bool
        Whether NaN is allowed.
    missing : float
        A number that also means "missing"; it becomes NaN.

    Returns
    -------
    narrow : (n_rows, n_columns) float32 array, C order
        `numeric` itself if it already has this form. Integers above 2**24 are rounded.

    Raises
    ------
    DataError
        A value is infinite, does not fit into float32, or is NaN where that is not allowed.
    """
    n_rows, n_columns = numeric.shape
    flags = numeric.flags
    ready = numeric.dtype == np.float32 and flags.c_contiguous and flags.aligned
    narrow = numeric if ready else np.empty(numeric.shape, np.float32)
    scan = ValueScan(source, allow_missing=allow_missing, blurred=blurred)
    step = block_rows(n_columns)
    if ready and not np.isnan(missing):
        blocks = (numeric[start : start + step] for start in range(0, n_rows, step))
        if any((block == missing).any() for block in blocks):
            ready, narrow = False, np.empty(numeric.shape, np.float32)

    def look(start: int) -> tuple[bool, bool]:
        """Convert a block; tell whether it has a suspect value, and a large one."""
        block = narrow[start : start + step]
        if not ready:
            fill(block, numeric[start : start + step], missing)
        suspect = not (np.isfinite(block).all() or (allow_missing and not np.isinf(block).any()))
        return suspect, blurred is not None and not ready and has_large(block)

    starts, to_compare = range(0, n_rows, step), []
    for start, (suspect, large) in zip(starts, in_threads(look, starts), strict=True):
        if suspect:
            scan.add(numeric[start : start + step], narrow[start : start + step], row=start)
        if large:
            to_compare.append(start)
    scan.compare(numeric, narrow, starts=to_compare)
    scan.finish()
    return narrow


def block_rows(n_columns: int) -> int:
    """Return how many rows of a matrix are checked at a time."""
    return max(1, CHUNK // max(1, n_columns))


def fill(narrow: NDArray[np.float32], given: NDArray[Any], missing: float = float("nan")) -> None:
    """Write `given` into a float32 array; what is too large becomes infinite, without a warning.

    Values equal to `missing`, as given or in float32, become NaN.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        narrow[...] = given
        if not np.isnan(missing):
            rounded = np.float32(missing)
            absent = given == missing
            if np.isfinite(rounded):
                absent |= narrow == rounded
            narrow[absent] = np.nan


def check_missing(missing: Any) -> float:
    """Return the number that means "missing", besides NaN; None becomes NaN.

    Raises
    ------
    ParameterError
        It is not a number.
    """
    if missing is None:
        return float("nan")
    if isinstance(missing, numbers.Real) and not isinstance(missing, bool):
        with contextlib.suppress(OverflowError):
            return float(missing)
    raise ParameterError(
        f"missing={show(missing)}: expected a number, NaN or None; replace other marks in the data"
    )
