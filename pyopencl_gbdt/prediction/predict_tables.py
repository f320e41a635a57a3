"""Prediction with trees that are tables: rows are encoded once, then each tree is one look-up."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, build_variant_program
from pyopencl_gbdt.device.program import Program
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.tables import Table
from pyopencl_gbdt.numerics.portable_math import ordered
from pyopencl_gbdt.prediction.borders import (
    OF_SETS,
    Borders,
    EncodedWalk,
    SetKeys,
    borders_of,
    set_keys,
)
from pyopencl_gbdt.primitives.packed_codes import code_dtype

F32 = npt.NDArray[np.float32]
U32 = npt.NDArray[np.uint32]
#: Fewer rows walk the trees: encoding them takes as long.
_FEW_ROWS = 16
#: Arrays of trees that the kernel reads.
_OF_TREES = ("shapes", "split_columns", "split_borders", "leaves")
#: In ``split_sets``: the split is by a number.
NO_SET = 0xFFFFFFFF


@dataclass(frozen=True)
class PackedTables:
    """All tables of an ensemble, in arrays for kernels.

    Attributes
    ----------
    columns : uint32 array, shape (n_columns,)
        ``2 * feature + (missing goes left)`` of all splits, ascending; those of sets have the bit
        ``OF_SETS``, too.
    borders : Borders
    shapes : uint32 array, shape (n_trees, 3)
        For each tree: its first split, number of splits and first value.
    split_columns : uint32 array, shape (n_splits,)
    split_borders : array of the dtype of codes, shape (n_splits,)
        Index of each split's border in its column.
    leaves : float32 array
        Values of all trees.
    split_sets : uint32 array, shape (n_splits,)
        Where the set of each split begins in ``keys.words``, or ``NO_SET``.
    keys : SetKeys or None
        None if no split is by a set.
    """

    columns: U32
    borders: Borders
    shapes: U32
    split_columns: U32
    split_borders: npt.NDArray[Any]
    leaves: F32
    split_sets: U32
    keys: SetKeys | None = None

    @property
    def code(self) -> np.dtype[np.uint8] | np.dtype[np.uint16]:
        """The smallest dtype of codes."""
        return code_dtype(most_codes(self.borders, self.keys))

    @property
    def index(self) -> np.dtype[np.uint8] | np.dtype[np.uint16]:
        """The smallest dtype of a place in a table."""
        return code_dtype(1 << int(self.shapes[:, 1].max()))


def most_codes(borders: Borders, keys: SetKeys | None) -> int:
    """Return the number of codes of the column that has most."""
    of_sets = 0 if keys is None else 2 + int(keys.n_codes.max())
    return max(borders.most_codes, of_sets)


def pack_tables(tables: list[Table], columns: U32) -> PackedTables | None:
    """Return the arrays of an ensemble's tables; None if codes would take more than 16 bits.

    Parameters
    ----------
    tables : list of Table
        The first output's trees come first.
    columns : uint32 array, shape (n_columns,)
        All columns that splits ask for, ascending; one at least.
    """
    sets = [words for table in tables for words in table.sets]
    by_set = np.array([words.size > 0 for words in sets], np.bool_)
    depths = np.array([table.depth for table in tables], np.int64)
    feature = np.concatenate([table.feature for table in tables]).astype(np.int64)
    default_left = np.concatenate([table.default_left for table in tables])
    keys = ordered(np.concatenate([table.threshold for table in tables]))
    column = np.searchsorted(columns, 2 * feature + default_left + by_set * OF_SETS)
    split_sets, set_bits = np.full(by_set.size, NO_SET, np.uint32), None
    if by_set.any():
        own = [words for words in sets if words.size]
        set_bits = set_keys(columns, own, feature[by_set])
        if set_bits is None:
            return None
        split_sets[by_set] = set_bits.begin
    rank = np.zeros(by_set.size, np.int64)
    found, rank[~by_set] = borders_of(column[~by_set], keys[~by_set], columns.size)
    n_codes = most_codes(found, set_bits)
    if n_codes > 1 << 16:
        return None
    widths = np.left_shift(1, depths)
    shapes = [np.cumsum(depths) - depths, depths, np.cumsum(widths) - widths]
    return PackedTables(
        columns=columns,
        borders=found,
        shapes=np.column_stack(shapes).astype(np.uint32),
        split_columns=column.astype(np.uint32),
        split_borders=rank.astype(code_dtype(n_codes)),
        leaves=np.concatenate([table.values for table in tables]),
        split_sets=split_sets,
        keys=set_bits,
    )


def build(device: Device, tables: PackedTables) -> tuple[Program, int]:
    """Return the program, and the rows of a work-group's block."""
    variant, program = build_variant_program(
        device, "predict_tables", "auto", code=f"u{8 * tables.code.itemsize}",
        index=f"u{8 * tables.index.itemsize}", categories=tables.keys is not None,
    )  # fmt: skip
    return program, variant.params["rows"] * program.wg_size


def plan_tables(
    device: Device, tables: PackedTables | None, n_rows: int, n_features: int, piece_bytes: int
) -> TableWalk | None:
    """Return the sum of tables; None where walking the trees is faster or needed."""
    if tables is None or n_rows < _FEW_ROWS:
        return None
    arrays = (tables.borders.borders, tables.split_columns, tables.leaves)
    if max(array.nbytes for array in arrays) > device.caps.max_alloc_bytes:
        return None
    return TableWalk(device, tables, n_rows, n_features, piece_bytes)


class TableWalk(EncodedWalk):
    """Encodes a piece of rows, then adds one value of each table; see the template."""

    kernel = "predict_tables"

    def __init__(
        self, device: Device, tables: PackedTables, n_rows: int, n_features: int, piece_bytes: int
    ) -> None:
        sizes = tables.columns.size, n_features, n_rows, piece_bytes
        super().__init__(device, *build(device, tables), tables.code, *sizes)
        self._of_columns = tables.borders.on(device, tables.columns)
        self._of_trees = {name: device.borrow(getattr(tables, name)) for name in _OF_TREES}
        if tables.keys is not None:
            self._of_columns["n_codes"] = device.borrow(tables.keys.n_codes)
            self._of_trees["sets"] = device.borrow(tables.keys.words)
            self._of_trees["split_sets"] = device.borrow(tables.split_sets)
