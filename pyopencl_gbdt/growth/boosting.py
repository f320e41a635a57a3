"""From which margins a round's gradients are computed, and what becomes of its trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import SUM, VALUE
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.numerics.tree_weights import margins_of

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class WeightedStart:
    """What rows start from where trees have weights.

    Attributes
    ----------
    margins : float or float32 array
        Base margins; they broadcast to the shape of the rows' margins.
    sums : int64 array, shape of the rows' margins
        Sums of the trees so far, in units of 2^-32.
    trees : list of Tree
        The trees so far.
    weights : float32 array, shape (n_trees,)
        Their weights.
    """

    margins: float | F32
    sums: npt.NDArray[np.int64]
    trees: list[Tree] = field(default_factory=list)
    weights: F32 = field(default_factory=lambda: np.zeros(0, np.float32))

    def first_margins(self) -> F32:
        """Return the margins before the first new tree, of the shape of ``sums``."""
        return margins_of(np.broadcast_to(np.float32(self.margins), self.sums.shape), self.sums)


#: What rows start from: margins that broadcast to (n_rows,) or (n_outputs, n_rows), or with sums.
AnyStart = float | F32 | WeightedStart


def starting_margins(start: AnyStart) -> float | F32:
    """Return the margins before the first new tree."""
    return start.first_margins() if isinstance(start, WeightedStart) else start


def starting_sums(start: AnyStart) -> tuple[float | F32, npt.ArrayLike]:
    """Return base margins, and the sums of the trees so far; both broadcast to the margins."""
    return (start.margins, start.sums) if isinstance(start, WeightedStart) else (start, 0)


class FollowingRows(Protocol):
    """Rows beside the training rows, whose margins training updates: an evaluation set.

    Attributes
    ----------
    start : float, float32 array or WeightedStart
        What the rows start from.
    margins : DeviceArray of float32, shape (n_rows,) or (n_outputs, n_rows)
    has_values : bool
        Whether the rows are others than the training rows.
    """

    @property
    def start(self) -> AnyStart: ...

    @property
    def margins(self) -> Any: ...

    @property
    def has_values(self) -> bool: ...

    def restart(self) -> None:
        """Reset the margins to those before the first tree."""

    def launches(self, parts: FitParts, batch: Batch) -> list[Action]:
        """Return the launches that add the trees that were finished last to the margins."""

    def walk(
        self, parts: FitParts, nodes: DeviceArray, roots: DeviceArray, tree: int, longest: int,
        values: DeviceArray, sets: DeviceArray | None,
    ) -> list[Action]:  # fmt: skip
        """Return the launches that add the leaf values of one tree to ``values``.

        Parameters
        ----------
        nodes : DeviceArray of ``dtypes.WALK``
        roots : DeviceArray of uint32
            The first node of every tree.
        tree : int
            The tree's place in ``roots``.
        longest : int
            Most nodes on the way to a leaf.
        values : DeviceArray of float32, shape (n_rows,)
        sets : DeviceArray of uint32 or None
            Those of the nodes' splits, if any are by sets of codes.
        """


def of_followed_rows(
    device: Device, shape: tuple[int, ...]
) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """Return arrays of rows whose trees have weights: base margins, sums of trees, leaf values."""
    return (
        device.empty(shape, VALUE, "margins before the trees"),
        device.empty(shape, SUM, "sums of trees"),
        device.empty(shape[-1], VALUE, "values of leaves"),
    )


class MarginUpdate(Protocol):
    """What adds finished trees to the margins of the training rows.

    ``kernels`` are as in `SplitSearch`.
    """

    kernels: ClassVar[tuple[str, ...]]

    def __init__(self, parts: FitParts, partition: Any) -> None: ...

    def add(self, batch: Batch) -> Sequence[Action]:
        """Return the actions that add the trees that were finished last."""


class Boosting(Protocol):
    """From which margins a round's gradients are computed, and what becomes of its trees.

    ``kernels`` are as in `SplitSearch`.
    """

    kernels: ClassVar[tuple[str, ...]]

    n_dropped: Sequence[int] = ()
    """The number of trees that each round of this fit has dropped; empty if rounds drop none."""

    def __init__(self, parts: FitParts, update: MarginUpdate) -> None: ...

    def start(self, margins: AnyStart, following: Sequence[FollowingRows]) -> None:
        """Take the margins of the rows before the first tree; forget all trees."""

    def begin_round(self, number: int, rate: float) -> None:
        """Prepare the margins from which gradients are computed.

        ``number``: rounds before this one, those of a continued model included.
        ``rate``: the learning rate of the round.
        """

    def kept_margins(self) -> list[Action]:
        """Return the actions that keep a round's margins, if its trees do not all grow at once."""

    def add(self, batch: Batch) -> Sequence[Action]:
        """Return the actions that add the latest trees to the margins of the training rows."""

    def follow(self, rows: FollowingRows, batch: Batch) -> list[Action]:
        """Return the actions that add the latest trees to the margins of other rows."""

    def end_round(self) -> None:
        """Finish the round, when all its trees are enqueued."""

    def weights(self, n_rounds: int) -> F32 | None:
        """Return the weights of all trees as they were after some rounds of this fit.

        Returns
        -------
        float32 array, shape (n_trees,), or None
            With those of a model that is continued. None: trees have no weights.
        """
