"""Which rows an estimator holds out of training, to stop or to calibrate by; bags of folds.

A bag has a model for each fold, whose margins are averaged in one model. Each member is trained on
the other folds, and its own fold says when it stops. The leaves of all members are multiplied by
1 / n_folds, in float32, and lie one member after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.joined_statistics import ModelStatistics, join_statistics
from pyopencl_gbdt.model.statistics import Statistics
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.prediction.model import Model

RowIds = npt.NDArray[np.int64]
#: The least number of rows of which a share is held out.
LEAST_ROWS = 10


class NothingHeldOutError(Exception):
    """Raised where no rows can be held out; the text says why."""


@dataclass(frozen=True)
class HoldOut:
    """How rows are held out.

    Attributes
    ----------
    share : float or int
        Share of the rows, above 0 and below 1; or number of rows.
    classes : bool
        Whether labels are codes of classes, whose shares are kept.
    in_time : bool
        Whether the last rows are held out.
    groups : array-like, shape (n_rows,), or None
        Rows of a group stay together.
    seed : int
        For ``numpy.random.RandomState``, whose numbers are the same in all NumPy versions.
    each_class : bool
        Whether a row at least of each class with two rows or more is held out.
    """

    share: float | int
    classes: bool = False
    in_time: bool = False
    groups: Any = None
    seed: int = 0
    each_class: bool = True

    def divide(self, data: Dataset) -> tuple[RowIds, RowIds]:
        """Return the rows to train on and the rows held out, both ascending.

        Queries and groups stay together. Of a class with a single row none is held out. Rows of
        weight 0 do not count; they stay among the rows to train on, or with their group.

        Raises
        ------
        NothingHeldOutError
            If there are too few rows, one class, one query or one group.
        DataError
            If ``groups`` has not an entry for each row.
        """
        counted = counted_rows(data)
        n_rows = counted.size
        wanted = self.share if isinstance(self.share, int) else _ceil(self.share, n_rows)
        if n_rows < LEAST_ROWS or wanted >= n_rows:
            raise NothingHeldOutError(f"{n_rows} rows are too few to hold out {wanted}")
        units = self.units(data)
        held = np.zeros(data.n_rows, bool)
        if units is not None:
            what, of_row = units
            held |= np.isin(of_row, _whole_units(what, of_row[counted], wanted, self.order))
        elif self.in_time:
            held[counted[-wanted] :] = True
        elif self.classes:
            codes = data.label[counted].astype(np.int64)
            held[counted[_by_class(codes, wanted, self.order, int(self.each_class))]] = True
        else:
            held[counted[self.order(n_rows)[:wanted]]] = True
        return np.flatnonzero(~held), np.flatnonzero(held)

    def units(self, data: Dataset) -> tuple[str, RowIds] | None:
        """Return what rows belong to, in words, and which one each row belongs to.

        None where each row is on its own.
        """
        if data.group_offsets is not None:
            sizes = np.diff(data.group_offsets)
            return "query", np.repeat(np.arange(sizes.size), sizes)
        if self.groups is None:
            return None
        return "group", group_codes(self.groups, data.n_rows)

    def order(self, n: int) -> RowIds:
        """Return 0 to n - 1 in the order in which they are held out."""
        if self.in_time:
            return np.arange(n)[::-1].astype(np.int64)
        return np.random.RandomState(self.seed).permutation(n).astype(np.int64)


def group_codes(groups: Any, n_rows: int) -> RowIds:
    """Return the number of each row's group, in order of first occurrence.

    Raises
    ------
    DataError
        If ``groups`` has not an entry for each row, or has some that cannot be compared.
    """
    try:
        given = np.asarray(groups)
        _, first, codes = np.unique(given, return_index=True, return_inverse=True)
        comparable = not np.not_equal(given, given).any()  # as NaN is not
    except (TypeError, ValueError):
        comparable = False
    if not comparable:
        shown = show(np.asarray(groups, object).tolist())
        raise DataError(
            f"groups={shown}: expected numbers or texts of one type, none of them missing; "
            "give missing ones a group of their own"
        )
    if given.shape != (n_rows,):
        raise DataError(
            f"groups of shape {given.shape}: expected ({n_rows},), an entry for each row; "
            "give the group of every row of X"
        )
    return np.argsort(np.argsort(first))[codes.reshape(-1)].astype(np.int64)


def _ceil(share: float, n_rows: int) -> int:
    """Return the least whole number that is not below the product, as scikit-learn has it."""
    return int(np.ceil(share * n_rows))


def _whole_units(what: str, of_row: RowIds, wanted: int, order: Callable[[int], RowIds]) -> RowIds:
    """Return whole queries or groups that have the rows wanted; one stays at least."""
    units, sizes = np.unique(of_row, return_counts=True)
    if units.size < 2:
        raise NothingHeldOutError(f"all rows are of one {what}")
    chosen = order(units.size)[:-1]
    enough = int(np.searchsorted(np.cumsum(sizes[chosen]), wanted)) + 1
    return units[chosen[:enough]].astype(np.int64)


def _by_class(codes: RowIds, wanted: int, order: Callable[[int], RowIds], least: int) -> RowIds:
    """Return rows such that each class has its share of them, by largest remainders.

    Each class with two rows or more has ``least`` rows among them, 0 or 1.
    """
    counts = np.bincount(codes)
    if np.count_nonzero(counts) < 2:
        raise NothingHeldOutError("all rows are of one class")
    shares, rest = np.divmod(counts * wanted, codes.size)
    most = np.argsort(-rest, kind="stable")[: wanted - int(shares.sum())]
    shares[most] += 1
    shares = np.minimum(np.maximum(shares, least), np.maximum(counts - 1, 0))
    if not shares.any():
        raise NothingHeldOutError("no class has two rows")
    rows = order(codes.size)
    return np.concatenate([rows[codes[rows] == code][:n] for code, n in enumerate(shares)])


def counted_rows(data: Dataset) -> RowIds:
    """Return the rows whose weight is not 0, ascending."""
    return np.arange(data.n_rows) if data.weight is None else np.flatnonzero(data.weight)


def divided(data: Dataset, division: HoldOut) -> tuple[Dataset, Dataset]:
    """Return the data sets to train on and held out."""
    rest, held = division.divide(data)
    return data.slice(rest), data.slice(held)


#: Trains on the first rows and stops by the others.
Member = Callable[[Dataset, Dataset], Model]


def folds_of(data: Dataset, division: HoldOut, n_folds: int) -> list[tuple[RowIds, RowIds]]:
    """Return the rows to train on and the rows held out, for each fold; both ascend.

    ``division``: how rows are divided; its share does not matter. Groups stay together; each goes
    to the fold that is smallest so far, the largest first.
    ``n_folds``: with fewer groups, there are as many folds as groups.

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

    ``members``: with the same base scores, columns and levels; of each the rounds up to the best
    count. All or none have statistics of categories, each of its own rows.

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
