"""What is computed of ensembles once, and kept as long as they live and do not change."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.leaf_kinds import NUMBERS
from pyopencl_gbdt.model.tree import Tree

T = TypeVar("T")


class Kept(Generic[T]):
    """A cache of what a function returns for an ensemble; pickling an ensemble does not save it.

    Parameters
    ----------
    make : callable
        Its result depends on trees, their weights, the base margin and the number of features.
    """

    def __init__(self, make: Callable[[Ensemble], T]) -> None:
        self._make = make
        #: By an ensemble's id: a weak reference, its trees and other facts, and the result.
        self.found: dict[int, tuple[weakref.ref[Ensemble], list[Tree], object, T]] = {}

    def of(self, ensemble: Ensemble) -> T:
        """Return the result for an ensemble; it is computed again after a change."""
        key, found = id(ensemble), self.found
        facts = ensemble.n_tree_features, ensemble.base_margin, ensemble.tree_weights
        if key in found:
            alive, trees, own, made = found[key]
            if alive() is ensemble and own == facts and _are(trees, ensemble.trees):
                return made
        made = self._make(ensemble)
        # No lock: dict operations are atomic, and two threads at worst compute the same twice.
        alive = weakref.ref(ensemble, lambda _: found.pop(key, None))
        found[key] = alive, list(ensemble.trees), facts, made
        return made


def _are(some: list[Tree], others: list[Tree]) -> bool:
    """Tell whether two lists hold the same objects; trees are immutable."""
    return len(some) == len(others) and all(map(operator.is_, some, others))


_OF_NUMBERS = Kept(Ensemble.with_numbers)


def numbers_of(ensemble: Ensemble) -> Ensemble:
    """Return a model that predicts the same and whose leaves are numbers, from a cache."""
    return ensemble if ensemble.leaves is NUMBERS else _OF_NUMBERS.of(ensemble)
