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

_SCALARS = {"u32": np.uint32, "i32": np.int32, "i64": np.int64, "f32": np.float32}


def _struct(members: str) -> np.dtype[np.void]:
    """Return the dtype of a struct, from its members as C lists them."""
    fields: list[tuple[str, type]] = []
    for kind, names in (line.split(maxsplit=1) for line in members.split(";")):
        fields += [(name.strip(), _SCALARS[kind]) for name in names.split(",")]
    return np.dtype(fields, align=True)


#: ``node_t``
NODE = _struct(
    "u32 begin, count, parent, left, feature, bin, split_kind, default_left, depth; "
    "i32 slot, sibling_slot; f32 gain; u32 tree, path, in_order"
)
#: ``bounds_t``
BOUNDS = _struct("f32 lower, upper")
#: ``level_t``
LEVEL = _struct("u32 first, count, row_tasks, hist_tasks")
#: ``score_hi`` of a node without a split; with bounded weights, scores may be negative.
NO_SCORE = -np.finfo(np.float32).max
#: ``candidate_t``
CANDIDATE = _struct("i64 left_g, left_h; f32 score_hi, score_lo; u32 feature, bin_direction")
#: ``scale_t``
SCALE = _struct("i32 g, h; u32 wide; i32 weight_shift; u32 count_bits, least_rows")
#: ``walk_t``
WALK = _struct("u32 left, feature, default_left; f32 number")
#: In ``default_left`` of ``walk_t``: the split is by a set; the bits of ``number`` say where it
#: begins.
WALK_BY_SET = 2
#: In ``default_left`` of ``walk_t``: the bits of ``number`` are the index of the node's mask of
#: cells, see ``templates/prediction/walk_cells.cl.mako``.
WALK_BY_CELL = 4
#: ``step_t``
STEP = _struct("u32 left, place, lefts; f32 value")
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


def c_type(dtype: np.dtype[np.generic]) -> str:
    """Return the name of a scalar dtype in kernels."""
    letter = {"u": "u", "i": "i", "f": "f"}[dtype.kind]
    return f"{letter}{dtype.itemsize * 8}"
