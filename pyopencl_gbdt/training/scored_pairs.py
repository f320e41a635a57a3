"""Pairs of categorical columns that gradients depend on together: candidates for combinations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pyopencl_gbdt.categories.pair_scores import MOST_COLUMNS, PairScores
from pyopencl_gbdt.categories.parts import Combination, Part
from pyopencl_gbdt.device import DeviceArray
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.training.greedy import PartsOf

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

    Parameters
    ----------
    n_levels : mapping of int to int
        Number of levels of each categorical column.
    found : mapping of int to list of pairs, or None
        The pairs that are known, by round.
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
        """Return what a model has to tell, so that its training can be resumed."""
        return {ATTRIBUTE: json.dumps(self._found)} if self._found else {}
