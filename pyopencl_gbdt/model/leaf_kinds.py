"""What the leaves of a model's trees hold: one class for each kind.

A tree whose leaves are numbers adds to one output; a tree whose leaves are vectors adds to all::

    numbers   round: a tree for output 0, a tree for output 1       Tree.value: (n_nodes, 1)
    linear    the same, with functions of a row's features          Tree.linear, too
    vectors   round: a tree                                         Tree.value: (n_nodes, 2)

What knows numbers alone takes a model by `Ensemble.with_numbers`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

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
        """Return trees whose leaves are numbers, and which predict the same; None if none do."""


class Numbers(LeafKind):
    """A leaf is a number."""

    name = "numbers"

    def tree_outputs(self, n_outputs: int) -> int:
        return 1

    def as_numbers(self, trees: list[Tree], n_outputs: int, n_parallel: int) -> list[Tree] | None:
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


class Linear(Numbers):
    """A leaf is a number, or a linear function of features."""

    name = "linear functions"

    def as_numbers(self, trees: list[Tree], n_outputs: int, n_parallel: int) -> None:
        return None


NUMBERS, LINEAR, VECTORS = Numbers(), Linear(), Vectors()


def leaf_kind_of(trees: list[Tree]) -> LeafKind:
    """Return what the leaves of a model's trees hold; all trees have the same kind."""
    if trees and trees[0].n_outputs > 1:
        return VECTORS
    return LINEAR if [tree for tree in trees if tree.linear is not None] else NUMBERS


def with_vectors(trees: list[Tree], n_outputs: int, n_parallel: int) -> list[Tree] | None:
    """Return trees whose leaves are vectors; None if trees of outputs are not alike, or linear.

    This undoes ``Vectors.as_numbers``, whose trees share gains and sums of Hessians. Of other
    trees, those of the outputs are added in float32, in their order.

    ``trees``: round by round; within a round, ``n_parallel`` trees for every output.
    """
    step = n_outputs * n_parallel
    if n_outputs == 1:
        return trees
    if leaf_kind_of(trees) is LINEAR:
        return None
    found = []
    for first in range(0, len(trees), step):
        for number in range(n_parallel):
            of_outputs = trees[first + number : first + step : n_parallel]
            if not all(_split_alike(of_outputs[0], other) for other in of_outputs[1:]):
                return None
            found.append(_joined(of_outputs))
    return found


def weights_of_vectors(
    weights: tuple[float, ...] | None, n_outputs: int, n_parallel: int
) -> tuple[float, ...] | None:
    """Return the weights of trees with vectors, by those of a tree for each output."""
    step = n_outputs * n_parallel
    return weights and tuple(w for i, w in enumerate(weights) if i % step < n_parallel)


_OF_SPLITS = ("left", "feature", "threshold", "default_left", "split_kind", "sets", "set_begin")


def _split_alike(one: Tree, other: Tree) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in _OF_SPLITS)


def _joined(of_outputs: list[Tree]) -> Tree:
    """Return the tree of all outputs."""
    own = {
        name: np.concatenate([getattr(tree, name) for tree in of_outputs], axis=1)
        for name in ("value", "weight")
    }
    with np.errstate(over="ignore"):
        for name in ("gain", "sum_hessian"):
            first = getattr(of_outputs[0], name)
            own[name] = first.copy()
            for tree in of_outputs[1:]:
                if getattr(tree, name) is not first:
                    own[name] += getattr(tree, name)
    return Tree.trusted(**(vars(of_outputs[0]) | own))
