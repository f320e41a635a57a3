"""Every row's margin gets the value of its leaf."""

from __future__ import annotations

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.workspace import Workspace


class Leaf:
    """Adds finished trees to the margins of the training rows."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build(
            "leaf",
            lambda row: ws.device.build("leaf", wg_size=ws.wg_size(row), chunk=row.params["chunk"]),
        )

    def add(self) -> Launch:
        """Return the launch that adds the tree in ``nodes``."""
        ws = self.ws
        most = ws.n_rows // ws.variant("leaf").params["chunk"] + ws.max_nodes
        return self.program.bind(
            "add_leaves", min(most, 16 * ws.device.caps.compute_units), ws["leaf_header"],
            ws["leaf_task_begin"], ws["nodes"], ws["even_rows"], ws["odd_rows"], ws["margins"],
        )  # fmt: skip
