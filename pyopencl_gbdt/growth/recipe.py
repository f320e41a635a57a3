"""The classes that grow the trees of a fit: chosen in one place, from facts alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.cores import usable_cores
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.policy import TreeSizes
from pyopencl_gbdt.fit.ways import fit_kernels
from pyopencl_gbdt.growth.boosting import Boosting, PlainBoosting
from pyopencl_gbdt.growth.category_sets import CategorySets
from pyopencl_gbdt.growth.category_split import CategorySplit
from pyopencl_gbdt.growth.column_search import ColumnSearch, PartitionOfRows
from pyopencl_gbdt.growth.columns import PartitionByColumns, UpdateMarginsByNode
from pyopencl_gbdt.growth.dropout import DropoutBoosting
from pyopencl_gbdt.growth.exact import ApproximateSearch, ExactSearch
from pyopencl_gbdt.growth.ordered_leaves import OrderedLeaves
from pyopencl_gbdt.growth.partition import Partition, PartitionByCodes
from pyopencl_gbdt.growth.renew_leaves import RenewLeaves
from pyopencl_gbdt.growth.search import HistogramSearch, SplitSearch
from pyopencl_gbdt.growth.symmetric import SymmetricSearch
from pyopencl_gbdt.growth.symmetric_sets import LevelBorders
from pyopencl_gbdt.growth.update_margins import MarginUpdate, UpdateMargins
from pyopencl_gbdt.growth.walked_leaves import WalkedLeaves, walks_leaves
from pyopencl_gbdt.growth.whole_trees import MOST_CODES_WHOLE, WholeTrees
from pyopencl_gbdt.parameters.parameters import Parameters

#: A CPU walks whole columns if there are at least this many for each compute unit, ...
COLUMNS_PER_UNIT = 4
#: ... if what a tree knows of its rows fits a core's cache, ... PoCL, 2 cores of an AMD EPYC with
#: 1 MB each, ms a round of depth 6 of both cores, with walks and with pieces of nodes: 16 k x 62 k,
#: 80 entries a row, 20 classes: 480 and 1700; the same, regression: 60 and 63; 64 k rows: 208 and
#: 246. Dense, 20 k x 28: 21 and 21, 100 k x 28: 111 and 91.
MOST_WALKED_ROWS = 65536
#: ... and a tree has at most this many nodes in a step, for which every work-group has room.
MOST_WALKED_NODES = 4096

#: One launch grows the trees of a batch for at most this many rows, ... PoCL, 2 cores, ms a round
#: by steps and by one launch, depth 6, 28 features: 60 k rows 4.1 and 2.2; 200 k 8.2 and 6.6; 500 k
#: 21.5 and 19.9; 1 M 38.5 and 47. Depth 8: 60 k 8.2 and 4.3; 200 k 14.4 and 9.1; 1 M 54 and 82.
MOST_WHOLE_ROWS = 131072
#: Features from which on the keys of borders would leave 32 bits.
MOST_FEATURES_WHOLE = 1 << 22
#: Units of a CPU's device for each core of the process: PoCL counts the host's cores, also where a
#: container may use few. 16 threads on 2 cores take three times as long as steps, 2 on 1 less.
MOST_UNITS_A_CORE = 2

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
    CategorySplit, CategorySets, LevelBorders, OrderedLeaves, WalkedLeaves, DropoutBoosting,
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
    boosting : type
        What gradients are taken of, and what becomes of the trees.
    """

    search: type[SplitSearch] | None
    partition: type[Partition] | None
    update: type[MarginUpdate]
    sets: tuple[type[RecipePart], ...] = ()
    leaves: type[OrderedLeaves] | type[RenewLeaves] | None = None
    boosting: type[Boosting] = PlainBoosting

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels of these classes that not every fit has."""
        parts: list[type[RecipePart] | None] = [
            self.search or WholeTrees, self.partition, self.update, *self.sets, self.leaves,
            self.boosting,
        ]  # fmt: skip
        every = [name for part in parts if part is not None for name in part.kernels]
        return tuple(dict.fromkeys(every))

    @property
    def left_out(self) -> frozenset[str]:
        """The kernels that other fits have."""
        return frozenset(name for part in EVERY for name in part.kernels) - {*self.kernels}

    def variants(self, parts: FitParts) -> dict[str, str]:
        """Return the variant of every kernel of a fit, and the kind of its pages."""
        kernels = [name for name in fit_kernels() if name not in self.left_out]
        kernels += [name for name in self.kernels if name not in (*kernels, *_UNNAMED)]
        found = {kernel: parts.ways.variant(kernel).name for kernel in kernels}
        if self.search is None:
            (whole,) = WholeTrees.kernels
            found |= dict.fromkeys(_OF_STEPS, found.pop(whole))
        return found | parts.rows.kinds()


@dataclass(frozen=True)
class RecipeFacts:
    """What decides which classes grow the trees of a fit; nothing else does.

    Attributes
    ----------
    params : Parameters
    policy : TreeSizes
    caps : Capabilities
    page : str
        How the rows lie on the device, as in ``Model.variants``: dense, tiled, sorted or streamed.
    n_rows, n_features : int
        Rows of this device, and features.
    most_bins, most_codes : int
        Of a feature; codes include the one for missing values.
    search_nodes : int
        Most nodes of a tree in a step that is searched.
    has_categories : bool
        Whether some features are split by sets of levels.
    has_monotone : bool
        Whether some features have a monotone constraint.
    chooses_rows, chooses_columns : bool
        Whether the roots list the rows that were drawn, and whether nodes may split on some of the
        features alone.
    adds_histograms : bool
        Whether a node's histogram is added up from several pages or devices.
    renews, walks_leaves : bool
        Whether leaf values are quantiles of residuals, or come from the next order of the rows.
    one_launch, lone_items : bool
        Whether the device grows whole trees by one launch, and whether its work-groups for sorted
        columns have one work-item.
    """

    params: Parameters
    policy: TreeSizes
    caps: Capabilities
    page: str = "dense"
    n_rows: int = 1
    n_features: int = 1
    most_bins: int = 1
    most_codes: int = 1
    search_nodes: int = 1
    has_categories: bool = False
    has_monotone: bool = False
    chooses_rows: bool = False
    chooses_columns: bool = False
    adds_histograms: bool = False
    renews: bool = False
    walks_leaves: bool = False
    one_launch: bool = False
    lone_items: bool = False

    @classmethod
    def of(cls, parts: FitParts) -> RecipeFacts:
        """Return the facts of a fit."""
        arena, rows, nodes, features, ways = parts
        layout = features.layout
        return cls(
            nodes.params, nodes.policy, arena.device.caps, rows.kinds()["page"], rows.n_rows,
            layout.n_features, int(layout.feature_bins.max()), layout.most_codes,
            nodes.search_capacity // nodes.n_trees, features.has_categories,
            features.limits.monotone is not None, rows.lists_drawn or ways.gathers,
            features.masks_columns, rows.adds_histograms, nodes.renews, walks_leaves(parts),
            ways.variant("whole_trees").name == "one_launch",
            ways.wg_size(ways.variant("exact")) == 1,
        )  # fmt: skip


def choose_recipe(facts: RecipeFacts) -> Recipe:
    """Return the classes of a fit."""
    found = _grown(facts)
    return replace(found, boosting=DropoutBoosting) if facts.params.booster == "dart" else found


def _grown(facts: RecipeFacts) -> Recipe:
    params, page = facts.params, facts.page
    update: type[MarginUpdate] = WalkedLeaves if facts.walks_leaves else UpdateMargins
    leaves: type[OrderedLeaves] | type[RenewLeaves] | None = RenewLeaves if facts.renews else None
    leaves = OrderedLeaves if params.is_ordered else leaves
    if grows_whole(facts):
        return Recipe(None, None, update, (), leaves)
    if page != "sorted":
        alike = facts.policy.fills_levels
        search = SymmetricSearch if alike else HistogramSearch
        of_levels = (LevelBorders if alike else CategorySplit, CategorySets)
        sets = of_levels if facts.has_categories else ()
        return Recipe(search, PartitionByCodes, update, sets, leaves)
    if walks_columns(facts):
        return Recipe(ColumnSearch, PartitionOfRows, UpdateMarginsByNode, (), leaves)
    along = ApproximateSearch if params.search == "approx" else ExactSearch
    return Recipe(along, PartitionByColumns, UpdateMarginsByNode, (), leaves)


def walks_columns(facts: RecipeFacts) -> bool:
    """Whether exact search walks whole columns, rather than pieces of nodes' own entries.

    That is on CPUs, level by level, if there are columns for all work-items, few enough rows,
    and no terms of scores that cancel. The trees are the same.
    """
    params = facts.params
    if facts.page != "sorted" or params.search == "approx" or facts.policy.picks_leaves:
        return False
    if facts.has_monotone or params.reg_alpha > 0:
        return False
    enough = COLUMNS_PER_UNIT * facts.caps.compute_units
    if facts.n_rows > MOST_WALKED_ROWS or facts.n_features < enough:
        return False
    return facts.search_nodes <= MOST_WALKED_NODES and facts.lone_items


def grows_whole(facts: RecipeFacts) -> bool:
    """Whether one launch grows all trees of a batch, rather than one or more for each step.

    That is on CPUs, for few rows of dense codes with all rows and features in every node. The
    trees are the same.
    """
    params = facts.params
    if not facts.one_launch or facts.page != "dense" or facts.adds_histograms:
        return False
    if facts.n_rows > MOST_WHOLE_ROWS or not facts.policy.splits_alone:
        return False
    if params.histogram != "auto" or params.work_group_size or params.is_ordered:
        return False
    of_borders = facts.has_categories or facts.has_monotone or params.reg_alpha > 0
    if of_borders or facts.chooses_rows or facts.chooses_columns:
        return False
    few = facts.most_bins < MOST_CODES_WHOLE and facts.most_codes <= MOST_CODES_WHOLE
    if not few or facts.n_features >= MOST_FEATURES_WHOLE:
        return False
    # work-groups wait for one another, so most of their threads have to run
    return facts.caps.compute_units <= MOST_UNITS_A_CORE * usable_cores()
