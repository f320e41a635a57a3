"""Dtypes and structs that host and kernels share, with the reason for each.

``cl_kernels/structs.h`` has the same structs in C, field by field.
"""

from __future__ import annotations

import numpy as np

#: Bytes of a row's codes that a kernel loads at once.
BLOCK_BYTES = 16

#: Feature values, thresholds and margins: float32, as in XGBoost.
VALUE = np.dtype(np.float32)
#: Row ids within a page: up to 4 billion rows, at half the size of 64-bit ids.
ROW = np.dtype(np.uint32)
#: Sums of quanta: exact for any number of rows.
SUM = np.dtype(np.int64)
#: A row's quanta of gradient and Hessian; the few quanta that do not fit have a second word.
QUANTA = np.dtype(np.int32)

#: ``node_t``
NODE = np.dtype(
    [
        ("begin", np.uint32),
        ("count", np.uint32),
        ("parent", np.uint32),
        ("left", np.uint32),
        ("feature", np.uint32),
        ("bin", np.uint32),
        ("split_kind", np.uint32),
        ("default_left", np.uint32),
        ("depth", np.uint32),
        ("slot", np.int32),
        ("sibling_slot", np.int32),
        ("gain", np.float32),
        ("tree", np.uint32),
        ("path", np.uint32),
        ("in_order", np.uint32),
    ],
    align=True,
)
#: ``bounds_t``
BOUNDS = np.dtype([("lower", np.float32), ("upper", np.float32)], align=True)
#: ``level_t``
LEVEL = np.dtype(
    [
        ("first", np.uint32),
        ("count", np.uint32),
        ("row_tasks", np.uint32),
        ("hist_tasks", np.uint32),
    ],
    align=True,
)
#: ``score_hi`` of a node without a split; with bounded weights, scores may be negative.
NO_SCORE = -np.finfo(np.float32).max
#: ``candidate_t``
CANDIDATE = np.dtype(
    [
        ("left_g", np.int64),
        ("left_h", np.int64),
        ("score_hi", np.float32),
        ("score_lo", np.float32),
        ("feature", np.uint32),
        ("bin_direction", np.uint32),
    ],
    align=True,
)
#: ``scale_t``
SCALE = np.dtype(
    [
        ("g", np.int32),
        ("h", np.int32),
        ("wide", np.uint32),
        ("weight_shift", np.int32),
        ("count_bits", np.uint32),
        ("least_rows", np.uint32),
    ],
    align=True,
)
#: ``walk_t``
WALK = np.dtype(
    [
        ("left", np.uint32),
        ("feature", np.uint32),
        ("default_left", np.uint32),
        ("number", np.float32),
    ],
    align=True,
)
#: In ``default_left`` of ``walk_t``: the split is by a set; the bits of ``number`` say where it
#: begins.
WALK_BY_SET = 2
#: In ``default_left`` of ``walk_t``: the bits of ``number`` are the index of the node's mask of
#: cells, see ``templates/prediction/walk_cells.cl.mako``.
WALK_BY_CELL = 4
#: ``step_t``
STEP = np.dtype(
    [
        ("left", np.uint32),
        ("place", np.uint32),
        ("lefts", np.uint32),
        ("value", np.float32),
    ],
    align=True,
)
#: The structs by their names in kernels.
STRUCTS = {
    "node_t": NODE,
    "bounds_t": BOUNDS,
    "level_t": LEVEL,
    "candidate_t": CANDIDATE,
    "scale_t": SCALE,
    "walk_t": WALK,
    "step_t": STEP,
}
#: Arrays of what nodes carry, by node id: ``payload_t`` in ``cl_kernels/gain.h``.
PAYLOAD = ("node_sums", "node_weights", "node_values", "node_bounds")
#: Bytes of a node's sums, and of all that it carries.
SUMS_BYTES = 2 * SUM.itemsize
PAYLOAD_BYTES = SUMS_BYTES + 2 * VALUE.itemsize + BOUNDS.itemsize
#: What is read back of nodes to the host, one array each, in the order of
#: templates/growth/finalize.cl.mako: what a model keeps, and what is counted.
KEPT = {
    name: NODE[name]
    for name in ("tree", "parent", "left", "feature", "bin", "default_left", "split_kind", "count",
                 "sibling_slot", "gain")
} | dict.fromkeys(("weight", "value", "hessian"), VALUE)  # fmt: skip
#: ``NO_NODE``
NO_NODE = np.uint32(0xFFFFFFFF)


def code_dtype(n_codes: int) -> np.dtype[np.uint8] | np.dtype[np.uint16]:
    """Return the smallest dtype of codes ``0 .. n_codes - 1``; bytes halve the memory traffic."""
    return np.dtype(np.uint8) if n_codes <= 256 else np.dtype(np.uint16)


def c_type(dtype: np.dtype[np.generic]) -> str:
    """Return the name of a scalar dtype in kernels."""
    letter = {"u": "u", "i": "i", "f": "f"}[dtype.kind]
    return f"{letter}{dtype.itemsize * 8}"
