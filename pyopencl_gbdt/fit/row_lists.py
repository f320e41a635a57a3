"""Which lists of rows a fit keeps, and who adds up histograms."""

from __future__ import annotations

from collections.abc import Sequence

from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.fit.features import FitFeatures
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.ways import Ways

#: The lists of rows: of nodes at even depths, and at odd ones.
LISTS = ("even_rows", "odd_rows")


class RowLists:
    """What follows for the rows of a fit from its nodes, features and variants of kernels."""

    nodes: Nodes
    features: FitFeatures
    ways: Ways

    @property
    def page_rows(self) -> Sequence[tuple[int, int]]:
        """First row and number of rows of every page."""
        raise NotImplementedError

    @property
    def team(self) -> Team:
        """The members that train together."""
        raise NotImplementedError

    @property
    def adds_histograms(self) -> bool:
        """Whether a node's histogram is added up from several pages or devices."""
        return len(self.page_rows) > 1 or self.team.size > 1

    @property
    def cells_to_clear(self) -> int:
        """Sums to clear in a node's histogram before it is built; 0 if the kernel clears them."""
        if self.features.columns is not None:
            return 0
        cleared = self.adds_histograms or self.ways.variant("histogram").int64_atomics
        return 2 * self.features.layout.n_codes if cleared else 0

    @property
    def lists_drawn(self) -> bool:
        """Whether roots have a list of the rows that were drawn; the others are in none.

        That is where rows find their leaves without lists.
        """
        columns = self.features.columns
        walks = columns is None and self.ways.variant("update_margins").name == "walk"
        return self.nodes.params.samples_rows and walks

    @property
    def leaves_have_lists(self) -> bool:
        """Whether margins are updated by the lists of rows, which leaves keep until then."""
        columns = self.features.columns
        return columns is None and self.ways.variant("update_margins").name != "walk"

    @property
    def moves_last_rows(self) -> bool:
        """Whether rows move to the children of the last step, too, for the margins' update."""
        return self.nodes.policy.moves_last_rows

    def listed_rows(self, step: int) -> tuple[str, ...]:
        """Return the lists that a step's histograms and partition read, level by level."""
        if self.nodes.policy.picks_leaves or (step == 0 and not self.lists_drawn):
            return ()
        return (LISTS[step % 2],)
