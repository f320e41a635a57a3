"""Gradients of ``multi:softprob`` from the margins of all classes."""

from __future__ import annotations

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.numerics.expressions import statements
from pyopencl_gbdt.objectives.classification import of_share


class Softmax:
    """Computes ``given_g`` and ``given_h``; each row on its own."""

    def __init__(self, rows: FitRows, nodes: Nodes, ways: Ways) -> None:
        self.rows, self.nodes = rows, nodes
        gradient = statements(of_share, ("p", "label", "class_k"), ("g", "h"))
        self.program = ways.build_kernel(
            "gradients", template="softmax", gradient_of_share=gradient
        )

    def before_round(self, number: int) -> None:
        """Do nothing: the host has no work in a round."""

    def launches(self) -> list[Action]:
        """Return the actions of a round."""
        rows = self.rows
        reads, writes = (rows.gradients_at, "labels"), ("given_g", "given_h")
        parts = [
            [self.of(part.n_rows, *(part[name] for name in (*reads, *writes)))]
            for part in rows.parts
        ]
        return rows.pagewise(parts, reads, writes)

    def of(
        self,
        n_rows: int,
        margins: DeviceArray,
        labels: DeviceArray,
        gradients: DeviceArray,
        hessians: DeviceArray,
    ) -> Launch:
        """Return the launch that computes the gradients of some rows."""
        return self.program.bind(
            "softmax", self.rows.row_groups, n_rows=n_rows, n_classes=self.nodes.n_outputs,
            margins=margins, labels=labels, gradients=gradients, hessians=hessians,
        )  # fmt: skip
