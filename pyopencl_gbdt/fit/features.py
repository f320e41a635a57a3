"""The features of a fit: where their codes or columns lie, and which splits they may have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np

from pyopencl_gbdt.device import DeviceArray
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import VALUE
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.pages.columns import ColumnSizes
from pyopencl_gbdt.pages.joint_columns import MOST_CELLS, JointColumns, join_columns
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.pages.tiles import TileSizes
from pyopencl_gbdt.parameters.constraints import Constraints


@dataclass(frozen=True)
class FitFeatures:
    """The features of a fit.

    Attributes
    ----------
    layout : Layout
    columns : ColumnSizes or None
        Sizes of sorted columns, if splits are searched along them; None is by histograms.
    tiled : TileSizes or None
        Sizes of tiled codes; None is dense codes.
    n_ordered : int
        Features whose codes change from round to round, see ``pages.orders``.
    limits : Constraints
    sampled : bool
        Whether trees, levels or nodes draw some of the features.
    most_at_steps : tuple of int
        How many features, of the first places, a step's nodes or nodes below may split on; none:
        all. Places are in another order than features then.
    exclusive : sequence of sequences of int
        Groups of exclusive features, as far as they are known, see ``pages/joint_columns.py``.
    """

    layout: Layout
    columns: ColumnSizes | None = None
    tiled: TileSizes | None = None
    n_ordered: int = 0
    limits: Constraints = field(default_factory=Constraints)
    sampled: bool = False
    most_at_steps: tuple[int, ...] = ()
    exclusive: Sequence[Sequence[int]] = ()

    def n_at(self, step: int) -> int:
        """Return of how many features, from the first one on, a step needs histograms."""
        return self.most_at_steps[step] if self.most_at_steps else self.layout.n_features

    @property
    def kind(self) -> str:
        """How rows lie that stay on the device, as in ``PageFacts``."""
        if self.columns is not None:
            return "sorted"
        return "dense" if self.tiled is None else "tiled"

    @property
    def has_categories(self) -> bool:
        """Whether some features are split by sets of levels."""
        return self.layout.categorical is not None

    @property
    def set_words(self) -> int:
        """Words of a set of codes: the number of levels, and a bit for each code; 0: no sets."""
        if self.layout.categorical is None:
            return 0
        return 2 + int(self.layout.feature_bins[self.layout.categorical].max()) // 32

    @property
    def n_numeric(self) -> int:
        """Features that are not split by sets of levels."""
        categorical = self.layout.categorical
        return self.layout.n_features - (0 if categorical is None else int(categorical.sum()))

    @property
    def masks_columns(self) -> bool:
        """Whether nodes may split on some of the features alone."""
        return self.sampled or bool(self.limits.interactions)

    @cached_property
    def joined(self) -> JointColumns:
        """The features that can share joint codes, whichever codes rows have."""
        return join_columns(self.layout)

    @cached_property
    def places(self) -> JointColumns:
        """The same, where exclusive features are one digit if that makes fewer places."""
        if not self.exclusive:
            return self.joined
        return min(self.joined, join_columns(self.layout, self.exclusive), key=_n_places)

    @property
    def n_joined(self) -> int:
        """Columns of codes if features share joint ones; 0 if none can, or codes are not dense."""
        sizes = np.sort(np.diff(self.layout.feature_offset))[:2].astype(np.int64)
        none = sizes.size < 2 or sizes.prod() > MOST_CELLS
        if self.kind != "dense" or (none and not self.exclusive):
            return 0
        return self.places.n_places

    def ask_for_tables(self, arena: Arena) -> None:
        """Ask for what kernels know of the bins of every feature."""
        layout = self.layout
        for name in ("feature_offset", "feature_bins", "fullest"):
            table = getattr(layout, name)
            arena.array(name, table.size, np.uint32, table)
        arena.array("thresholds", layout.n_codes, VALUE, layout.thresholds)

    def walked_sets(self, arena: Arena) -> dict[str, DeviceArray]:
        """Return the sets of codes, for kernels that walk trees by codes; nothing without sets."""
        return arena.arguments("sets") if self.has_categories else {}

    def moved_sets(self, arena: Arena) -> dict[str, Any]:
        """Return the sets and their size, for kernels that move rows; nothing without sets."""
        size = {"set_words": self.set_words} if self.has_categories else {}
        return self.walked_sets(arena) | size

    def masks(self, arena: Arena) -> dict[str, DeviceArray]:
        """Return which features nodes may split on, for searches; nothing if it is all of them."""
        return arena.arguments("allowed") if self.masks_columns else {}

    def facts(self) -> dict[str, Any]:
        """Return what of them decides how trees grow, by the names in ``PageFacts``."""
        return {
            "kind": self.kind,
            "n_features": self.layout.n_features,
            "most_bins": int(self.layout.feature_bins.max()),
            "most_codes": self.layout.most_codes,
            "n_codes": self.layout.n_codes,
            "n_joined": self.n_joined,
            "has_sets": self.has_categories,
            "has_monotone": self.limits.monotone is not None,
            "masks_columns": self.masks_columns,
            "limits_paths": bool(self.limits.interactions),
        }


class FixedFeatures:
    """The features of a fit whose codes are the same in every round.

    ``RoundStatistics`` is for features that change, and has the same methods.
    """

    orders = renamed = None

    def restart(self) -> None:
        """Leave all codes as they are, as the other methods do."""

    def turn(self) -> list[Action]:
        """Return no actions."""
        return []

    def begin_round(self, number: int, trees: Callable[[], list[Tree]]) -> None:
        """Choose nothing."""

    def take_order(self, number: int) -> None:
        """Write no codes."""

    def end_round(self, number: int, trees: Callable[[], list[Tree]], first: int) -> None:
        """Score nothing."""


def _n_places(columns: JointColumns) -> int:
    return columns.n_places
