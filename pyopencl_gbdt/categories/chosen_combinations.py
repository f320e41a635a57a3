"""Which combinations of columns get statistics: greedily, as trees grow.

A node that splits on one categorical column below a node that splits on another says that the two
matter together. Such pairs of ancestor and descendant are candidates; their rank is what the lower
splits gain. After each stretch of rounds the best new candidates get a slot, and combinations that
no tree used lose theirs. Only the trees decide, so every device chooses alike.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pyopencl_gbdt.model.combinations import MOST_KEYS, Combination, combined, sizes_of
from pyopencl_gbdt.model.tree import NO_NODE, Tree

#: What a feature of a tree stands for: its parts, given feature and threshold.
PartsOf = Callable[[int, float], Combination]
Gains = dict[Combination, float]


class ChosenCombinations:
    """The combinations that have slots.

    Parameters
    ----------
    n_slots : int
        Most combinations at a time.
    n_new : int
        Most combinations that get a slot at a time; half as many if only trees' gains rank them.
    most_found : int
        Most combinations that ever get one.
    most_parts : int
        Most parts of a combination.
    n_levels : mapping of int to int
        Number of levels of each categorical column.

    Attributes
    ----------
    found : list of Combination
        All that ever had a slot, in the order in which they got it.
    slots : list of int or None
        The place in ``found`` of each slot's combination.
    """

    def __init__(
        self,
        n_slots: int,
        n_new: int,
        most_found: int,
        most_parts: int,
        n_levels: Mapping[int, int],
    ) -> None:
        self._n_new, self._most, self._n_levels = n_new, most_parts, n_levels
        self._most_found = most_found
        self.found: list[Combination] = []
        self.slots: list[int | None] = [None] * n_slots
        self._seen: list[Combination] = []
        self._levels: list[bool] = []  # whether one part is categorical
        self._numbers: dict[Combination, int] = {}
        self._pairs: dict[tuple[int, int], int] = {}

    def update(
        self, trees: Sequence[Tree], parts_of: PartsOf, scored: Sequence[Combination] = ()
    ) -> list[int]:
        """Give slots to the best new candidates; return the slots that changed.

        Parameters
        ----------
        trees : sequence of Tree
            Their gains rank candidates.
        parts_of : callable
        scored : sequence of Combination
            Candidates that come before those, best first.
        """
        left = self._most_found - len(self.found)
        if not left:
            return []
        gains, candidates = self._gains(trees, parts_of)
        known = set(self.found)
        first = [one for one in scored if one not in known and self._fits(one)]
        known.update(first)
        others = sorted(
            (one for one in candidates if one not in known and self._fits(one)),
            key=lambda one: (-candidates[one], [part.order for part in one]),
        )
        ranked = [*first[: self._n_new], *others[: max(0, (self._n_new + 1) // 2 - len(first))]]
        unused = [
            slot
            for slot, held in enumerate(self.slots)
            if held is None or self.found[held] not in gains
        ]
        changed = []
        for slot, one in zip(unused, ranked[:left], strict=False):
            self.found.append(one)
            self.slots[slot] = len(self.found) - 1
            changed.append(slot)
        return changed

    def _fits(self, parts: Combination) -> bool:
        several = len(parts) > 1 and len(parts) <= self._most
        return several and math.prod(sizes_of(parts, self._n_levels)) <= MOST_KEYS

    def _gains(self, trees: Sequence[Tree], parts_of: PartsOf) -> tuple[Gains, Gains]:
        """Return the gains of what nodes split on, and of what ancestor and node do together.

        Numbers alone are no candidates.
        """
        gains: dict[int, float] = defaultdict(float)
        candidates: dict[int, float] = defaultdict(float)
        for tree in trees:
            above: dict[int, list[int]] = {NO_NODE: []}
            nodes = np.flatnonzero(~tree.is_leaf)  # parents come first
            columns = (nodes, tree.parent[nodes], tree.feature[nodes], tree.threshold[nodes])
            for node, parent, feature, threshold, gain in zip(
                *(column.tolist() for column in (*columns, tree.gain[nodes])), strict=True
            ):
                before, own = above[parent], self._number(parts_of(feature, threshold))
                gains[own] += gain
                level = self._levels[own]
                for pair in {self._pair(own, n) for n in before if level or self._levels[n]}:
                    candidates[pair] += gain
                above[node] = [*before, own] if own not in before else before
        seen = self._seen
        return (
            {seen[number]: gain for number, gain in gains.items()},
            {seen[number]: gain for number, gain in candidates.items()},
        )

    def _number(self, parts: Combination) -> int:
        """Return the place of a combination among all that were seen: it is hashed once."""
        number = self._numbers.setdefault(parts, len(self._seen))
        if number == len(self._seen):
            self._seen.append(parts)
            self._levels.append(any(part.threshold is None for part in parts))
        return number

    def _pair(self, one: int, other: int) -> int:
        """Return the number of all parts of two combinations together."""
        key = (one, other)
        if key not in self._pairs:
            self._pairs[key] = self._number(combined(self._seen[one], self._seen[other]))
        return self._pairs[key]
