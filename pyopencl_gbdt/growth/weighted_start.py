"""What rows start from: margins, or, where trees have weights, base margins and sums of trees."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

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
