"""Statistics of several trainings, for a model that joins their trees."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.combinations import CategoryRows, Combination
from pyopencl_gbdt.model.statistics import LevelTable, Statistics
from pyopencl_gbdt.model.tree import Tree

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class JoinedStatistics:
    """The statistics of each member of a bag, one after the other behind the user's columns.

    Each member has counted its own training rows. The interface is that of ``Statistics``.

    Attributes
    ----------
    members : tuple of Statistics
        At least one; all of the same columns.

    Raises
    ------
    ModelFormatError
        If a member is not a model's statistics, or members have different numbers of columns.
    """

    members: tuple[Statistics, ...]

    def __post_init__(self) -> None:
        if len({one.n_columns for one in self.members}) != 1:
            raise ModelFormatError(
                f"statistics of {len(self.members)} members: expected at least one, all of the "
                "same number of columns; correct the file"
            )

    @property
    def n_columns(self) -> int:
        return self.members[0].n_columns

    @property
    def tables(self) -> tuple[LevelTable, ...]:
        return tuple(table for one in self.members for table in one.tables)

    @property
    def alone(self) -> set[int]:
        """The columns that alone have a table in at least one member."""
        return set().union(*(one.alone for one in self.members))

    @property
    def member_features(self) -> list[int]:
        """The first feature of every member, counted from 0, then their number."""
        return [0, *accumulate(one.n_features for one in self.members)]

    @property
    def n_features(self) -> int:
        return self.member_features[-1]

    def _place(self, feature: int) -> tuple[int, int]:
        """Return the member of a feature, and the feature's number there."""
        first = self.member_features
        member = bisect_right(first, feature) - 1
        return member, feature - first[member]

    def sources(self, feature: int) -> tuple[int, ...]:
        """Return the user's columns that a feature, counted from the first one, is made of."""
        member, own = self._place(feature)
        return self.members[member].sources(own)

    def parts(self, feature: int) -> Combination:
        """Return what a feature, counted from the first one, is a statistic of."""
        member, own = self._place(feature)
        return self.members[member].parts(own)

    def name(self, feature: int, column_names: Callable[[int], str]) -> str:
        """Return a feature's name, given those of columns; members count from 0."""
        member, own = self._place(feature)
        return f"{self.members[member].name(own, column_names)} of member {member}"

    def of_rows(self, rows: CategoryRows) -> F32:
        """Return the features of rows: float32, shape (n_rows, n_features)."""
        return np.concatenate([one.of_rows(rows) for one in self.members], axis=1)

    def checked(self) -> JoinedStatistics:
        """Return a copy whose members have been checked again."""
        return replace(self, members=tuple(one.checked() for one in self.members))


ModelStatistics: TypeAlias = Statistics | JoinedStatistics


def join_statistics(
    members: Sequence[Statistics], trees: Sequence[Sequence[Tree]]
) -> tuple[JoinedStatistics, list[list[Tree]]]:
    """Return joined statistics, and the trees of each member as they use these.

    Raises
    ------
    ModelFormatError
        If the members have different numbers of columns.
    """
    joined = JoinedStatistics(tuple(members))
    moved = [
        [_moved(tree, joined.n_columns, first) for tree in own]
        for own, first in zip(trees, joined.member_features[:-1], strict=True)
    ]
    return joined, moved


def _moved(tree: Tree, n_columns: int, by: int) -> Tree:
    """Return a tree whose features behind the columns have other numbers."""
    if not by:
        return tree
    return replace(
        tree, feature=np.where(tree.feature < n_columns, tree.feature, tree.feature + by)
    )
