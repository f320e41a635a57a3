"""What the leaves of a model's trees hold: one class for each kind.

A tree whose leaves are numbers adds to one output; a tree whose leaves are vectors adds to all::

    numbers   round: a tree for output 0, a tree for output 1       Tree.value: (n_nodes, 1)
    vectors   round: a tree                                         Tree.value: (n_nodes, 2)

What knows numbers alone takes a model by `Ensemble.with_numbers`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from pyopencl_gbdt.model.tree import Tree


class LeafKind(ABC):
    """A kind of leaves.

    Attributes
    ----------
    name : str
        What messages and the matrix of formats call it, in the plural.
    """

    name: ClassVar[str]

    @abstractmethod
    def tree_outputs(self, n_outputs: int) -> int:
        """Return to how many outputs a tree of a model with ``n_outputs`` adds."""

    @abstractmethod
    def as_numbers(self, trees: list[Tree], n_outputs: int, n_parallel: int) -> list[Tree] | None:
        """Return trees whose leaves are numbers, and which predict the same; None if none do.

        Parameters
        ----------
        trees : list of Tree
            As in ``Ensemble.trees``.
        n_outputs, n_parallel : int
            Those of the ensemble.
        """


class Numbers(LeafKind):
    """A leaf is a number."""

    name = "numbers"

    def tree_outputs(self, n_outputs: int) -> int:
        return 1

    def as_numbers(self, trees: list[Tree], n_outputs: int, n_parallel: int) -> list[Tree]:
        return trees


class Vectors(LeafKind):
    """A leaf has a number for each output."""

    name = "vectors"

    def tree_outputs(self, n_outputs: int) -> int:
        return n_outputs

    def as_numbers(self, trees: list[Tree], n_outputs: int, n_parallel: int) -> list[Tree]:
        """Return a tree for each output; all arrays but values and weights are shared."""
        return [
            tree.of_output(output)
            for first in range(0, len(trees), n_parallel)
            for output in range(n_outputs)
            for tree in trees[first : first + n_parallel]
        ]


NUMBERS, VECTORS = Numbers(), Vectors()


def leaf_kind_of(trees: list[Tree]) -> LeafKind:
    """Return what the leaves of a model's trees hold; all trees have the same kind."""
    return VECTORS if trees and trees[0].n_outputs > 1 else NUMBERS
