"""The classes that grow the trees of a fit: chosen in one place, from facts alone."""

from __future__ import annotations

from typing import ClassVar, Protocol

from pyopencl_gbdt.device.helper_process import usable_cores
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.rows_in_turn import RowsInTurn
from pyopencl_gbdt.fit.ways import fit_kernels, gathers_columns, variant_of
from pyopencl_gbdt.growth.best_first import MOST_SEVERAL
from pyopencl_gbdt.growth.boosting import Boosting, MarginUpdate
from pyopencl_gbdt.growth.category_sets import CategorySets
from pyopencl_gbdt.growth.category_split import CategorySplit
from pyopencl_gbdt.growth.column_search import ColumnSearch, PartitionOfRows
from pyopencl_gbdt.growth.columns import PartitionByColumns, UpdateMarginsByNode
from pyopencl_gbdt.growth.dropout import DropoutBoosting
from pyopencl_gbdt.growth.exact import ApproximateSearch, ExactSearch
from pyopencl_gbdt.growth.finalize import LeafValues, PlainBoosting, UpdateMargins
from pyopencl_gbdt.growth.joint_columns import joins_blocks, may_join
from pyopencl_gbdt.growth.leaves_by_next_order import LeavesByNextOrder, walks_leaves
from pyopencl_gbdt.growth.linear_leaves import LinearLeaves
from pyopencl_gbdt.growth.newton_leaves import NewtonLeaves
from pyopencl_gbdt.growth.ordered_leaves import OrderedLeaves
from pyopencl_gbdt.growth.partition import Partition, PartitionByCodes
from pyopencl_gbdt.growth.policy import (
    BestFirst,
    LevelWise,
    Policy,
    Symmetric,
    Together,
    tree_sizes,
)
from pyopencl_gbdt.growth.renew_leaves import RenewLeaves
from pyopencl_gbdt.growth.sketched_leaves import SketchedLeaves
from pyopencl_gbdt.growth.split import GatheredSearch, HistogramSearch, SplitSearch
from pyopencl_gbdt.growth.symmetric import SymmetricSearch
from pyopencl_gbdt.growth.symmetric_sets import LevelBorders
from pyopencl_gbdt.growth.vector_split import VectorSearch
from pyopencl_gbdt.growth.whole_best_first import WholeBestFirst
from pyopencl_gbdt.growth.whole_symmetric import WholeSymmetric
from pyopencl_gbdt.growth.whole_trees import MOST_CODES_WHOLE, WholeTrees
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.table import DEEPEST_LEVEL

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
#: ... or for so many times as many if columns share codes, so that this share of codes is left at
#: most. PoCL, 2 cores beside other programs, processor ms a round by steps and by one launch with
#: joint codes: 300 k x 100 of 5 values, depth 5, 72 and 38; 300 k x 54, 44 of them indicators,
#: depth 6, 38 and 24, 1 M rows, depth 8, 188 and 162; 1 M x 60 of 5 values, depth 6, 229 and 152.
#: 300 k x 300 of 5 values, a tenth drawn, 1 thread, 36 and 14.
TIMES_JOINT_ROWS, MOST_JOINED = 8, 0.5
#: The same, leaf by leaf, ... PoCL, 1 thread, processor ms a round by steps and by one launch, 28
#: features: 20 k rows, 31 leaves 5.5 and 3.9, 255 leaves 38 and 14; 100 k, 255 leaves 56 and 31.
MOST_BEST_FIRST_ROWS = 131072
#: ... or for at most this many rows a leaf. The same: 500 k rows, 255 leaves 133 and 86; 31 leaves
#: 46 and 57.
MOST_ROWS_A_LEAF = 4096
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
    WholeTrees, WholeSymmetric, WholeBestFirst, HistogramSearch, GatheredSearch, SymmetricSearch,
    VectorSearch,
    ExactSearch, ApproximateSearch, ColumnSearch, PartitionByCodes, PartitionByColumns,
    PartitionOfRows, UpdateMargins, UpdateMarginsByNode, CategorySplit, CategorySets, LevelBorders,
    OrderedLeaves, LeavesByNextOrder, SketchedLeaves, NewtonLeaves, LinearLeaves, DropoutBoosting,
)  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """The classes that grow the trees of a fit.

    Attributes
    ----------
    rows : tuple of type
        How rows may lie on the device, the best way first: another one is for what does not fit.
    policy : Policy
        Which nodes split next.
    search, partition : type, or None
        What finds splits, and what moves rows to the children. None: ``whole`` does both.
    update : type
        What adds finished trees to the margins.
    sets : tuple of type
        What splits by sets of levels, if features are categorical.
    leaves : type
        What replaces leaf values; ``LeafValues`` where they follow from the sums of splits.
    steps : type, or None
        What moves the weights of leaves further, if they take several steps.
    boosting : type
        What gradients are computed from, and what becomes of the trees.
    whole : type, or None
        What grows the trees of a batch by one launch.
    """

    rows: tuple[type[FitRows], ...]
    policy: Policy
    search: type[SplitSearch] | None
    partition: type[Partition] | None
    update: type[MarginUpdate]
    sets: tuple[type[RecipePart], ...] = ()
    leaves: type[LeafValues] = LeafValues
    steps: type[NewtonLeaves] | None = None
    boosting: type[Boosting] = PlainBoosting
    whole: type[WholeTrees] | None = None

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels of these classes that not every fit has."""
        parts: list[type[RecipePart] | None] = [
            self.whole, self.search, self.partition, self.update, *self.sets, self.leaves,
            self.steps, self.boosting,
        ]  # fmt: skip
        every = [name for part in parts if part is not None for name in part.kernels]
        return tuple(dict.fromkeys(every))

    @property
    def left_out(self) -> frozenset[str]:
        """The kernels that other fits have."""
        return frozenset(name for part in EVERY for name in part.kernels) - {*self.kernels}

    def variants(self, parts: FitParts) -> dict[str, str]:
        """Return the variant of every kernel of a fit, the kind of its pages, and joint codes."""
        kernels = [name for name in fit_kernels() if name not in self.left_out]
        kernels += [name for name in self.kernels if name not in (*kernels, *_UNNAMED)]
        found = {kernel: parts.ways.variant(kernel).name for kernel in kernels}
        if self.whole is not None:
            (whole,) = self.whole.kernels
            found |= dict.fromkeys(_OF_STEPS, found.pop(whole))
        kinds, facts = parts.rows.kinds(), parts.ways.facts
        beside = self.whole is None and facts.pages.n_joined > 0 and "codes" not in kinds
        if beside and joins_blocks(facts):
            kinds["codes"] = "plain, and joint by row"
        return found | kinds


def choose_recipe(facts: FitFacts, policy: Policy | None = None) -> Recipe:
    """Return the classes of a fit.

    Parameters
    ----------
    facts : FitFacts
        Nothing else decides.
    policy : Policy or None
        Which nodes split next; None is what the parameters ask for.
    """
    params, kind = facts.parameters, facts.pages.kind
    policy = policy or choose_policy(facts)
    update: type[MarginUpdate] = UpdateMargins
    if facts.pages.n_orders > 1 and walks_leaves(facts, tree_sizes(policy, params, facts.n_rows)):
        update = LeavesByNextOrder
    if facts.n_sketches:
        update = SketchedLeaves
    leaves: type[LeafValues] = RenewLeaves if facts.loss.renews else LeafValues
    leaves = OrderedLeaves if params.is_ordered else leaves
    leaves = LinearLeaves if params.linear_tree else leaves
    steps = NewtonLeaves if params.takes_steps else None
    boosting = DropoutBoosting if params.weighs_trees else PlainBoosting
    search: type[SplitSearch] | None
    partition: type[Partition] | None
    sets: tuple[type[RecipePart], ...] = ()
    whole: type[WholeTrees] | None = None
    if grows_whole(facts, policy):
        whole = WholeBestFirst if policy.picks_leaves else WholeTrees
        whole = WholeSymmetric if policy.fills_levels else whole
        search, partition = None, None
    elif kind != "sorted":
        alike = policy.fills_levels
        search, partition = SymmetricSearch if alike else HistogramSearch, PartitionByCodes
        search = GatheredSearch if gathers_columns(facts) else search
        search = VectorSearch if facts.has_vectors else search
        if facts.pages.has_sets:
            once = alike or facts.has_vectors
            sets = LevelBorders if once else CategorySplit, CategorySets
    elif walks_columns(facts, policy):
        search, partition, update = ColumnSearch, PartitionOfRows, UpdateMarginsByNode
    else:
        search = ApproximateSearch if params.search == "approx" else ExactSearch
        partition, update = PartitionByColumns, UpdateMarginsByNode
    if facts.pages.n_joined and whole is not WholeTrees:
        joins_blocks(facts)  # or an error says why not
    rows = choose_rows(facts)
    return Recipe(rows, policy, search, partition, update, sets, leaves, steps, boosting, whole)


def choose_rows(facts: FitFacts) -> tuple[type[FitRows], ...]:
    """Return how rows may lie on the device, as ``choose_recipe`` does."""
    page, given = facts.parameters.page, facts.pages.given
    if page == "streamed" or given == "stored pages":
        return (RowsInTurn,)
    stay = facts.stays_resident or page != "auto" or given or facts.pages.kind == "tiled"
    return (FitRows,) if stay else (FitRows, RowsInTurn)


def choose_policy(facts: FitFacts) -> Policy:
    """Return which nodes split next, as ``choose_recipe`` does.

    Several leaves split in a step where that is faster.
    """
    params, pages = facts.parameters, facts.pages
    if params.symmetric_trees:
        return Symmetric(params.max_depth, moves_last_rows=params.linear_tree)
    if facts.has_vectors and not params.leaf_wise:
        deepest = params.max_depth or DEEPEST_LEVEL
        return Together(deepest, limits_leaves=params.max_leaves > 0)
    if not params.leaf_wise:
        return LevelWise(
            params.max_depth or DEEPEST_LEVEL, limits_leaves=params.max_leaves > 0,
            moves_last_rows=params.linear_tree,
        )  # fmt: skip
    if facts.has_vectors:
        return BestFirst(splits_alike=True)
    one = facts.device is None or params.is_ordered or params.max_leaves > MOST_SEVERAL
    if (
        one or params.linear_tree or pages.kind in ("sorted", "streamed")
    ):  # pages in turn: each step is a pass
        return BestFirst()
    assert facts.device is not None
    picks = variant_of("plan", facts, facts.device).params["picks"]
    return BestFirst(picks=min(picks, pages.most_picks or picks))


def walks_columns(facts: FitFacts, policy: Policy) -> bool:
    """Whether exact search walks whole columns, rather than pieces of nodes' own entries.

    That is on CPUs, level by level, if there are columns for all work-items, few enough rows,
    and no terms of scores that cancel. The trees are the same.
    """
    params, pages, caps = facts.parameters, facts.pages, facts.device
    if caps is None or pages.kind != "sorted" or params.search == "approx" or policy.picks_leaves:
        return False
    if pages.has_monotone or params.reg_alpha > 0:
        return False
    enough = COLUMNS_PER_UNIT * caps.compute_units
    if facts.n_rows > MOST_WALKED_ROWS or pages.n_features < enough:
        return False
    sizes = tree_sizes(policy, params, facts.n_rows)
    wg_size = params.work_group_size or variant_of("exact", facts, caps).params["wg_size"]
    return max(sizes.capacities[: sizes.n_steps]) <= MOST_WALKED_NODES and wg_size == 1


def grows_whole(facts: FitFacts, policy: Policy) -> bool:
    """Whether one launch grows all trees of a batch, rather than one or more for each step.

    That is on CPUs, for few rows of dense codes, where all nodes of a tree have its features, and
    may split on each. Levels of symmetric trees may draw columns and noise, too. The trees are the
    same.
    """
    params, pages, caps = facts.parameters, facts.pages, facts.device
    best_first = policy == BestFirst()
    most_rows = MOST_WHOLE_ROWS
    shared = 0 < pages.n_joined <= MOST_JOINED * pages.n_features
    if shared and policy.splits_alone and may_join(facts):
        most_rows *= TIMES_JOINT_ROWS
    if best_first:
        most_rows = max(MOST_BEST_FIRST_ROWS, MOST_ROWS_A_LEAF * params.max_leaves)
    large = facts.n_rows > most_rows or pages.adds_histograms
    if caps is None or pages.kind != "dense" or large or params.is_ordered:
        return False
    by_level = policy.splits_alone or (policy.fills_levels and not facts.has_vectors)
    if not (by_level or best_first) or params.histogram != "auto" or params.work_group_size:
        return False
    if params.linear_tree:  # all leaves need their lists of rows
        return False
    of_borders = pages.has_sets or pages.has_monotone or params.reg_alpha > 0 or params.smooths
    lists_drawn = (
        params.leaves_out_rows and variant_of("update_margins", facts, caps).name == "walk"
    )
    if of_borders or lists_drawn or not _draws_whole(facts, policy):
        return False
    few = pages.most_bins < MOST_CODES_WHOLE and pages.most_codes <= MOST_CODES_WHOLE
    if not few or pages.n_features >= MOST_FEATURES_WHOLE:
        return False
    # work-groups wait for one another, so most of their threads have to run
    run = caps.compute_units <= MOST_UNITS_A_CORE * usable_cores()
    return run and variant_of("whole_trees", facts, caps).name == "one_launch"


def _draws_whole(facts: FitFacts, policy: Policy) -> bool:
    """Whether one launch can grow trees with these draws of columns and of splits."""
    params = facts.parameters
    if params.forced_splits:
        return False
    if policy.fills_levels:  # groups that interact depend on the nodes above
        return not (params.extra_trees or facts.pages.limits_paths)
    listed = facts.n_drawn and not policy.picks_leaves
    return not ((facts.pages.masks_columns and not listed) or params.draws_splits)
