"""What the gradients of a round are taken of, and what becomes of its trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.transfers import copy_launch
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.update_margins import MarginUpdate


class FollowingRows(Protocol):
    """Rows beside the training rows, whose margins training updates: an evaluation set."""

    def restart(self) -> None:
        """Reset the margins to those before the first tree."""

    def launches(self, ws: FitParts, batch: Batch) -> list[Action]:
        """Return the launches that add the trees that were finished last to the margins."""


class Boosting(Protocol):
    """What the gradients of a round are taken of, and what becomes of its trees.

    ``kernels`` are as in `SplitSearch`.
    """

    kernels: ClassVar[tuple[str, ...]]

    def __init__(self, ws: FitParts, update: MarginUpdate) -> None: ...

    def start(
        self, margins: float | npt.NDArray[np.float32], following: Sequence[FollowingRows]
    ) -> None:
        """Take the margins of the rows before the first tree; forget all trees."""

    def begin_round(self, number: int, rate: float) -> None:
        """Prepare the margins that gradients are taken of.

        Parameters
        ----------
        number : int
            Rounds before this one, those of a continued model included.
        rate : float
            The learning rate of the round.
        """

    def kept_margins(self) -> list[Action]:
        """Return what keeps a round's margins, if its trees are not grown all at a time."""

    def add(self, batch: Batch) -> Sequence[Action]:
        """Return what adds the trees that were finished last to the training rows' margins."""

    def follow(self, rows: FollowingRows, batch: Batch) -> list[Action]:
        """Return what adds the trees that were finished last to the margins of other rows."""

    def end_round(self) -> None:
        """Finish the round, when all its trees are enqueued."""


class PlainBoosting:
    """Gradients are taken of the sum of all trees; trees stay as they are, forests included."""

    kernels: ClassVar[tuple[str, ...]] = ()

    def __init__(self, ws: FitParts, update: MarginUpdate) -> None:
        self.ws, self.update = ws, update

    def start(
        self, margins: float | npt.NDArray[np.float32], following: Sequence[FollowingRows]
    ) -> None:
        """Reset all margins."""
        self.ws.rows.set("margins", margins)
        for rows in following:
            rows.restart()

    def begin_round(self, number: int, rate: float) -> None:
        """Leave the margins as they are."""

    def kept_margins(self) -> list[Action]:
        """Return the copies of the margins, if there are several batches."""
        ws, names = self.ws, ("margins", "before")
        rows = ws.rows
        if not rows.keeps_margins:
            return []
        copies = [[copy_launch(*(part[name] for name in names))] for part in rows.parts]
        return rows.pagewise(copies, ("margins",), ("before",))

    def add(self, batch: Batch) -> Sequence[Action]:
        """Return what adds each leaf's value to the margins of its rows."""
        return self.update.add(batch)

    def follow(self, rows: FollowingRows, batch: Batch) -> list[Action]:
        """Return what adds each leaf's value to the margins of its rows."""
        return rows.launches(self.ws, batch)

    def end_round(self) -> None:
        """Do nothing: the margins are those after the round."""
