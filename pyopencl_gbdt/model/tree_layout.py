"""Positions and texts of the boxes of a drawn tree; does not use matplotlib.

Each level of the tree is a column. A box without drawn children takes the next free slot from
the top; an inner box is placed at the middle of its children::

    level    0     1     2
    slot 0               [3]
         1         [1]
         2               [4]
         .   [0]
         3         [2]
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.node_labels import FeatureMap, NodeLabels, level_of
from pyopencl_gbdt.model.pictures import shorten
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, Tree

#: Most characters of a level's name in a condition.
LONGEST_LEVEL = 14


@dataclass
class Box:
    """One node of the picture.

    Attributes
    ----------
    node, level : int
        Node id and depth.
    lines : tuple of str
        The split's condition, or the leaf's value or function; then gain and cover.
    answer : str
        The branch from the parent: ``yes`` or ``no``, and whether missing values take it.
    share : float
        The node's cover as a part of the root's, 0..1.
    value : float
        The leaf's value; 0 if leaves are vectors, whose numbers differ in sign.
    is_leaf, is_cut : bool
        Cut: an inner node whose children are not drawn.
    slot : float
        Vertical position in slots.
    """

    node: int
    level: int
    parent: Box | None
    lines: tuple[str, str]
    answer: str
    share: float
    value: float
    is_leaf: bool
    is_cut: bool
    slot: float = 0.0


@dataclass
class TreeLayout:
    """All boxes, parents before children, and the size of the picture.

    Attributes
    ----------
    n_slots : int
        Height, in slots.
    level_widths : list of int
        Number of characters of the longest line of each level.
    note : str
        How to read the picture, and what is left out of it.
    """

    boxes: list[Box]
    n_slots: int
    level_widths: list[int]
    note: str


def lay_out(ensemble: Ensemble, tree: int, max_depth: int, longest: int) -> TreeLayout:
    """Lay out the nodes of one tree down to ``max_depth``; cut labels to ``longest`` characters."""
    shown = ensemble.trees[tree]
    n_below = _count_descendants(shown)
    boxes: list[Box] = []
    pending: list[tuple[int, Box | None]] = [(0, None)]
    while pending:  # depth first, "yes" before "no", which is the order of the slots
        node, parent = pending.pop()
        box = _box(ensemble, shown, node, parent, max_depth, n_below[node], longest)
        boxes.append(box)
        if not box.is_leaf and not box.is_cut:
            left, right = int(shown.left[node]), int(shown.right[node])
            yes_first = [(right, box), (left, box)]
            pending += yes_first if _yes_is_left(ensemble, shown, node) else yes_first[::-1]
    n_slots = _place(boxes)
    hidden = shown.n_nodes - len(boxes)
    note = "upper branch: yes  ·  line width: share of the cover (sum of Hessians)"
    if hidden:
        note += f"  ·  {hidden} of {shown.n_nodes} nodes, below depth {max_depth}, are not drawn"
    level_widths = [0] * (1 + max(box.level for box in boxes))
    for box in boxes:
        level_widths[box.level] = max(level_widths[box.level], *map(len, box.lines))
    return TreeLayout(boxes, n_slots, level_widths, note)


def _place(boxes: list[Box]) -> int:
    """Set every ``slot``; return the number of slots."""
    n_slots = 0
    children: dict[int, list[float]] = {}
    for box in boxes:
        if box.is_leaf or box.is_cut:
            box.slot = float(n_slots)
            n_slots += 1
    for box in reversed(boxes):  # children come before their parents
        if box.node in children:
            box.slot = sum(children[box.node]) / 2
        if box.parent is not None:
            children.setdefault(box.parent.node, []).append(box.slot)
    return n_slots


def _box(
    ensemble: Ensemble,
    tree: Tree,
    node: int,
    parent: Box | None,
    max_depth: int,
    n_below: int,
    longest: int,
) -> Box:
    level = 0 if parent is None else parent.level + 1
    is_leaf = n_below == 0
    is_cut = not is_leaf and level >= max_depth
    cover = float(tree.sum_hessian[node])
    if is_leaf:
        values = ", ".join(f"{value:+.4g}" for value in tree.value[node])
        formula = NodeLabels(ensemble, FeatureMap()).formula(tree, node, lambda one: f"{one:.4g}")
        lines = (shorten(formula or values, longest), f"cover {cover:.4g}")
    else:
        detail = f"gain {tree.gain[node]:.4g} · cover {cover:.4g}"
        condition = _condition(ensemble, tree, node, longest)
        lines = (condition, f"{n_below} nodes below" if is_cut else detail)
    answer = ""
    if parent is not None:
        goes_left = node == tree.left[parent.node]
        answer = "yes" if goes_left == _yes_is_left(ensemble, tree, parent.node) else "no"
        if bool(tree.default_left[parent.node]) == goes_left:
            answer += ", missing"
    whole = float(tree.sum_hessian[0])
    share = float(np.clip(cover / whole, 0.0, 1.0)) if whole > 0.0 else 0.0
    value = float(tree.value[node, 0]) if tree.n_outputs == 1 else 0.0
    return Box(node, level, parent, lines, answer, share, value, is_leaf, is_cut)


def _listed(ensemble: Ensemble, tree: Tree, node: int) -> tuple[list[int], bool]:
    """Return the codes of a split by a set on the side that has fewer, and whether it is left."""
    right = np.flatnonzero(tree.right_set(node))
    levels = ensemble.categories.get(int(tree.feature[node]))
    left = np.setdiff1d(np.arange(0 if levels is None else levels.n_levels), right)
    return (left.tolist(), True) if 0 < left.size < right.size else (right.tolist(), False)


def _yes_is_left(ensemble: Ensemble, tree: Tree, node: int) -> bool:
    """Tell whether rows that meet the drawn condition of a split go left."""
    return tree.split_kind[node] != CATEGORY_SPLIT or _listed(ensemble, tree, node)[1]


def _condition(ensemble: Ensemble, tree: Tree, node: int, longest: int) -> str:
    """Return what a split asks, in ``longest`` characters: ``town in {Bern, Ulm}``."""
    feature = int(tree.feature[node])
    name = ensemble.feature_name(feature)
    if tree.split_kind[node] != CATEGORY_SPLIT:
        asked = f" < {tree.threshold[node]:.5g}"
        return shorten(name, longest - len(asked)) + asked
    codes, _ = _listed(ensemble, tree, node)
    asked = " in {}"
    for n_shown in range(min(len(codes), longest // 3), 0, -1):
        shown = [_level_name(ensemble, feature, code) for code in codes[:n_shown]]
        if n_shown < len(codes):
            shown.append(f"{len(codes) - n_shown} more")
        asked = f" in {{{', '.join(shown)}}}"
        if len(name) + len(asked) <= longest:
            break
    return shorten(name, longest - len(asked)) + asked


def _level_name(ensemble: Ensemble, feature: int, code: int) -> str:
    """Return a level in few characters, or the code if the model has no level for it."""
    return shorten(str(level_of(ensemble, feature, code)), LONGEST_LEVEL)


def _count_descendants(tree: Tree) -> list[int]:
    below = [0] * tree.n_nodes
    parents = tree.parent.tolist()
    for node in range(tree.n_nodes - 1, 0, -1):  # children come before their parents
        below[parents[node]] += below[node] + 1
    return below
