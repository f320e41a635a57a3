"""Margins of all classes to gradients, for ``multi:softprob``."""

from __future__ import annotations

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit.workspace import Workspace


class Softmax:
    """Fills ``given_g`` and ``given_h``; rows are independent."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build(
            "gradients", lambda row: ws.device.build("softmax", wg_size=ws.wg_size(row))
        )

    def begin(self) -> None:
        """Nothing to set."""

    def before_round(self, number: int) -> None:
        """Nothing to do on the host."""

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
