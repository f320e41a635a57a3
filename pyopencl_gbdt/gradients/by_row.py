"""Gradients of losses whose kernels compute each row on its own, from more than one number of it.

Of ``multi:softprob``, from the margins of all classes; of losses whose outputs need each other's
margins, such as distributions; of ``survival:aft``, from margins and bounds.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import DeviceArray, Launch, Program
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.page import PerRow
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.numerics.expressions import statements
from pyopencl_gbdt.objectives.base import RowOutputs
from pyopencl_gbdt.objectives.classification import of_share
from pyopencl_gbdt.objectives.survival import Aft

F32 = npt.NDArray[np.float32]
_GIVEN = ("given_g", "given_h")


class GradientsByRow:
    """Computes ``given_g`` and ``given_h``; each row on its own.

    Parameters
    ----------
    reads : dict of str to str
        By the kernel's arguments: the names of the arrays of rows that it reads.
    **sizes : int
        Further arguments of the kernel.
    """

    def __init__(
        self, rows: FitRows, program: Program, kernel: str, reads: dict[str, str], **sizes: int
    ) -> None:
        self.rows, self._program, self._kernel = rows, program, kernel
        self._reads, self._sizes = reads, sizes

    def before_round(self, number: int) -> None:
        """Do nothing: the host has no work in a round."""

    def launches(self) -> list[Action]:
        """Return the actions of a round."""
        reads, (g, h) = self._reads, _GIVEN
        parts = [
            [self._bind(part.groups, part.n_rows, part[g], part[h],
                        {argument: part[name] for argument, name in reads.items()})]
            for part in self.rows.parts
        ]  # fmt: skip
        return self.rows.pagewise(parts, tuple(reads.values()), _GIVEN)

    def _bind(
        self, groups: int, n_rows: int, g: DeviceArray, h: DeviceArray, read: dict[str, DeviceArray]
    ) -> Launch:
        return self._program.bind(
            self._kernel, groups, n_rows=n_rows, gradients=g, hessians=h, **read, **self._sizes
        )


class Softmax(GradientsByRow):
    """Those of ``multi:softprob``, from the margins of all classes."""

    def __init__(self, rows: FitRows, nodes: Nodes, ways: Ways) -> None:
        gradient = statements(of_share, ("p", "label", "class_k"), ("g", "h"))
        program = ways.build_kernel("gradients", template="softmax", gradient_of_share=gradient)
        reads = {"margins": rows.gradients_at, "labels": "labels"}
        super().__init__(rows, program, "softmax", reads, n_classes=nodes.n_outputs)

    def of(
        self,
        n_rows: int,
        margins: DeviceArray,
        labels: DeviceArray,
        gradients: DeviceArray,
        hessians: DeviceArray,
    ) -> Launch:
        """Return the launch that computes the gradients of some rows."""
        read = {"margins": margins, "labels": labels}
        return self._bind(self.rows.row_groups, n_rows, gradients, hessians, read)


class RowOutputGradients(GradientsByRow):
    """Those of losses whose outputs need each other's margins, such as distributions."""

    def __init__(self, rows: FitRows, ways: Ways, objective: RowOutputs) -> None:
        program = ways.build_kernel(
            "gradients", template="row_outputs",
            n_outputs=objective.n_outputs, gradient_of_row=objective.row_kernel,
        )  # fmt: skip
        reads = {"margins": rows.gradients_at, "labels": "labels"}
        super().__init__(rows, program, "row_outputs", reads)


class AftGradients(GradientsByRow):
    """Those of ``survival:aft``, from margins and bounds.

    Parameters
    ----------
    lower, upper : float32 array, shape (n_rows,)
        Logarithms of the lower and upper bounds.
    """

    def __init__(self, rows: FitRows, ways: Ways, objective: Aft, lower: F32, upper: F32) -> None:
        wg_size = ways.wg_size(ways.variant("gradients"))
        program = ways.device.build(
            "aft", wg_size=wg_size, gradient_between=objective.kernel_between
        )
        reads = {"lowers": "aft_lower", "uppers": "aft_upper", "margins": "margins"}
        super().__init__(rows, program, "aft_gradients", reads)
        for name, bounds in (("aft_lower", lower), ("aft_upper", upper)):
            rows.array_of_rows(name, PerRow(), np.float32, partial(np.asarray, bounds))
