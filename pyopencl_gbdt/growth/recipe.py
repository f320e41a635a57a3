"""The classes that grow the trees of a fit: chosen in one place, from its parameters and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from pyopencl_gbdt.fit.variants import FitVariants, fit_kernels
from pyopencl_gbdt.growth.category_sets import CategorySets
from pyopencl_gbdt.growth.category_split import CategorySplit
from pyopencl_gbdt.growth.column_search import ColumnSearch, PartitionOfRows
from pyopencl_gbdt.growth.columns import PartitionByColumns, UpdateMarginsByNode
from pyopencl_gbdt.growth.exact import ApproximateSearch, ExactSearch
from pyopencl_gbdt.growth.ordered_leaves import OrderedLeaves
from pyopencl_gbdt.growth.partition import Partition, PartitionByCodes
from pyopencl_gbdt.growth.renew_leaves import RenewLeaves
from pyopencl_gbdt.growth.search import HistogramSearch, SplitSearch
from pyopencl_gbdt.growth.symmetric import SymmetricSearch
from pyopencl_gbdt.growth.symmetric_sets import LevelBorders
from pyopencl_gbdt.growth.update_margins import MarginUpdate, UpdateMargins
from pyopencl_gbdt.growth.walked_leaves import WalkedLeaves
from pyopencl_gbdt.growth.whole_trees import WholeTrees

#: In place of these, a kernel of ``WholeTrees`` is named.
_OF_STEPS = ("histogram", "split", "partition")
#: Kernels that are not named: those that another kernel's variant stands for.
_UNNAMED = ("approx", "tiled_histogram")


class RecipePart(Protocol):
    """A class of a recipe; ``kernels`` as in `SplitSearch`."""

    kernels: ClassVar[tuple[str, ...]]


#: All classes that some fits have and others have not.
EVERY: tuple[type[RecipePart], ...] = (
    WholeTrees, HistogramSearch, SymmetricSearch, ExactSearch, ApproximateSearch, ColumnSearch,
    PartitionByCodes, PartitionByColumns, PartitionOfRows, UpdateMargins, UpdateMarginsByNode,
    CategorySplit, CategorySets, LevelBorders, OrderedLeaves, WalkedLeaves,
)  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """The classes that grow the trees of a fit.

    Attributes
    ----------
    search, partition : type, or None
        What finds splits, and what moves rows to the children. None: ``WholeTrees`` does both.
    update : type
        What adds finished trees to the margins.
    sets : tuple of type
        What splits by sets of levels, if features are categorical.
    leaves : type or None
        What replaces leaf values; None where they follow from the sums of splits.
    """

    search: type[SplitSearch] | None
    partition: type[Partition] | None
    update: type[MarginUpdate]
    sets: tuple[type[RecipePart], ...] = ()
    leaves: type[OrderedLeaves] | type[RenewLeaves] | None = None

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels of these classes that not every fit has."""
        parts = [self.search or WholeTrees, self.partition, self.update, *self.sets, self.leaves]
        every = [name for part in parts if part is not None for name in part.kernels]
        return tuple(dict.fromkeys(every))

    @property
    def left_out(self) -> frozenset[str]:
        """The kernels that other fits have."""
        return frozenset(name for part in EVERY for name in part.kernels) - {*self.kernels}

    def variants(self, ws: FitVariants) -> dict[str, str]:
        """Return the variant of every kernel of a fit, and the kind of its pages."""
        kernels = [name for name in fit_kernels() if name not in self.left_out]
        kernels += [name for name in self.kernels if name not in (*kernels, *_UNNAMED)]
        found = {kernel: ws.variant(kernel).name for kernel in kernels}
        if self.search is None:
            (whole,) = WholeTrees.kernels
            found |= dict.fromkeys(_OF_STEPS, found.pop(whole))
        return found | ws.kind_of_pages()


def choose_recipe(ws: FitVariants) -> Recipe:
    """Return the classes of a fit; the sizes and variants of a workspace decide."""
    update: type[MarginUpdate] = WalkedLeaves if ws.walks_leaves else UpdateMargins
    leaves: type[OrderedLeaves] | type[RenewLeaves] | None = RenewLeaves if ws.renews else None
    leaves = OrderedLeaves if ws.is_ordered else leaves
    if ws.grows_whole:
        return Recipe(None, None, update, (), leaves)
    if ws.columns is None:
        alike = ws.policy.fills_levels
        search = SymmetricSearch if alike else HistogramSearch
        sets = (LevelBorders if alike else CategorySplit, CategorySets)
        return Recipe(search, PartitionByCodes, update, sets if ws.has_categories else (), leaves)
    if ws.walks_columns:
        return Recipe(ColumnSearch, PartitionOfRows, UpdateMarginsByNode, (), leaves)
    along = ApproximateSearch if ws.params.search == "approx" else ExactSearch
    return Recipe(along, PartitionByColumns, UpdateMarginsByNode, (), leaves)
