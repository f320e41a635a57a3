"""What the host reads of a fit: finished trees, and whether its rounds have to be trained again.

Gradients are rounded to integers of one word, but for a few large ones, which need a second, high
word. Memory for high words is allocated when a tree first needs them: then all rounds so far are
trained again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property, partial
from typing import TYPE_CHECKING

from pyopencl_gbdt.device.run_ahead import Pace
from pyopencl_gbdt.device.transfers import EarlyCopy, PartOfCopy
from pyopencl_gbdt.fit.page import FixedFeatures
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.grown_trees import GrownTrees
from pyopencl_gbdt.growth.round_kernels import RoundKernels
from pyopencl_gbdt.model.leaf_kinds import with_vectors
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.training.placement import Placement

if TYPE_CHECKING:
    from pyopencl_gbdt.callbacks.base import TrainingState
    from pyopencl_gbdt.categories.statistic_columns import RoundStatistics
    from pyopencl_gbdt.profiling.traffic import Tally


class FinishedRounds(ABC):
    """The part of a ``Fit`` that reads what rounds have made.

    Attributes
    ----------
    parts, kernels, statistics, tally
        As in ``Fit``.
    needs_high : EarlyCopy or PartOfCopy
        Reads whether a round needed high words; can be assigned, if others read it together.
    """

    parts: FitParts
    kernels: RoundKernels
    statistics: FixedFeatures | RoundStatistics
    tally: Tally | None
    needs_high: EarlyCopy | PartOfCopy
    _placement: Placement
    _rounds: int  # so far
    _checked: int  # rounds after which no high words were needed
    _asked: int
    _high_of_block: EarlyCopy

    @abstractmethod
    def _one_round(self, pace: Pace) -> None:
        """Enqueue a round."""

    @abstractmethod
    def _start_over(self) -> None:
        """Build the kernels again, and go back to the start."""

    @cached_property
    def grown(self) -> GrownTrees:
        """Finished trees; made once the first round is enqueued, beside the device's work."""
        tally = None if self.tally is None else self.tally.add_tree
        compared = self.parts.rows.team.size > 1
        return GrownTrees(self.parts, tally, self.statistics.renamed, compared=compared)

    def _forget_trees(self) -> None:
        """Forget all trees so far, as their rounds begin anew."""
        self.__dict__.pop("grown", None)

    def _read_block(self) -> None:
        """Read the trees that fill their room on the device, or order them and read others."""
        if not self.grown.reads_late:
            self._collect()
            return
        self._take_ordered()
        if self.grown.is_full:  # else rounds were trained again
            self.grown.order()
            if not self.parts.rows.has_high:
                self._high_of_block()  # last: when it is there, the trees are

    def _take_ordered(self) -> None:
        """Read the trees that are ordered; train all again if high words were needed."""
        if not self.grown.is_ordered:
            return
        self._check_gradients()
        if not self.parts.rows.has_high and self._high_of_block.values()[0]:
            self._check_high_words()
        else:
            self.grown.take()

    def _check_gradients(self) -> None:
        source = self.kernels.source
        if source is None:
            return
        from pyopencl_gbdt.gradients.sources import CheckedSource

        if isinstance(source, CheckedSource):
            source.check()

    def _check_high_words(self) -> bool:
        """Train again from the start if high words were needed but absent; return whether."""
        parts = self.parts
        self._check_gradients()
        if parts.rows.has_high or self._checked == self._rounds:
            return False
        asked = self._asked == self._rounds
        if not (self.needs_high.values() if asked else parts.arena["needs_high"].get())[0]:
            self._checked = self._rounds
            return False
        done = self._rounds
        del self.kernels  # the arrays that only their launches know are free then
        parts.rows.make_room_for_high_words(partial(self._placement.turn_again, parts))
        self._start_over()
        pace = Pace(parts.arena.device)
        for _ in range(done):
            self._one_round(pace)
        self._check_high_words()  # the pages of all rows may need high words, too
        return True

    def ask(self) -> None:
        """Enqueue the read for which ``settle`` waits, in front of what is enqueued later."""
        if not self.parts.rows.has_high and self._checked != self._rounds:
            self.needs_high()
            self._asked = self._rounds

    def settle(self, *, watched: bool) -> bool:
        """Wait for the round if a member watches a set; return whether all were trained again."""
        return watched and self._check_high_words()

    def _collect(self) -> None:
        """Read the finished trees that are still on the device."""
        self._take_ordered()
        if self.grown.n_waiting:
            self._check_high_words()
        self.grown.collect()

    def finished_trees(self) -> list[Tree]:
        """Return all trees so far; waits for the last round."""
        self._collect()
        return self.grown.trees()

    def behind(self, earlier: list[Tree]) -> tuple[list[Tree], int]:
        """Return a model's trees, then all so far, and the number of a round's trees.

        Where leaves are vectors, a round has a tree for all outputs, unless the model's trees of
        several outputs split apart.
        """
        nodes = self.parts.nodes
        before = None
        if nodes.has_vectors:
            before = with_vectors(earlier, nodes.n_outputs, nodes.n_parallel)
        if before is None:
            return [*earlier, *self.finished_trees()], nodes.round_trees
        self._collect()
        return [*before, *self.grown.vectors()], nodes.n_parallel

    def finished_digest(self) -> str:
        """Return a digest of all trees so far, without decoding them; waits for the last round.

        It is "" if no other fit is compared with this one.
        """
        self._collect()
        return self.grown.digest

    def state(self) -> TrainingState:
        """Return the state that later rounds need beside the trees; waits for the last round."""
        self._check_high_words()
        return self.kernels.leaves.state()
