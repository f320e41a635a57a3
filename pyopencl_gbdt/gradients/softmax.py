"""Gradients of ``multi:softprob`` from the margins of all classes."""

from __future__ import annotations

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit.workspace import Workspace


class Softmax:
    """Computes ``given_g`` and ``given_h``; each row on its own."""

    by_row = True

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build(
            "gradients", lambda variant: ws.device.build("softmax", wg_size=ws.wg_size(variant))
        )

    def begin(self) -> None:
        """Do nothing: there is no state."""

    def before_round(self, number: int) -> None:
        """Do nothing: the host has no work in a round."""

    def launches(self) -> list[Launch]:
        """Return the launch of a round."""
        ws = self.ws
        return [
            self.program.bind(
                "softmax", ws.row_groups, n_rows=ws.n_rows, n_classes=ws.n_outputs,
                gradients=ws["given_g"], hessians=ws["given_h"],
                **ws.arguments("margins", "labels"),
            )
        ]  # fmt: skip
