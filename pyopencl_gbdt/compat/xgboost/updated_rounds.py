"""Rounds that change the trees of a model instead of growing new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.xgboost.losses import Gradients
from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.metrics import Collector
from pyopencl_gbdt.compat.xgboost.rounds import Plan
from pyopencl_gbdt.compat.xgboost.updated_trees import pruned, refreshed
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.model import Model

F32 = npt.NDArray[np.float32]
#: What can be done to a tree.
UPDATERS = ("refresh", "prune")


class UpdatedRounds:
    """What ``Rounds`` does, by trees of a model: each round changes those of the next round there.

    Parameters
    ----------
    plan : Plan
        As for ``Rounds``; its evaluation sets are left to predictions of the model.
    matrix : DMatrix
    before : Ensemble or None
        The model whose trees are changed.
    updaters : str
        ``"refresh"``, ``"prune"`` or both with a comma between them.
    values : bool
        Whether leaves get new values.

    Raises
    ------
    ParameterError
        If there is no model, it has weights of trees, or an updater is unknown.
    """

    given = False

    def __init__(
        self, plan: Plan, matrix: DMatrix, before: Ensemble | None, updaters: str, *, values: bool
    ) -> None:
        self.plan = replace(plan, evals=(), metrics=())
        self.matrix, self.rows, self.collector = matrix, matrix.dataset(), Collector()
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
        self._p = Parameters.from_dict(plan.params)
        self.n_done = 0
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

    def suits(self, matrix: DMatrix, given: bool, first_round: int | None) -> bool:
        """Tell whether the next round on this matrix can be one of these."""
        return matrix is self.matrix and matrix.dataset() is self.rows and not given

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
        rate = self._p.learning_rate / before.n_parallel
        p = replace(self._p, learning_rate=rate)
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

    @property
    def learning_rate(self) -> float:
        return self._p.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        self._p = replace(self._p, learning_rate=value)

    def last_scores(self, name: str) -> list[tuple[str, float]]:
        """Return no metric: they come of predictions."""
        return []

    def model(self, names: Sequence[str] | None) -> Model:
        """Return the model of the trees that have been changed."""
        kept = None if names is None else list(names)
        return Model(replace(self._before, trees=list(self._trees), feature_names=kept))

    def close(self) -> None:
        """End; nothing is to be freed."""
