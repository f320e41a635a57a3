"""Prediction on a CPU with many trees: rows are encoded once, then their codes walk the trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopencl_gbdt.device import Device, Variant, build_variant
from pyopencl_gbdt.device.program import Program
from pyopencl_gbdt.prediction.borders import EncodedWalk
from pyopencl_gbdt.prediction.code_trees import PackedCodeTrees
from pyopencl_gbdt.prediction.packing import PackedTrees

#: Fewer rows, or fewer steps of a row for each of its columns, walk by keys: to encode a value
#: takes as long as so many steps save.
_LEAST_ROWS, _LEAST_STEPS = 2048, 16


def build(device: Device, code: np.dtype[Any]) -> tuple[Program, int]:
    """Return the program, and the rows of a work-group's block."""

    def made(variant: Variant) -> Program:
        wg_size, rows = variant.params["wg_size"], variant.params["rows"]
        return device.build(
            "predict_codes", wg_size=wg_size, rows=rows, code=f"u{8 * code.itemsize}"
        )

    variant, program = build_variant(device, "predict_codes", "auto", made)
    return program, variant.params["rows"] * program.wg_size


def plan_codes(
    device: Device, trees: PackedTrees, n_rows: int, piece_bytes: int
) -> CodeWalk | None:
    """Return what walks trees by codes; None where walking them by keys is faster, or has to do.

    Parameters
    ----------
    device : Device
    trees : PackedTrees
    n_rows : int
    piece_bytes : int
        Most bytes per piece of rows.
    """
    few = n_rows < _LEAST_ROWS or trees.mean_steps < _LEAST_STEPS * trees.columns.size
    if few or trees.sets is not None or trees.codes is None:
        return None
    codes = trees.codes
    arrays = (codes.tops, codes.ends, codes.ways, codes.borders.borders)
    if max(array.nbytes for array in arrays) > device.caps.max_alloc_bytes:
        return None
    return CodeWalk(device, trees, codes, n_rows, piece_bytes)


class CodeWalk(EncodedWalk):
    """Encodes a piece of rows, then walks the trees in blocks of rows; see the template."""

    kernel = "predict_codes"

    def __init__(
        self,
        device: Device,
        trees: PackedTrees,
        codes: PackedCodeTrees,
        n_rows: int,
        piece_bytes: int,
    ) -> None:
        sizes = trees.columns.size, trees.n_features, n_rows, piece_bytes
        super().__init__(device, *build(device, codes.code), codes.code, *sizes)
        self._of_columns = {
            "columns": device.borrow(trees.columns),
            "border_begin": device.borrow(codes.borders.begin),
            "steps": device.borrow(codes.borders.steps),
            "borders": device.borrow(codes.borders.borders),
        }
        scale = np.array([self._block, 1], np.uint32)
        self._kept = [codes.tops * scale, codes.ways * np.insert(scale, [0, 2], 1)]
        self._of_trees = {
            "tree_begin": device.borrow(trees.begin),
            "shapes": device.borrow(codes.shapes),
            "tops": device.borrow(self._kept[0]),
            "firsts": device.borrow(codes.firsts),
            "ends": device.borrow(codes.ends),
            "ways": device.borrow(self._kept[1]),
        }
