"""Sizes of a tree in a growth policy, and what a split search leaves for the policy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TreeSizes:
    """How many nodes of one tree split in each step; known before the tree is grown.

    A step is a level of all trees, or a leaf of every tree. ``growth.policy.tree_sizes`` returns
    the sizes of a policy.

    Attributes
    ----------
    most_leaves : int
        Leaves that the tree can have; a table has some without rows.
    n_steps : int
        Steps whose nodes can split; at least 1.
    first_steps : int
        Steps after which a tree may be complete; all, if the host does not ask.
    capacities : tuple of int
        Most new nodes of each step, the last one's children included; later steps have as many as
        the last one here.
    made : int
        Most leaves that are made, those included that the tree does not get.
    slots : int
        Most histograms that are kept at a time.
    picks : int
        Leaves of every tree that a step may split, which are listed in ``picked``. 0: a step splits
        nodes of the step's level.
    picks_leaves : bool
        Whether a step splits leaves that are listed in ``picked``.
    limits_leaves : bool
        Whether ``decide`` counts leaves, as a level may have more splits than a tree may.
    splits_alone : bool
        Whether a step splits each node of a level that gains enough, whatever others gain.
    fills_levels : bool
        Whether all nodes of a level split alike, those without rows too: trees are tables.
    splits_alike : bool
        Whether the search decides for several nodes together, of which some may gain nothing:
        their children keep their weight.
    moves_last_rows : bool
        Whether rows move to the children of the last step, too. If not, leaves of the last level
        have no lists of rows.
    """

    most_leaves: int
    n_steps: int
    first_steps: int
    capacities: tuple[int, ...]
    made: int
    slots: int
    picks: int = 0
    picks_leaves: bool = False
    limits_leaves: bool = False
    splits_alone: bool = False
    fills_levels: bool = False
    splits_alike: bool = False
    moves_last_rows: bool = False

    def capacity(self, step: int) -> int:
        """Return the most new nodes whose splits are searched in a step."""
        return self.capacities[min(step, len(self.capacities) - 1)]


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
