"""Statistics of combinations of columns, found while trees grow."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.categories.combination_codes import CombinationCodes
from pyopencl_gbdt.categories.ordered_statistics import OrderedStatistics
from pyopencl_gbdt.categories.parts import Combination, Part, sizes_of
from pyopencl_gbdt.categories.statistics import LevelTable, Statistics, level_table
from pyopencl_gbdt.categories.targets import Targets
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.pages.orders import OrderCodes
from pyopencl_gbdt.training.greedy import Greedy

F32 = npt.NDArray[np.float32]
#: Rounds between two choices of combinations.
STRETCH = 4
#: Most combinations that have features at a time, and that get them at a time.
MOST_SLOTS, MOST_NEW = 16, 4
#: Most combinations of a fit, so that the model's tables stay bounded.
MOST_FOUND = 64
#: Most trees that a choice looks at; of more, those at equal distances.
MOST_TREES = 64
#: Most features of combinations: classes have one each.
MOST_FEATURES = 64


def n_slots(n_means: int) -> int:
    """Return how many combinations have features at a time, each with so many means."""
    return min(MOST_SLOTS, max(1, MOST_FEATURES // max(1, n_means)))


def combining_bytes(n_rows: int, n_categorical: int) -> int:
    """Return the bytes that choosing combinations takes on a device besides their statistics.

    Parameters
    ----------
    n_rows : int
    n_categorical : int
        Number of categorical columns, whose levels stay there.
    """
    keys_rows_runs_codes, sorting = 8 + 3 * 4, 12
    return n_rows * (keys_rows_runs_codes + sorting + 4 * (n_categorical + MOST_NEW))


class Combining:
    """Combinations of a fit: their features in training, their tables in the model.

    Trees of a fit use the features of slots. When they are collected, these become the features of
    the combination that the slot had: so many behind the statistics of columns as
    ``place in found * n_means``.

    Parameters
    ----------
    data : Dataset
        The user's rows; their levels.
    statistics : Statistics
        Those of columns.
    targets : Targets
    ordered : OrderedStatistics
    most_parts : int
    n_orders : int
    in_time : bool
        Whether the rows' own order is the only one.
    """

    def __init__(
        self,
        data: Dataset,
        statistics: Statistics,
        targets: Targets,
        ordered: OrderedStatistics,
        most_parts: int,
        n_orders: int,
        in_time: bool,
    ) -> None:
        self._data, self._statistics, self._targets = data, statistics, targets
        self._ordered, self._n_orders, self._in_time = ordered, n_orders, in_time
        self._n_levels = {column: own.n_levels for column, own in data.categories.items()}
        self._most_parts, self._n_means = most_parts, statistics.n_means
        self._first = statistics.n_columns + statistics.n_features
        self._tables: dict[Combination, LevelTable] = {}
        self._watched: list[tuple[Dataset, F32, DeviceArray]] = []
        self._codes: OrderCodes | None = None
        self._greedy = self._new_greedy()
        self._before: Ensemble | None = None
        self._first_slots: Greedy | None = None
        self._means: dict[tuple[int, int], F32] = {}
        self.earlier: list[Tree] = []

    def _new_greedy(self) -> Greedy:
        slots = n_slots(self._n_means)
        return Greedy(slots, MOST_NEW, MOST_FOUND, self._most_parts, self._n_levels)

    @property
    def n_features(self) -> int:
        """Number of features of all slots."""
        return n_slots(self._n_means) * self._n_means

    @property
    def n_bytes(self) -> int:
        """Bytes that choosing combinations takes on the device."""
        return combining_bytes(self._data.n_rows, len(self._n_levels))

    # -- in training -----------------------------------------------------------------------
    def begin(self, device: Device, codes: OrderCodes, round_trees: int) -> None:
        """Take the codes of a fit, whose slots are empty, and its number of trees a round."""
        self._codes, self._round_trees = codes, round_trees
        self._combined = CombinationCodes(device, self._data, self._n_levels)

    def resume(self, before: Ensemble) -> None:
        """Prepare to choose once more what trees of this training chose, round by round."""
        self._before, self.earlier = before, []

    def replayed(self, number: int, trees: Sequence[Tree], values: F32) -> list[Tree]:
        """Choose before a round of the model that is resumed, and return the round's trees.

        Parameters
        ----------
        number : int
        trees : sequence of Tree
            As in the model.
        values : float32 array, shape (n_rows, n_features)
            Gets the slots' values in the round's order.

        Returns
        -------
        list of Tree
            The same trees, with the features of slots.
        """
        if self.is_due(number):
            self.choose([], keep=True)
        for (slot, order), means in self._means.items():
            if order == number % self._n_orders:
                first = self._first + slot * self._n_means
                values[:, first : first + self._n_means] = means.T
        slots = {held: slot for slot, held in enumerate(self._greedy.slots) if held is not None}
        place_of = np.array([slots.get(i, -1) for i in range(len(self._greedy.found))] or [-1])
        collected = self._from_model(trees)
        self.earlier += collected
        return [self._with_features(tree, place_of) for tree in collected]

    def _from_model(self, trees: Sequence[Tree]) -> list[Tree]:
        assert self._before is not None
        statistics = self._before.statistics
        assert statistics is not None
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
        for slot, held in enumerate(self._greedy.slots):
            for order in range(self._n_orders):
                means = self._ordered.device.upload(self._means.get((slot, order), empty))
                for mean in range(self._n_means):
                    self._encode(order, slot, mean, means, mean * self._data.n_rows)
            self._tell(slot, None if held is None else self._greedy.found[held])

    def watch(self, rows: Dataset, values: F32, there: DeviceArray) -> None:
        """Keep the features of an evaluation set up to date.

        Parameters
        ----------
        rows : Dataset
            With the user's columns.
        values : float32 array, shape (n_rows, n_features)
            With those of trees; written to.
        there : DeviceArray of the same shape
        """
        self._watched.append((rows, values, there))
        held = [slot for slot, one in enumerate(self._greedy.slots) if one is not None]
        for slot in held:  # of a training that is resumed
            self._tell(slot, self._held(slot))
        if held:
            there.set(values)

    def is_due(self, number: int) -> bool:
        """Tell whether combinations are chosen before this round."""
        return number > 0 and number % STRETCH == 0

    def choose(self, trees: Sequence[Tree], *, keep: bool = False) -> None:
        """Choose combinations by the trees of the last rounds, and compute their features.

        Parameters
        ----------
        trees : sequence of Tree
            All collected trees of this fit; there may be ``earlier`` ones.
        keep : bool
            Whether the host keeps the features.
        """
        recent = [*self.earlier, *trees][-STRETCH * self._round_trees :]
        some = recent[:: -(-len(recent) // MOST_TREES) or 1]
        changed = self._greedy.update(some, self._parts_of)
        device = self._ordered.device
        codes = {}
        for slot in changed:
            found = self._combined.of(self._held(slot))
            codes[slot] = device.empty(found.shape, found.dtype)
            device.copy(found, codes[slot], 0)
        for order in range(self._n_orders if changed else 0):
            if self._in_time:
                self._ordered.take_order(np.arange(self._data.n_rows, dtype=np.uint32))
            else:
                self._ordered.draw(order)
            for slot in changed:
                means = self._ordered.of_levels(codes[slot], self._data.n_rows)
                if keep:
                    self._means[slot, order] = means.get().reshape(self._n_means, -1)
                for mean in range(self._n_means):
                    self._encode(order, slot, mean, means, mean * self._data.n_rows)
        for slot in changed:
            self._tell(slot, self._held(slot))
        if changed:
            for _, values, there in self._watched:
                there.set(values)

    def _held(self, slot: int) -> Combination:
        held = self._greedy.slots[slot]
        assert held is not None
        return self._greedy.found[held]

    def _encode(self, order: int, slot: int, mean: int, shares: DeviceArray, begin: int) -> None:
        assert self._codes is not None
        feature = self._statistics.n_features + slot * self._n_means + mean
        self._codes.encode(order, feature, shares, begin)

    def _tell(self, slot: int, parts: Combination | None) -> None:
        """Write the features of a slot's new combination into the evaluation sets."""
        first = self._first + slot * self._n_means
        for rows, values, _ in self._watched:
            found = np.full((rows.n_rows, self._n_means), np.nan, np.float32)
            if parts is not None:
                found = replace(self._statistics, tables=(self._table(parts),)).of_rows(rows)
            values[:, first : first + self._n_means] = found

    def _parts_of(self, feature: int, threshold: float) -> Combination:
        """Return what a feature of a collected tree stands for."""
        n_columns = self._statistics.n_columns
        if feature < n_columns:
            by_level = feature in self._n_levels
            return (Part(feature) if by_level else Part(feature, threshold),)
        if feature < self._first:
            return self._statistics.parts(feature - n_columns)
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

    def _table(self, parts: Combination) -> LevelTable:
        if parts not in self._tables:
            sizes = sizes_of(parts, self._n_levels)
            self._tables[parts] = level_table(self._data, parts, sizes, self._targets)
        return self._tables[parts]
