"""Rounds that change the trees of a model instead of growing new ones.

Numbers of trees are computed again, or trees lose splits. A node's sums are those of the gradients
of its rows, added up row by row and then from the leaves to the root, in float64: the order is
fixed, so a machine does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.objective import Gradients
from pyopencl_gbdt.compat.xgboost.rounds import HostRounds, Plan
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.model.tree import NO_NODE, Tree
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.model import Model

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
#: What can be done to a tree.
UPDATERS = ("refresh", "prune")
#: Arrays of a tree that hold 0 for leaves.
_OF_SPLITS = ("feature", "threshold", "default_left", "split_kind", "gain")


class UpdatedRounds(HostRounds):
    """Rounds by trees of a model: each round changes those of the next round there.

    ``updaters``: ``"refresh"``, ``"prune"`` or both with a comma between them.
    ``values``: whether leaves get new values.

    Raises
    ------
    ParameterError
        If there is no model, it has weights of trees, or an updater is unknown.
    """

    def __init__(
        self, plan: Plan, matrix: DMatrix, before: Ensemble | None, updaters: str, *, values: bool
    ) -> None:
        super().__init__(plan, matrix, Parameters.from_dict(plan.params))
        self._updaters = [one.strip() for one in updaters.split(",") if one.strip()]
        wrong = [one for one in self._updaters if one not in UPDATERS]
        if wrong or not self._updaters:
            raise ParameterError(
                f"updater={show(updaters)}: expected 'refresh' or 'prune' with "
                "process_type='update'; give one of them"
            )
        if before is None or before.tree_weights is not None:
            raise ParameterError(
                "process_type='update': expected a model of booster='gbtree' whose trees are "
                "changed; give it as xgb_model="
            )
        self._before, self._values = before.with_numbers(), values
        self._trees: list[Tree] = []
        self._leaves = self._leaf_numbers()
        n_outputs = self._before.n_outputs
        self._margins = np.zeros((n_outputs, self.rows.n_rows), np.float32)
        own = self.rows.base_margin
        if own is None:
            self._margins += np.array(each(self._before.base_margin), np.float32)[:, None]
        else:
            self._margins += own.reshape(self.rows.n_rows, n_outputs).T

    def _leaf_numbers(self) -> npt.NDArray[np.int64]:
        """Return the leaf of each row in each tree, by its place in the tree's arrays."""
        plain = Model(replace(self._before, attributes={}, feature_names=None))
        rows = replace(self.rows.checked, names=None)
        numbers = plain.predict(type(self.rows)(rows), pred_leaf=True).astype(np.int64)
        for index, tree in enumerate(self._before.trees):
            if tree.file_numbers is not None:
                place = np.zeros(int(tree.file_numbers.max()) + 1, np.int64)
                place[tree.file_numbers] = np.arange(tree.n_nodes)
                numbers[:, index] = place[numbers[:, index]]
        return numbers

    def step(self, gradients: Gradients | None = None) -> None:
        """Change the trees of a round.

        Raises
        ------
        ParameterError
            If all trees have been changed.
        """
        before, first = self._before, len(self._trees)
        if first >= len(before.trees):
            raise ParameterError(
                "No more tree left for updating. For updating existing trees, boosting rounds can "
                f"not exceed previous training rounds: {before.n_rounds}; lower num_boost_round"
            )
        g, h = self.plan.objective.gradients(self._margins, self.rows)
        weight = self.rows.weight
        if weight is not None and not self.plan.objective.applies_weights:
            g, h = g * weight, h * weight
        added = np.zeros_like(self._margins)
        p = replace(self._how, learning_rate=self.learning_rate / before.n_parallel)
        for place in range(before.round_trees):
            index, output = first + place, place // before.n_parallel
            tree, leaves = before.trees[index], self._leaves[:, index]
            if "refresh" in self._updaters:
                tree = refreshed(tree, leaves, g[output], h[output], p, values=self._values)
            self._trees.append(tree)
            added[output] += tree.value[leaves, 0]
            if "prune" in self._updaters:
                self._trees[-1] = less = pruned(tree, p)
                if less is not tree:
                    added[output] += self._after(less) - tree.value[leaves, 0]
        self._margins += added
        self.n_done += 1

    def _after(self, tree: Tree) -> F32:
        """Return what a tree with fewer splits adds to each row."""
        alone = Ensemble([tree], "reg:squarederror", self._before.n_features, 0.0, 0.0,
                         categories=self._before.categories)  # fmt: skip
        rows = type(self.rows)(replace(self.rows.checked, names=None))
        found: F32 = Model(alone).predict(rows, output_margin=True)
        return found

    def model(self, names: Sequence[str] | None) -> Model:
        """Return the model of the trees that have been changed."""
        kept = None if names is None else list(names)
        return Model(replace(self._before, trees=list(self._trees), feature_names=kept))


def node_sums(tree: Tree, leaves: I64, values: F32) -> F64:
    """Return the sum over the rows of each node, shape (n_nodes,).

    Parameters
    ----------
    leaves : int64 array, shape (n_rows,)
        The leaf of each row, by its place in the tree's arrays.
    values : float32 array, shape (n_rows,)
    """
    own = values.astype(np.float64)
    sums: F64 = np.bincount(leaves, own, minlength=tree.n_nodes).astype(np.float64)
    for node in range(tree.n_nodes - 1, 0, -1):  # children stand behind their parents
        sums[tree.parent[node]] += sums[node]
    return sums


def _shrunk(g: F64, p: Parameters) -> F64:
    """Return gradients after the L1 penalty."""
    found: F64 = np.sign(g) * np.maximum(np.abs(g) - p.reg_alpha, 0.0)
    return found


def _weights(g: F64, h: F64, p: Parameters) -> F64:
    """Return the optimal weight of each node; 0 where the sum of Hessians is too small."""
    usable = (h >= p.min_child_weight) & (h > 0)
    found = np.where(usable, -_shrunk(g, p) / np.where(usable, h + p.reg_lambda, 1.0), 0.0)
    return np.clip(found, -p.max_delta_step, p.max_delta_step) if p.max_delta_step else found


def _scores(g: F64, h: F64, p: Parameters) -> F64:
    """Return how much each node's weight lowers the loss, times 2."""
    w = _weights(g, h, p)
    penalty = 2 * p.reg_alpha * np.abs(w)
    return -(2 * g * w + (h + p.reg_lambda) * w * w + penalty)


def refreshed(tree: Tree, leaves: I64, g: F32, h: F32, p: Parameters, *, values: bool) -> Tree:
    """Return a tree of the same splits with the sums, weights and gains of other rows.

    Parameters
    ----------
    leaves : int64 array, shape (n_rows,)
        The leaf of each row.
    g, h : float32 array, shape (n_rows,)
        Gradients and Hessians, with the rows' weights.
    p : Parameters
        Penalties and the learning rate.
    values : bool
        Whether leaves get new values too.
    """
    sums, hessians = node_sums(tree, leaves, g), node_sums(tree, leaves, h)
    is_leaf = tree.is_leaf
    scores = _scores(sums, hessians, p)
    gain = np.zeros(tree.n_nodes)
    inner = np.flatnonzero(~is_leaf)
    gain[inner] = scores[tree.left[inner]] + scores[tree.right[inner]] - scores[inner]
    weight = _weights(sums, hessians, p)
    rate = np.where(is_leaf & (np.arange(tree.n_nodes) > 0), p.learning_rate, 1.0)
    own = np.where(is_leaf, weight * p.learning_rate, 0.0).astype(np.float32)[:, None]
    return replace(
        tree,
        weight=(weight * rate).astype(np.float32)[:, None],
        gain=gain.astype(np.float32),
        sum_hessian=hessians.astype(np.float32),
        value=own if values else tree.value,
    )


def pruned(tree: Tree, p: Parameters) -> Tree:
    """Return a tree without splits whose gain is below ``gamma`` or that lie below ``max_depth``.

    A split goes only if both its children are leaves by then.
    """
    left, right = tree.left.copy(), tree.right.copy()
    value, depth = tree.value.copy(), tree.depth
    is_leaf = tree.is_leaf.copy()
    for node in range(tree.n_nodes - 1, -1, -1):
        if is_leaf[node] or not (is_leaf[left[node]] and is_leaf[right[node]]):
            continue
        if tree.gain[node] < p.gamma or (p.max_depth and depth[node] + 1 > p.max_depth):
            value[node] = np.float32(p.learning_rate) * tree.weight[node]
            is_leaf[node] = True
    return _joined(tree, is_leaf, value)


def _joined(tree: Tree, is_leaf: npt.NDArray[np.bool_], value: F32) -> Tree:
    """Return the nodes that can be reached from the root, numbered anew."""
    kept, at = [0], 0
    while at < len(kept):
        node = kept[at]
        if not is_leaf[node]:
            kept += [int(tree.left[node]), int(tree.right[node])]
        at += 1
    if len(kept) == tree.n_nodes:
        return tree
    chosen = np.array(kept)
    place = np.full(tree.n_nodes, NO_NODE, np.int32)
    place[chosen] = np.arange(len(kept))
    leaf = is_leaf[chosen]
    sets = [tree.sets[tree.set_begin[n] : tree.set_begin[n + 1]] for n in kept]
    sets = [one[:0] if stops else one for one, stops in zip(sets, leaf, strict=True)]

    def inner(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.where(leaf, np.zeros((), array.dtype), array[chosen]).astype(array.dtype)

    def child(array: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        return np.where(leaf, NO_NODE, place[array[chosen]]).astype(np.int32)

    of_splits: dict[str, Any] = {name: inner(getattr(tree, name)) for name in _OF_SPLITS}
    above = tree.parent[chosen]
    return Tree(
        left=child(tree.left),
        right=child(tree.right),
        parent=np.where(above == NO_NODE, NO_NODE, place[above]).astype(np.int32),
        value=value[chosen],
        weight=tree.weight[chosen],
        sum_hessian=tree.sum_hessian[chosen],
        sets=np.concatenate([*sets, np.zeros(0, np.uint32)]).astype(np.uint32),
        set_begin=np.cumsum([0, *(one.size for one in sets)]).astype(np.int32),
        **of_splits,
    )
