"""How many entries of sorted columns move, or stay, in a tree, and which pieces they have."""

from __future__ import annotations

from pyopencl_gbdt.device import Capabilities
from pyopencl_gbdt.device.program import Parts
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Bytes of an entry that a kernel may read and write: its row, its place and the row's quanta.
ENTRY_BYTES = 2 * (4 + 4 + 8)


@dataclass(frozen=True)
class EntrySizes:
    """Sizes of exact search; ``n_entries`` are those of all columns together."""

    n_entries: int
    nodes: Nodes
    ways: Ways
    caps: Capabilities

    @classmethod
    def of(cls, parts: FitParts) -> EntrySizes:
        """Return the sizes of a fit along sorted columns."""
        columns = parts.features.columns
        assert columns is not None
        return cls(columns.n_entries, parts.nodes, parts.ways, parts.arena.device.caps)

    def _chunk(self, kernel: str) -> int:
        return int(self.ways.variant(kernel).params["chunk"])

    @property
    def most_tasks(self) -> int:
        """Most pieces of entries that lie by node: whole ones, and one more for a node's rest."""
        chunk = min(self._chunk("exact"), self._chunk("columns"))
        return self.nodes.n_trees * (self.n_entries // chunk + 1) + self.nodes.search_capacity

    @property
    def parts(self) -> Parts:
        """The launches that a kernel over all entries needs."""
        return Parts.of(self.caps, ENTRY_BYTES * self.nodes.n_trees * self.n_entries)

    @property
    def interleaved_levels(self) -> int:
        """Levels below the roots whose entries stay in the data's order; 0 where they always move.

        Leaf by leaf, entries move: a step has two nodes of a tree, and would read those of all. So
        they do where every node has bins of its own, which are marked along its own entries.
        """
        params = self.nodes.params
        of_nodes = params.search == "approx" and params.proposal == "local"
        if self.nodes.policy.picks_leaves or of_nodes:
            return 0
        depth = int(self.ways.variant("interleaved").params["depth"])
        return min(depth, self.nodes.n_levels - 1)

    @property
    def n_stretches(self) -> int:
        """Stretches of the data's order, see ``growth.interleaved``."""
        return -(-self.n_entries // self._chunk("interleaved"))

    @property
    def most_stretch_pieces(self) -> int:
        """Most pieces of nodes in stretches; those of the level to which entries move, too."""
        if not self.interleaved_levels:
            return 0
        deepest = min(self.interleaved_levels + 1, self.nodes.n_levels - 1)
        return self.n_stretches * self.nodes.level_capacity(deepest)

    @property
    def lists(self) -> set[str]:
        """The lists that entries move to, of two that take turns: of nodes at even or odd depth."""
        end = self.nodes.n_levels + self.nodes.policy.moves_last_rows
        depths = range(self.interleaved_levels + 1, end)
        return {"odd" if depth % 2 else "even" for depth in depths[:2]}

    @property
    def quanta_of_roots(self) -> str:
        """The array of the roots' quanta: not that of the list which entries move to first."""
        odd = bool(self.lists) and self.interleaved_levels % 2
        return "odd_quanta" if odd else "even_quanta"
