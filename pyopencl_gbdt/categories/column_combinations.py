"""Statistics of combinations of columns, found while trees grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.categories.combination_codes import CombinationCodes, CombinationKeys
from pyopencl_gbdt.categories.ordered_statistics import OrderedStatistics, WalkedOrders
from pyopencl_gbdt.categories.pair_scores import (
    MOST_COLUMNS,
    ChosenCombinations,
    PairScores,
    ScoredPairs,
    is_scored,
    known_scores,
)
from pyopencl_gbdt.categories.statistic_sizes import MOST_NEW, n_slots
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.paper import PaperDevice
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.combinations import Combination, Part, sizes_of
from pyopencl_gbdt.model.leaf_kinds import with_vectors
from pyopencl_gbdt.model.statistics import LevelTable, Statistics
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.pages.cuts import N_BINS
from pyopencl_gbdt.pages.orders import OrderCodes
from pyopencl_gbdt.primitives.checks import run

F32 = npt.NDArray[np.float32]
#: Keys of evaluation sets, and their values on the device.
Watched = Sequence[tuple[CombinationKeys, DeviceArray]]
#: Rounds between two choices of combinations.
STRETCH = 4
#: Most combinations of a fit, so that the model's tables stay bounded.
MOST_FOUND = 64
#: Most trees that a choice looks at; of more, those at equal distances.
MOST_TREES = 64


class ColumnCombinations:
    """Combinations of a fit: their features in training, their tables in the model.

    Trees of a fit use the features of slots. When they are collected, these become the features of
    the combination that the slot had: so many behind the statistics of columns as
    ``place in found * n_means``.

    Parameters
    ----------
    data : Dataset
        The user's rows; their levels.
    in_time : bool
        Whether the rows' own order is the only one.
    levels : mapping of int to DeviceArray
        Columns whose levels are on the device, as ``CombinationCodes`` takes them.
    """

    def __init__(
        self,
        data: Dataset,
        statistics: Statistics,
        ordered: OrderedStatistics,
        most_parts: int,
        n_orders: int,
        in_time: bool,
        levels: Mapping[int, DeviceArray],
    ) -> None:
        self._data, self._statistics = data, statistics
        self._ordered, self._n_orders, self._in_time = ordered, n_orders, in_time
        self._n_levels = {column: own.n_levels for column, own in data.categories.items()}
        self._most_parts, self._n_means = most_parts, statistics.n_means
        self._first = statistics.n_columns + statistics.n_features
        self._parts = [statistics.parts(feature) for feature in range(statistics.n_features)]
        self._tables: dict[Combination, LevelTable] = {}
        self._watched: list[tuple[CombinationKeys, DeviceArray]] = []
        self._codes: OrderCodes | None = None
        device, n = ordered.device, data.n_rows
        self._combined = CombinationCodes(device, data, self._n_levels, levels)
        self._n_there = len(levels)
        n_new = min(MOST_NEW, n_slots(self._n_means))
        self._new = [device.empty((n,), np.uint32) for _ in range(n_new)]
        walks = WalkedOrders.pay(ordered, n_orders)
        self._walks = WalkedOrders(ordered, n_orders, in_time=in_time) if walks else None
        self._bound: dict[tuple[int, ...], list[Launch]] = {}
        self._greedy = self._new_greedy()
        self._before: Ensemble | None = None
        self._first_slots: ChosenCombinations | None = None
        self._scored = ScoredPairs(self._n_levels)
        self._means: dict[tuple[int, int], F32] = {}
        self.earlier: list[Tree] = []

    def _new_greedy(self) -> ChosenCombinations:
        slots = n_slots(self._n_means)
        return ChosenCombinations(slots, MOST_NEW, MOST_FOUND, self._most_parts, self._n_levels)

    @property
    def n_features(self) -> int:
        """Number of features of all slots."""
        return n_slots(self._n_means) * self._n_means

    def choose_on_paper(self, paper: PaperDevice, evals: Sequence[Dataset] = ()) -> list[object]:
        """Return arrays as ``choose``, ``score`` and ``watch`` ask for them when they need them."""
        n, own, columns = self._data.n_rows, len(self._n_levels), CombinationKeys.columns_on_paper
        numbers, n_planes = self._data.n_features - own, len(self._statistics.targets) + 1
        held: list[object] = [columns(paper, n, own - self._n_there, numbers)]
        for rows in evals:
            keys_of_rows = CombinationKeys(paper, rows, self._n_levels)
            held.append((keys_of_rows, columns(paper, rows.n_rows, own, numbers)))
        pairs = PairScores(paper, n, [1] * min(own, MOST_COLUMNS))
        begins, keys = paper.empty((n + 1,), np.uint32), paper.empty((n,), np.uint64)
        return [*held, pairs, begins, keys, paper.empty((n_planes, n), np.uint32)]

    # -- in training -----------------------------------------------------------------------
    def begin(self, codes: OrderCodes, round_trees: int, n_alike: int, quanta: DeviceArray) -> None:
        """Take the codes of a fit, whose slots are empty.

        Parameters
        ----------
        round_trees, n_alike : int
            Trees of a round, and outputs whose trees split alike: their gains are added up.
        quanta : DeviceArray of int32, shape (n_trees * n_rows, 2)
            Before a round, gradients and Hessians of the round before.
        """
        self._codes, self._round_trees, self._quanta = codes, round_trees, quanta
        self._n_alike = n_alike

    def resume(self, before: Ensemble) -> None:
        """Prepare to choose once more what trees of this training chose, round by round."""
        self._before, self.earlier = before, []
        self._scored = ScoredPairs(self._n_levels, known_scores(before.attributes))

    def replayed(self, number: int, trees: Sequence[Tree], values: F32, ahead: int) -> list[Tree]:
        """Choose combinations as before a round of the model to resume; return the round's trees.

        Parameters
        ----------
        values : float32 array, shape (n_rows, n_features)
            Gets the slots' values in the order of the round ``number + ahead``.

        Returns
        -------
        list of Tree
            The same trees, with the features of slots.
        """
        if self.is_due(number):
            self.choose([], number, keep=True)
        for (slot, order), means in self._means.items():
            if order == (number + ahead) % self._n_orders:
                first = self._first + slot * self._n_means
                values[:, first : first + self._n_means] = means.T
        slots = {held: slot for slot, held in enumerate(self._greedy.slots) if held is not None}
        place_of = np.array([slots.get(i, -1) for i in range(len(self._greedy.found))] or [-1])
        collected = self._from_model(trees)
        self.earlier += collected
        if is_scored(number + 1):
            known = self._of_splits(self.earlier)
            self._scored.columns(known, self._parts_of)  # the same ones as before
        return [self._with_features(tree, place_of) for tree in collected]

    def _from_model(self, trees: Sequence[Tree]) -> list[Tree]:
        assert self._before is not None
        statistics = self._before.statistics
        assert isinstance(statistics, Statistics)
        tables = statistics.tables[len(self._statistics.tables) :]
        known = {parts: place for place, parts in enumerate(self._greedy.found)}
        place_of = np.array([known.get(table.parts, -1) for table in tables] or [-1])
        return [self._with_features(tree, place_of) for tree in trees]

    def restart(self) -> None:
        """Go back to the slots at the fit's first round; the first call remembers them."""
        if self._first_slots is None:
            self._first_slots = deepcopy(self._greedy)
            return
        self._greedy = deepcopy(self._first_slots)
        empty = np.full((self._n_means, self._data.n_rows), np.nan, np.float32)
        for slot in range(len(self._greedy.slots)):
            for order in range(self._n_orders):
                means = self._ordered.device.upload(self._means.get((slot, order), empty))
                run(self._encoding(order, slot, means, once=True))
        self._all_codes().changed()
        self._tell_all(self._watched)

    def watch(self, rows: Dataset, values: DeviceArray) -> None:
        """Keep the features of an evaluation set up to date.

        Parameters
        ----------
        rows : Dataset
            With the user's columns.
        values : DeviceArray of float32, shape (n_rows, n_features)
            With those of trees; written to.
        """
        keys = CombinationKeys(self._ordered.device, rows, self._n_levels)
        self._watched.append((keys, values))
        self._tell_all([(keys, values)])

    def is_due(self, number: int) -> bool:
        """Tell whether combinations are chosen before this round."""
        return number > 0 and number % STRETCH == 0

    def score(self, trees: Sequence[Tree], number: int, first: int) -> None:
        """Score pairs for round ``number`` on the gradients of the round that was just trained.

        ``trees``: all collected trees of this fit.
        ``first``: where the gradients of the round's last tree begin among the quanta.
        """
        if self._walks is None:
            self._ordered.take(0, in_time=self._in_time)
        order = (self._walks or self._ordered).order
        columns = self._scored.columns(self._of_splits([*self.earlier, *trees]), self._parts_of)
        levels = [self._combined.levels(column) for column in columns]
        self._scored.score(number, columns, order, self._quanta, first, levels)

    def choose(self, trees: Sequence[Tree], number: int, *, keep: bool = False) -> None:
        """Choose combinations by the trees of the last rounds, and compute their features.

        Parameters
        ----------
        trees : sequence of Tree
            All collected trees of this fit; there may be ``earlier`` ones.
        number : int
            The round that comes next.
        keep : bool
            Whether the host keeps the features.
        """
        recent = self._of_splits([*self.earlier, *trees][-STRETCH * self._round_trees :])
        some = recent[:: -(-len(recent) // MOST_TREES) or 1]
        changed = self._greedy.update(some, self._parts_of, self._scored.best(number))
        if changed:
            self._describe(changed, keep=keep)
            self._all_codes().changed()

    def _describe(self, changed: Sequence[int], *, keep: bool) -> None:
        """Write the codes of the statistics of slots whose combinations are new, in every order."""
        codes, levels = self._all_codes().byte_codes, self._new[0]
        if self._walks is not None and codes is not None and not keep:
            for slot in changed:
                self._combined.of(self._held(slot), levels)
                self._tell(slot, levels, self._watched)
                self._walks.walk(levels, codes, self._first_of(slot), N_BINS)
            return
        for slot, codes in zip(changed, self._new, strict=False):
            self._combined.of(self._held(slot), codes)
            self._tell(slot, codes, self._watched)
        for order in range(self._n_orders):
            self._ordered.take(order, in_time=self._in_time)
            for place, slot in enumerate(changed):
                run(self._statistics_of(place))
                if keep:
                    means = self._ordered.means.get()
                    self._means[slot, order] = means.reshape(self._n_means, -1)
                run(self._encoded(order, slot))

    def _of_splits(self, trees: list[Tree]) -> list[Tree]:
        """Return one tree for those that split alike; resumed or not, it has the same gains."""
        found = with_vectors(trees, self._n_alike, self._round_trees // self._n_alike)
        assert found is not None
        return found

    def _held(self, slot: int) -> Combination:
        held = self._greedy.slots[slot]
        assert held is not None
        return self._greedy.found[held]

    def _statistics_of(self, place: int) -> list[Launch]:
        """Return the launches that compute a new combination's statistics; bound once."""
        if (place,) not in self._bound:
            self._bound[place,] = self._ordered.launches(self._new[place], self._data.n_rows)
        return self._bound[place,]

    def _encoded(self, order: int, slot: int) -> list[Launch]:
        """Return the launches that encode the latest statistics; bound once."""
        key = order, slot
        if key not in self._bound:
            self._bound[key] = self._encoding(order, slot, self._ordered.means)
        return self._bound[key]

    def _encoding(
        self, order: int, slot: int, means: DeviceArray, *, once: bool = False
    ) -> list[Launch]:
        codes = self._all_codes()
        first, n = self._first_of(slot), self._data.n_rows
        return [
            launch
            for mean in range(self._n_means)
            for launch in codes.encoding(order, first + mean, means, mean * n, once=once)
        ]

    def _first_of(self, slot: int) -> int:
        """Return the first feature of a slot, counted from the first ordered one."""
        return self._statistics.n_features + slot * self._n_means

    def _all_codes(self) -> OrderCodes:
        assert self._codes is not None
        return self._codes

    def _tell(self, slot: int, codes: DeviceArray, watched: Watched) -> None:
        """Write the features of a slot's new combination, whose codes these are."""
        if not watched:
            return
        parts, found = self._held(slot), self._combined.keys()
        totals, first = self._ordered.totals(codes, found.size), self._first + slot * self._n_means
        for keys, values in watched:
            keys.write(parts)
            self._ordered.level_means.look_up(keys.keys, found, totals, values, first)

    def _tell_all(self, watched: Watched) -> None:
        """Write the features of all slots that are held; a training that is resumed has some."""
        for slot, held in enumerate(self._greedy.slots):
            if watched and held is not None:
                self._combined.of(self._held(slot), self._new[0])
                self._tell(slot, self._new[0], watched)

    def _parts_of(self, feature: int, threshold: float) -> Combination:
        """Return the combination of columns that a feature of a collected tree is."""
        n_columns = self._statistics.n_columns
        if feature < n_columns:
            by_level = feature in self._n_levels
            return (Part(feature) if by_level else Part(feature, threshold),)
        if feature < self._first:
            return self._parts[feature - n_columns]
        return self._greedy.found[(feature - self._first) // self._n_means]

    # -- in the model ----------------------------------------------------------------------
    def collected(self, trees: Sequence[Tree]) -> list[Tree]:
        """Return trees whose features of slots are those of the combinations there."""
        held = np.array([-1 if one is None else one for one in self._greedy.slots])
        return [self._with_features(tree, held) for tree in trees]

    def _with_features(self, tree: Tree, place_of: npt.NDArray[np.int64]) -> Tree:
        """Return a tree whose combinations, by their place, have other places.

        Raises
        ------
        ModelFormatError
            If a tree to resume uses a combination that this training had not found by then.
        """
        at = tree.feature - self._first
        if at.max() < 0:
            return tree
        place, mean = np.divmod(np.maximum(at, 0), self._n_means)
        if (place_of[place[at >= 0]] < 0).any():
            raise ModelFormatError(
                "the model to resume uses combinations of columns that this training did not "
                "find: expected those of the interrupted training; delete the checkpoint"
            )
        moved = self._first + place_of[place] * self._n_means + mean
        arrays: dict[str, Any] = {field.name: getattr(tree, field.name) for field in fields(tree)}
        arrays["feature"] = np.where(at >= 0, moved, tree.feature).astype(np.int32)
        return Tree.trusted(**arrays)

    def of_model(self, trees: Sequence[Tree]) -> tuple[list[Tree], Statistics]:
        """Return collected trees and the statistics that they use, without other combinations."""
        at = [(tree.feature[tree.feature >= self._first] - self._first) for tree in trees]
        used = np.unique(np.concatenate([np.zeros(0, np.int32), *at]) // self._n_means)
        place_of = np.zeros(len(self._greedy.found) + 1, np.int64)
        place_of[used] = np.arange(used.size)
        tables = tuple(self._table(self._greedy.found[place]) for place in used)
        found = replace(self._statistics, tables=(*self._statistics.tables, *tables))
        return [self._with_features(tree, place_of) for tree in trees], found

    def attributes(self) -> dict[str, str]:
        """Return the texts that a model keeps, so that its training can be resumed."""
        return self._scored.attributes()

    def _table(self, parts: Combination) -> LevelTable:
        """Count the levels of a combination, as its twin does."""
        if parts not in self._tables:
            codes = self._new[0]
            self._combined.of(parts, codes)
            keys = self._combined.keys()
            found = self._ordered.totals(codes, keys.size).get().astype(np.int64)
            sizes, own = sizes_of(parts, self._n_levels), keys.get().view(np.int64)
            seen = found[0] > 0  # rows of weight 0 do not count
            if not seen.all():
                found, own = found[:, seen], own[seen]
            self._tables[parts] = LevelTable(parts, sizes, found[0], found[1:], own)
        return self._tables[parts]
