"""Every row's margin gets the value of its leaf."""

from __future__ import annotations

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.workspace import Workspace


def prepare(ws: Workspace) -> Launch:
    """Return the launch that adds a finished tree to the margins of the training rows."""
    variant = ws.variant("leaf")
    chunk = variant.params["chunk"]
    program = ws.device.build("leaf", wg_size=ws.wg_size("leaf"), chunk=chunk)
    most = ws.n_rows // chunk + ws.max_nodes
    return program.bind(
        "add_leaves", min(most, 16 * ws.device.caps.compute_units), ws["leaf_header"],
        ws["leaf_task_begin"], ws["nodes"], ws["even_rows"], ws["odd_rows"], ws["margins"],
    )  # fmt: skip
