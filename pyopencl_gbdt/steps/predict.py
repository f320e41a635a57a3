"""Margins of rows of raw feature values."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Device, DeviceArray, Launch, build_variant
from pyopencl_gbdt.device.base import Program


def build(device: Device) -> tuple[Program, int]:
    """Return the program and the rows that one of its work-groups takes."""
    row, program = build_variant(
        device,
        "predict",
        "auto",
        lambda row: device.build(
            "predict", wg_size=row.params["wg_size"], items=row.params["items"]
        ),
    )
    return program, row.params["items"] * program.wg_size


def prepare(
    device: Device,
    values: DeviceArray,
    nodes: DeviceArray,
    tree_begin: DeviceArray,
    margins: DeviceArray,
    *,
    trees: tuple[int, int],
    longest: int,
) -> Launch:
    """Return the launch that adds trees to margins, one after the other.

    Parameters
    ----------
    values : DeviceArray of float32, shape (n_rows, n_features)
        NaN is missing.
    nodes : DeviceArray of ``dtypes.WALK``
        Nodes of all trees.
    tree_begin : DeviceArray of uint32
        First node of every tree.
    margins : DeviceArray of float32, shape (n_rows,), written
        Margins so far.
    trees : (int, int)
        First tree and tree behind the last.
    longest : int
        Most steps from a root to a leaf.
    """
    program, rows = build(device)
    n_rows, n_features = values.shape
    return program.bind(
        "predict", (n_rows + rows - 1) // rows, np.uint64(n_rows), np.uint32(n_features),
        np.uint32(trees[0]), np.uint32(trees[1] - trees[0]), np.uint32(longest), values, nodes,
        tree_begin, margins,
    )  # fmt: skip
