"""What rows are encoded by, once for all trees: the distinct thresholds of columns, and sets.

Sets of codes have the form that walks in blocks read; see ``cl_kernels/set_keys.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, staging
from pyopencl_gbdt.device.program import Program
from pyopencl_gbdt.dtypes import VALUE
from pyopencl_gbdt.lazy_dataclasses import dataclass

U32 = npt.NDArray[np.uint32]
#: Most work-groups of a launch; each takes one block of rows after another.
_GROUPS = 4096
#: Above the key of every value.
_ABOVE_ALL = np.uint32(0xFFFFFFFF)
#: In a column's number: its splits are by sets of codes.
OF_SETS = 0x80000000
#: Sets of one feature have the length of its longest one. With more words in all, rows walk alone.
MOST_WORDS = 2**24


@dataclass(frozen=True)
class Borders:
    """Borders of the columns, in arrays for the kernel ``encode``.

    Attributes
    ----------
    begin, steps : uint32 array, shape (n_columns,)
        First border of each column, and the logarithm of one more than its borders.
    borders : uint32 array
        Keys of the columns' distinct thresholds, ascending, then numbers above all keys.
    """

    begin: U32
    steps: U32
    borders: U32

    @property
    def most_codes(self) -> int:
        """Number of codes of the column that has most."""
        return 1 << int(self.steps.max())

    def on(self, device: Device, columns: U32) -> dict[str, DeviceArray]:
        """Return the arrays on a device, and the columns, by their names in kernels."""
        own = {"border_begin": self.begin, "steps": self.steps, "borders": self.borders}
        return {name: device.borrow(array) for name, array in {"columns": columns, **own}.items()}


def borders_of(
    column: npt.NDArray[np.int64], keys: U32, n_columns: int
) -> tuple[Borders, npt.NDArray[np.int64]]:
    """Return the borders of all columns, and the rank of every split's border in its column.

    Parameters
    ----------
    column : int64 array, shape (n_splits,)
        The column that each split asks for.
    keys : uint32 array, shape (n_splits,)
        ``ordered`` thresholds.
    """
    asked, of_split = np.unique(column << 32 | keys.astype(np.int64), return_inverse=True)
    counts = np.bincount(asked >> 32, minlength=n_columns)
    steps = np.array([int(count).bit_length() for count in counts], np.int64)
    sizes: npt.NDArray[Any] = np.left_shift(1, steps) - 1
    begin = np.cumsum(sizes) - sizes
    before = np.cumsum(counts) - counts
    of_border = np.arange(asked.size) - before[asked >> 32]
    borders = np.full(max(1, int(sizes.sum())), _ABOVE_ALL)
    borders[begin[asked >> 32] + of_border] = asked & 0xFFFFFFFF
    made = Borders(begin.astype(np.uint32), steps.astype(np.uint32), borders.astype(np.uint32))
    return made, of_border[of_split]


class EncodedWalk:
    """A walk that encodes a piece of rows by borders, and then adds trees by the rows' codes.

    Parameters
    ----------
    block : int
        Rows of a work-group's block.
    code : dtype
        That of codes.
    n_columns, n_features, n_rows : int
        Columns of codes; features and rows of the data.
    piece_bytes : int
        Most bytes per piece of rows.
    """

    #: The kernel that adds trees.
    kernel: ClassVar[str]
    #: What the kernels read of columns and of trees.
    _of_columns: dict[str, DeviceArray]
    _of_trees: dict[str, DeviceArray]

    def __init__(
        self, device: Device, program: Program, block: int, code: np.dtype[Any], n_columns: int,
        n_features: int, n_rows: int, piece_bytes: int,
    ) -> None:  # fmt: skip
        self.device, self._program, self._block, self._n_columns = device, program, block, n_columns
        each = max(VALUE.itemsize * n_features, code.itemsize * n_columns)
        self.piece_rows = max(1, piece_bytes // each // block) * block
        blocks = -(-min(n_rows, self.piece_rows) // block)
        self._codes = device.empty((blocks, n_columns * block), code)

    def take(self, values: npt.NDArray[np.float32] | DeviceArray) -> None:
        """Encode the next piece of rows, float32 (n_rows, n_features)."""
        there = staging.there(self.device, values)
        n_rows, n_features = there.shape
        self._launch("encode", n_rows, n_features=n_features, values=there, **self._of_columns)

    def add(self, margins: DeviceArray, trees: tuple[int, int]) -> None:
        """Add trees ``trees[0] .. trees[1] - 1`` to the margins of the piece."""
        self._launch(
            self.kernel, margins.size, first_tree=trees[0], n_trees=trees[1] - trees[0],
            margins=margins, **self._of_trees,
        )  # fmt: skip

    def _launch(self, kernel: str, n_rows: int, **arguments: Any) -> None:
        self._program.launch(
            kernel, min(_GROUPS, -(-n_rows // self._block)), n_rows=n_rows,
            n_columns=self._n_columns, codes=self._codes, **arguments,
        )  # fmt: skip


@dataclass(frozen=True)
class SetKeys:
    """Sets of codes: bit 0 sends left, bit 1 right, bit ``2 + code`` sends a level right if set.

    Attributes
    ----------
    begin : uint32 array, shape (n_sets,)
        First word of each set.
    n_codes : uint32 array, shape (n_columns,)
        Codes of a column that have bits in its sets; 0 in columns of numbers.
    """

    words: U32
    begin: U32
    n_codes: U32


def set_keys(columns: U32, sets: Sequence[U32], features: npt.NDArray[np.int64]) -> SetKeys | None:
    """Return the sets of a model's splits; None if they would take too much memory.

    Parameters
    ----------
    columns : uint32 array, shape (n_columns,)
        As in ``PackedTrees``.
    sets : sequence of uint32 array
        The words of each set, as a model has them.
    features : int64 array, shape (n_sets,)
        The feature of each set's split.
    """
    sizes = np.array([words.size for words in sets], np.int64)
    longest = np.zeros(int(features.max(initial=0)) + 1, np.int64)
    np.maximum.at(longest, features, sizes)
    each = longest[features] + 1
    ends = np.cumsum(each)
    if ends.size == 0 or ends[-1] > MOST_WORDS:
        return None
    begin = ends - each
    words = np.zeros(int(ends[-1]), np.uint32)
    at = np.repeat(begin - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
    flat = np.concatenate(list(sets))
    words[at] = flat << np.uint32(2)
    words[at + 1] |= flat >> np.uint32(30)  # no two words of a set meet here
    words[begin] |= np.uint32(2)
    of_sets = columns >= OF_SETS
    n_codes = np.zeros(columns.size, np.int64)
    n_codes[of_sets] = 32 * longest[(columns[of_sets] - OF_SETS) >> 1]
    return SetKeys(words, begin.astype(np.uint32), n_codes.astype(np.uint32))
