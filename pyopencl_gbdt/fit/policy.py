"""What the sizes of a fit depend on in a growth policy: steps of a tree, nodes of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class PolicySizes(Protocol):
    """How many nodes of one tree split in each step; known before the tree is grown.

    A step is a level of all trees, or a leaf of every tree. ``growth.policy.Policy`` adds the
    launches. Every size is that of one tree with at most ``most_leaves`` leaves.
    """

    @property
    def picks(self) -> int:
        """Leaves of every tree that a step may split, which are listed in ``picked``.

        0: a step splits nodes of the step's level.
        """

    @property
    def picks_leaves(self) -> bool:
        """Whether a step splits leaves that are listed in ``picked``."""

    @property
    def limits_leaves(self) -> bool:
        """Whether ``decide`` counts leaves, as a level may have more splits than a tree may."""

    @property
    def splits_alone(self) -> bool:
        """Whether a step splits each node of a level that gains enough, whatever others gain."""

    @property
    def fills_levels(self) -> bool:
        """Whether all nodes of a level split alike, those without rows too: trees are tables."""

    @property
    def moves_last_rows(self) -> bool:
        """Whether rows move to the children of the last step, too.

        If not, leaves of the last level have no lists of rows.
        """

    def n_steps(self, most_leaves: int) -> int:
        """Return the number of steps; at least 1."""

    def capacity(self, step: int, most_leaves: int) -> int:
        """Return the most new nodes whose splits are searched in a step."""

    def first_steps(self, most_leaves: int) -> int:
        """Return the steps after which a tree may be complete; all, if the host does not ask."""

    def made(self, most_leaves: int) -> int:
        """Return the most leaves that are made, those included that the tree does not get."""

    def slots(self, most_leaves: int) -> int:
        """Return the most histograms that are kept at a time."""


@dataclass(frozen=True)
class Candidates:
    """What a split search leaves of a step for the policy: some candidates of every new node.

    Attributes
    ----------
    compared : bool
        Whether the search compared a node's candidates; then only the best one is left. If not,
        the policy's kernel compares those of all features, which takes no launch of its own.
    n_features : int
    """

    compared: bool
    n_features: int

    @property
    def array(self) -> str:
        """The array that holds them."""
        return "chosen" if self.compared else "candidates"

    @property
    def per_node(self) -> int:
        """Number of candidates of a node."""
        return 1 if self.compared else self.n_features
