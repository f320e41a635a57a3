"""Split search: the best split of every new node of a step."""

from __future__ import annotations

from typing import ClassVar, Protocol

from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.fit.nodes import Batch, Candidates
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.feature_mask import mask_of
from pyopencl_gbdt.growth.histogram import Histogram
from pyopencl_gbdt.growth.level_sums import level_sums
from pyopencl_gbdt.growth.split import Split, candidates_of


class SplitSearch(Protocol):
    """What finds splits, and leaves candidates for the policy to choose from.

    Attributes
    ----------
    kernels : tuple of str
        Its kernels in the variant table that not every fit has.
    """

    kernels: ClassVar[tuple[str, ...]]

    def __init__(self, parts: FitParts) -> None: ...

    def search(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions that find the splits of a step's new nodes."""

    def candidates(self, step: int) -> Candidates:
        """Return what these actions leave for the policy."""


class HistogramSearch:
    """Finds splits between bins, by sums of gradients in each bin."""

    kernels: ClassVar[tuple[str, ...]] = ("histogram", "tiled_histogram", "split")

    def __init__(self, parts: FitParts) -> None:
        arena, _, nodes, features, ways = self.parts = parts
        self.columns = mask_of(parts)
        self.histogram, self.split = Histogram(parts), Split(arena, nodes, features, ways)

    def search(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions of histograms, feature masks, splits, and their sums over a team."""
        masks = [] if self.columns is None else [self.columns.level(step, batch)]
        sums = level_sums(self.parts, step)
        found = self.split.level(step, sums.features, self.candidates(step))
        return [*self.histogram.level(step, sums), *masks, *found, *sums.best_splits()]

    def candidates(self, step: int) -> Candidates:
        """Return what the split kernels leave: every feature's candidate, or a node's best."""
        return candidates_of(self.parts, step)
