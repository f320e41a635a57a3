"""Trees of a model, as rows walk them on a device: by codes, and by values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.dtypes import STEP, WALK, WALK_BY_SET
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.pages.page import AnyCodes, Layout

#: In ``place`` of ``step_t``: the split is by a set, see ``cl_kernels/set_decision.h``.
BY_SET = 1 << 31


@dataclass(frozen=True)
class CodedTrees:
    """Trees, one behind the other; children are counted from the tree's root.

    Attributes
    ----------
    steps : array of ``dtypes.STEP``
        Nodes, for rows of codes.
    walk : array of ``dtypes.WALK``
        Nodes, for rows of values.
    begin : uint32 array, shape (n_trees,)
        The root of each tree.
    longest : int
        Most nodes on the way to a leaf.
    sets : uint32 array
        Sets of codes, see ``cl_kernels/set_decision.h``; one word if there are none.
    """

    steps: npt.NDArray[np.void]
    walk: npt.NDArray[np.void]
    begin: npt.NDArray[np.uint32]
    longest: int
    sets: npt.NDArray[np.uint32]


def coded_trees(
    trees: Sequence[Tree], layout: Layout, codes: AnyCodes, set_words: int = 0
) -> CodedTrees:
    """Return trees whose thresholds are borders of bins.

    ``codes``: the codes of the rows that walk.
    ``set_words``: words of the set of a split; 0 where no split is by one.

    Raises
    ------
    DataError
        If a threshold is not a border of these data, as the model was trained on other data.
    """
    sizes = [tree.n_nodes for tree in trees]
    begin = np.cumsum([0, *sizes])
    steps, walk = np.zeros(int(begin[-1]), STEP), np.zeros(int(begin[-1]), WALK)
    for number, (tree, first) in enumerate(zip(trees, begin[:-1].tolist(), strict=True)):
        own = slice(first, first + tree.n_nodes)
        leaf, feature = tree.is_leaf, tree.feature
        last = _bins(number, tree, layout)
        also = np.where(tree.default_left, layout.feature_bins[feature], last)
        steps["left"][own] = walk["left"][own] = np.where(leaf, 0, tree.left)
        each = codes.block_features
        steps["place"][own] = feature // each * codes.block_codes + feature % each
        steps["lefts"][own] = last | also.astype(np.uint32) << 16
        steps["value"][own] = tree.value[:, 0]
        walk["feature"][own], walk["default_left"][own] = feature, tree.default_left
        walk["number"][own] = np.where(leaf, tree.value[:, 0], tree.threshold)
    sets = [np.zeros(1, np.uint32)]
    for tree, first in zip(trees, begin[:-1].tolist(), strict=True):
        for node in np.flatnonzero(_by_set(tree)).tolist():
            own = first + node
            set_begin = sum(one.size for one in sets)
            sets.append(
                _set_of(tree, node, int(layout.feature_bins[tree.feature[node]]), set_words)
            )
            steps["place"][own] |= BY_SET
            steps["lefts"][own] = walk["number"].view(np.uint32)[own] = set_begin
            walk["default_left"][own] |= WALK_BY_SET
    longest = max((1 + _depth(tree) for tree in trees), default=1)
    return CodedTrees(steps, walk, begin[:-1].astype(np.uint32), longest, np.concatenate(sets))


def _by_set(tree: Tree) -> npt.NDArray[np.bool_]:
    """Tell which nodes split by a set."""
    if tree.sets is None or tree.set_begin is None:
        return np.zeros(tree.n_nodes, np.bool_)
    found: npt.NDArray[np.bool_] = np.diff(tree.set_begin) > 0
    return found


def _set_of(tree: Tree, node: int, n_levels: int, set_words: int) -> npt.NDArray[np.uint32]:
    """Return the number of levels, and a bit for each code that goes right; see ``CodedTrees``."""
    assert tree.sets is not None
    assert tree.set_begin is not None
    words = tree.sets[tree.set_begin[node] : tree.set_begin[node + 1]]
    found = np.zeros(set_words, np.uint32)
    found[0], found[1 : 1 + words.size] = n_levels, words
    if not tree.default_left[node]:
        found[1 + n_levels // 32] |= np.uint32(1 << n_levels % 32)
    return found


def plan_earlier(plan: MemoryPlan, trees: Sequence[Tree], set_words: int = 0) -> None:
    """Add to a plan what the trees of a model that is continued take on the device."""
    n_nodes = sum(tree.n_nodes for tree in trees)
    plan.add("steps of earlier trees", n_nodes, STEP)
    plan.add("walk of earlier trees", n_nodes, WALK)
    plan.add("roots of earlier trees", len(trees), np.uint32)
    if n_sets := sum(int(_by_set(tree).sum()) for tree in trees):
        plan.add("sets of earlier trees", n_sets * set_words + 1, np.uint32)


def _bins(number: int, tree: Tree, layout: Layout) -> npt.NDArray[np.uint32]:
    """Return the last bin that goes left at every node; 0 in leaves."""
    found = np.zeros(tree.n_nodes, np.uint32)
    for node in np.flatnonzero(~tree.is_leaf & ~_by_set(tree)).tolist():
        feature, threshold = int(tree.feature[node]), tree.threshold[node]
        first, n_bins = int(layout.feature_offset[feature]), int(layout.feature_bins[feature])
        borders = layout.thresholds[first : first + n_bins]
        place = int(np.searchsorted(borders, threshold))
        if place == n_bins or borders[place] != threshold:
            raise DataError(
                f"model: tree {number} splits column {feature} at {threshold}, where bins of this "
                "data have no border: expected a model of the same data for booster='dart', whose "
                "rounds drop its trees; train all rounds on this data"
            )
        found[node] = place
    return found


def _depth(tree: Tree) -> int:
    """Return the depth of a tree's deepest leaf."""
    depth = np.zeros(tree.n_nodes, np.int64)
    for node in range(1, tree.n_nodes):  # breadth first, so parents come before
        depth[node] = depth[tree.parent[node]] + 1
    return int(depth.max())
