"""Prediction on a CPU with many trees: rows are encoded once, then their codes walk the trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopencl_gbdt.device import Device, build_variant_program
from pyopencl_gbdt.device.program import Program
from pyopencl_gbdt.prediction.borders import EncodedWalk
from pyopencl_gbdt.prediction.code_trees import PackedCodeTrees
from pyopencl_gbdt.prediction.packing import PackedTrees

#: Fewer rows, or fewer steps of a row for each of its columns, walk by keys: to encode a value
#: takes as long as so many steps save.
_LEAST_ROWS, _LEAST_STEPS = 2048, 16


def build(device: Device, code: np.dtype[Any]) -> tuple[Program, int]:
    """Return the program, and the rows of a work-group's block."""
    own = f"u{8 * code.itemsize}"
    variant, program = build_variant_program(device, "predict_codes", "auto", code=own)
    return program, variant.params["rows"] * program.wg_size


def plan_codes(
    device: Device, trees: PackedTrees, n_rows: int, piece_bytes: int
) -> CodeWalk | None:
    """Return the walk of trees by codes; None where a walk by keys is faster or needed."""
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
        self, device: Device, trees: PackedTrees, codes: PackedCodeTrees, n_rows: int,
        piece_bytes: int,
    ) -> None:  # fmt: skip
        sizes = trees.columns.size, trees.n_features, n_rows, piece_bytes
        super().__init__(device, *build(device, codes.code), codes.code, *sizes)
        self._of_columns = codes.borders.on(device, trees.columns)
        scale = np.array([self._block, 1], np.uint32)
        self._kept = [codes.tops * scale, codes.ways * np.insert(scale, [0, 2], 1)]
        of_trees = {
            "tree_begin": trees.begin, "shapes": codes.shapes, "tops": self._kept[0],
            "firsts": codes.firsts, "ends": codes.ends, "ways": self._kept[1],
        }  # fmt: skip
        self._of_trees = {name: device.borrow(array) for name, array in of_trees.items()}
