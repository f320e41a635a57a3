"""Which two categorical columns matter together: scores on the gradients of a sample of rows.

A node that splits on one categorical column below a node that splits on another says that the two
matter together, too. Such pairs of ancestor and descendant are candidates; their rank is what the
lower splits gain. After each stretch of rounds the best new candidates get a slot, and combinations
that no tree used lose theirs. Only the trees decide, so every device chooses alike.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Variant, build_variant_program
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.combinations import MOST_KEYS, Combination, Part, combined, sizes_of
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

        A column of numbers alone is not a candidate.
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


I64 = npt.NDArray[np.int64]
#: Most rows of the sample, and most columns that are paired.
MOST_ROWS, MOST_COLUMNS = 1 << 16, 40
#: Added to the Hessian of a cell or level, in mean Hessians of a row.
RIDGE = 20
#: Work-items that add up the scores of a pair's cells.
_ITEMS = 256
_BATCH_BYTES = 64 * 1024 * 1024
_COARSE, _FINE = 4, 8


def n_cells(n_rows: int) -> int:
    """Return the number of cells that the rows of a sample are hashed to."""
    return max(1024, min(MOST_ROWS, 1 << (n_rows - 1).bit_length()))


def _batch(n_rows: int, n_columns: int) -> int:
    """Return how many pairs are added up at a time."""
    n_pairs = n_columns * (n_columns - 1) // 2
    return max(1, min(n_pairs, _BATCH_BYTES // (16 * n_cells(n_rows))))


def _alone(variant: Variant) -> bool:
    """Tell whether a work-item adds up a pair's rows by itself, without atomics."""
    return variant.params["wg_size"] == 1


class PairScores:
    """Scores of all pairs of some categorical columns.

    First each column's levels, one column after the other, take from the gradients what they
    explain by themselves. Then rows are put into cells by both their levels. A cell's score is
    ``(G^2 - Q) / (H + ridge)``, with the sum of its gradients, of their squares and of its
    Hessians: the products of the gradients of different rows, which are 0 on average unless the
    levels together tell something. A pair's score is the sum over its cells.

    ``n_rows``: rows of the training data; the sample has at most ``MOST_ROWS`` of them.
    ``n_levels``: levels of each column.
    """

    def __init__(self, device: Device, n_rows: int, n_levels: Sequence[int]) -> None:
        self.device, self.n, self._n_columns = device, min(n_rows, MOST_ROWS), len(n_levels)
        self._cells = n_cells(self.n)
        variant, self._program = build_variant_program(
            device,
            "pair_scores",
            "auto",
            derived=lambda chosen: {"alone": _alone(chosen), "fine": _FINE, "coarse": _COARSE},
        )
        n, self._alone = self.n, _alone(variant)
        self._score_groups = 1 if self._alone else max(1, _ITEMS // self._program.wg_size)
        self._groups = device.caps.row_groups(n)
        self._missing = device.upload(np.array(n_levels, np.uint32))
        self._residuals, self._hessians = device.empty((n,), np.int32), device.empty((n,), np.int32)
        self._sampled = device.empty((len(n_levels), n), np.uint32)
        self._pairs = list(combinations(range(len(n_levels)), 2))
        batch = _batch(self.n, len(n_levels))
        self._sums = device.empty((batch, self._cells, 4), np.uint32)
        items = self._score_groups * self._program.wg_size
        self._partial = device.empty((batch, items), np.int64)

    def of(
        self, order: DeviceArray, quanta: DeviceArray, first: int, levels: Sequence[DeviceArray]
    ) -> Mapping[tuple[int, int], int]:
        """Return the score of every two columns, by their places; the host waits.

        Parameters
        ----------
        order : DeviceArray of uint32
            Rows; the first ones are the sample.
        quanta : DeviceArray of int32, shape (n_trees * n_rows, 2)
            Gradients and Hessians.
        first : int
            Where those of the tree begin that counts.
        levels : sequence of DeviceArray of uint32, shape (n_rows,)
            The levels of each column; the number of levels stands for a missing value.
        """
        launch, n = self._program.launch, self.n
        total = self.device.zeros((1,), np.uint32)
        launch(
            "begin", self._groups, n=n, first=np.uint64(first), order=order, quanta=quanta,
            residuals=self._residuals, hessians=self._hessians, total=total,
        )  # fmt: skip
        for column, own in enumerate(levels):
            launch(
                "gather", self._groups, n=n, first=np.uint64(column * n), order=order, levels=own,
                sampled=self._sampled,
            )  # fmt: skip
        for column in range(self._n_columns):
            self._add_up([(column, column)], _COARSE)
            launch(
                "subtract", self._groups, n=n, mask=self._cells - 1, ridge=RIDGE, column=column,
                missing=self._missing, sampled=self._sampled, hessians=self._hessians,
                total=total, sums=self._sums, residuals=self._residuals,
            )  # fmt: skip
        found: dict[tuple[int, int], int] = {}
        for begin in range(0, len(self._pairs), self._sums.shape[0]):
            some = self._pairs[begin : begin + self._sums.shape[0]]
            self._add_up(some, _FINE)
            launch(
                "score", (self._score_groups, len(some)), n=n, mask=self._cells - 1,
                ridge=RIDGE, total=total, sums=self._sums, partial=self._partial,
            )  # fmt: skip
            scores: I64 = self._partial.get().sum(axis=1)
            found |= dict(zip(some, scores.tolist(), strict=False))
        return found

    def _add_up(self, pairs: Sequence[tuple[int, int]], bits: int) -> None:
        if not self._alone:  # a work-item that has a pair alone clears its cells
            self.device.clear(self._sums)
        groups = (len(pairs), 1) if self._alone else (self._groups, len(pairs))
        self._program.launch(
            "add_up", groups, n=self.n, mask=self._cells - 1, bits=bits,
            pairs=self.device.upload(np.array(pairs, np.uint32)), missing=self._missing,
            sampled=self._sampled, residuals=self._residuals, hessians=self._hessians,
            sums=self._sums,
        )  # fmt: skip


#: The first round before which pairs are scored.
FIRST = 4
#: Most pairs that come before other candidates.
MOST_BEST = 32
#: The attribute of a model that holds them.
ATTRIBUTE = "scored_pairs"
Scored = dict[int, list[tuple[int, int]]]


def is_scored(number: int) -> bool:
    """Tell whether pairs are scored before a round: 4, 16, 64, 256, ..."""
    return number >= FIRST and number & (number - 1) == 0 and number.bit_length() % 2 == 1


def known_scores(attributes: Mapping[str, str]) -> Scored:
    """Return the best pairs that a model's attributes tell, by round.

    Raises
    ------
    ModelFormatError
        If they tell something else.
    """
    text = attributes.get(ATTRIBUTE, "{}")
    try:
        return {
            int(number): [(int(one), int(other)) for one, other in pairs]
            for number, pairs in json.loads(text).items()
        }
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelFormatError(
            f"attribute {ATTRIBUTE!r}: expected pairs of columns by round, got {text[:80]!r}; "
            "train a new model"
        ) from error


class ScoredPairs:
    """The best pairs at each round before which pairs are scored.

    Trees alone do not show them: a pair of columns may matter that no tree splits on one below the
    other. So their scores, see `PairScores`, come from the gradients of the round before.

    ``n_levels``: number of levels of each categorical column.
    ``found``: the pairs that are known, by round.
    """

    def __init__(self, n_levels: Mapping[int, int], found: Scored | None = None) -> None:
        self._n_levels = n_levels
        self._found: Scored = {}
        for number, pairs in (found or {}).items():
            self._found[number] = [
                pair for pair in pairs if n_levels.keys() >= set(pair) and pair[0] < pair[1]
            ]
        self._scores: PairScores | None = None
        self._columns: list[int] | None = None

    def columns(self, trees: Sequence[Tree], parts_of: PartsOf) -> list[int]:
        """Return the columns to pair: all, or those that trees gained most by; always the same."""
        if self._columns is None:
            columns = sorted(self._n_levels)
            if len(columns) > MOST_COLUMNS:
                gains = self._gains(trees, parts_of)
                columns = sorted(sorted(columns, key=lambda c: (-gains[c], c))[:MOST_COLUMNS])
            self._columns = columns
        return self._columns

    def _gains(self, trees: Sequence[Tree], parts_of: PartsOf) -> dict[int, float]:
        gains = dict.fromkeys(self._n_levels, 0.0)
        for tree in trees:
            inner = ~tree.is_leaf
            nodes = (tree.feature[inner], tree.threshold[inner], tree.gain[inner])
            for feature, threshold, gain in zip(*(own.tolist() for own in nodes), strict=True):
                for part in parts_of(feature, threshold):
                    if part.threshold is None:
                        gains[part.column] += gain
        return gains

    def score(
        self,
        number: int,
        columns: Sequence[int],
        order: DeviceArray,
        quanta: DeviceArray,
        first: int,
        levels: Sequence[DeviceArray],
    ) -> None:
        """Score the pairs of columns before a round; the other parameters are `PairScores.of`'s."""
        if self._scores is None:
            n_levels = [self._n_levels[column] for column in columns]
            self._scores = PairScores(order.device, order.size, n_levels)
        found = self._scores.of(order, quanta, first, levels)
        ranked = sorted((-score, pair) for pair, score in found.items() if score > 0)
        best = [(columns[one], columns[other]) for _, (one, other) in ranked[:MOST_BEST]]
        self._found[number] = best

    def best(self, number: int) -> list[Combination]:
        """Return the pairs that were scored last before a round, best first."""
        latest = max((first for first in self._found if first <= number), default=0)
        return [tuple(Part(column) for column in pair) for pair in self._found.get(latest, ())]

    def attributes(self) -> dict[str, str]:
        """Return the texts that a model keeps, so that its training can be resumed."""
        return {ATTRIBUTE: json.dumps(self._found)} if self._found else {}
