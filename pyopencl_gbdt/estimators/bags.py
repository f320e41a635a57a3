"""Bags of folds: a model for each fold, whose margins are averaged in one model.

Each member is trained on the other folds, and its own fold says when it stops. The leaves of all
members are multiplied by 1 / n_folds, in float32, and lie one member after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.estimators.held_out import (
    LEAST_ROWS,
    HoldOut,
    NothingHeldOutError,
    RowIds,
    counted_rows,
)
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.joined_statistics import ModelStatistics, join_statistics
from pyopencl_gbdt.model.statistics import Statistics
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.prediction.model import Model

#: Trains on the first rows and stops by the others.
Member = Callable[[Dataset, Dataset], Model]


def folds_of(data: Dataset, division: HoldOut, n_folds: int) -> list[tuple[RowIds, RowIds]]:
    """Return the rows to train on and the rows held out, for each fold; both ascend.

    Parameters
    ----------
    data : Dataset
    division : HoldOut
        How rows are divided; its share does not matter. Groups stay together; each goes to the
        fold that is smallest so far, the largest first.
    n_folds : int
        With fewer groups, there are as many folds as groups.

    Raises
    ------
    NothingHeldOutError
        If the rows cannot be divided.
    """
    units, n_rows = division.units(data), counted_rows(data).size
    if 2 * n_rows < n_folds * LEAST_ROWS:  # two folds are left in the last division
        raise NothingHeldOutError(f"{n_rows} rows are too few for {n_folds} folds")
    if units is None:
        folds = _rows(data, division, n_folds)
    else:
        folds = _whole(data, units[1], division.order, n_folds)
    everything = np.arange(data.n_rows)
    return [(np.setdiff1d(everything, held), held) for held in folds]


def _rows(data: Dataset, division: HoldOut, n_folds: int) -> list[RowIds]:
    """Return folds of about as many rows; all rows are on their own."""
    left, folds = np.arange(data.n_rows), []
    for remaining in range(n_folds, 1, -1):
        part = data.slice(left)
        share = -(-counted_rows(part).size // remaining)
        own = replace(division, share=share, each_class=False)
        rest, held = own.divide(part)
        folds.append(left[held])
        left = left[rest]
    return [*folds, left]


def _whole(
    data: Dataset, of_row: RowIds, order: Callable[[int], RowIds], n_folds: int
) -> list[RowIds]:
    """Return folds of whole groups."""
    sizes = np.bincount(of_row[counted_rows(data)], minlength=int(of_row.max()) + 1)
    n_folds = min(n_folds, int(np.count_nonzero(sizes)))
    if n_folds < 2:
        raise NothingHeldOutError("all rows are of one group")
    fold_of, totals = np.empty(sizes.size, np.int64), np.zeros(n_folds, np.int64)
    shuffled = order(sizes.size)
    for unit in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold_of[unit] = totals.argmin()
        totals[fold_of[unit]] += sizes[unit]
    return [np.flatnonzero(fold_of[of_row] == fold) for fold in range(n_folds)]


def train_bag(
    data: Dataset, folds: Sequence[tuple[RowIds, RowIds]], member: Member
) -> tuple[Model, list[tuple[Model, Dataset]]]:
    """Return the joined model of all folds, and each member with the rows it has not seen."""
    members = []
    for rest, held in folds:
        unseen = data.slice(held)
        members.append((member(data.slice(rest), unseen), unseen))
    return joined([model for model, _ in members]), members


def joined(members: Sequence[Model]) -> Model:
    """Return a model whose margins are the means of the members', up to rounding.

    Parameters
    ----------
    members : sequence of Model
        With the same base scores, columns and levels; of each the rounds up to the best count.
        All or none have statistics of categories, each of its own rows.

    Raises
    ------
    ParameterError
        If a member has weights of trees.
    """
    ensembles = [model.ensemble for model in members]
    if any(one.tree_weights is not None for one in ensembles):
        raise ParameterError(
            "members: expected models without weights of trees; train each with booster='gbtree'"
        )
    share = np.float32(1 / len(members))
    trees = [[_scaled(tree, share) for tree in _used(model)] for model in members]
    statistics: ModelStatistics | None = None
    own = [one.statistics for one in ensembles if isinstance(one.statistics, Statistics)]
    if own:
        statistics, trees = join_statistics(own, trees)
    flat = [tree for of_member in trees for tree in of_member]
    ensemble: Ensemble = replace(ensembles[0], trees=flat, statistics=statistics, attributes={})
    return Model(ensemble, None, members[0].parameters)


def _used(model: Model) -> list[Tree]:
    """Return the trees of the rounds that ``predict`` uses."""
    ensemble = model.ensemble
    return ensemble.trees[: model.rounds_to_predict * ensemble.round_trees]


def _scaled(tree: Tree, share: np.float32) -> Tree:
    more: dict[str, Any] = {"value": tree.value * share, "weight": tree.weight * share}
    if tree.linear is not None:
        more["linear"] = tree.linear.scaled(share)
    return replace(tree, **more)
