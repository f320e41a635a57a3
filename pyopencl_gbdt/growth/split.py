"""Split search: the best split of every node of a level, by histograms."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from pyopencl_gbdt.device import Capabilities, DeviceArray, Launch, Program, Variant
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.program import Action, rows_a_launch
from pyopencl_gbdt.dtypes import CANDIDATE
from pyopencl_gbdt.fit.nodes import Batch, Candidates, Nodes
from pyopencl_gbdt.fit.page import FitFeatures
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.ways import Ways

if TYPE_CHECKING:
    from pyopencl_gbdt.growth.category_split import CategorySplit
    from pyopencl_gbdt.growth.level_sums import LevelSums
    from pyopencl_gbdt.growth.open_columns import OpenColumns

#: Features from which on a node's record tells the best rough score. With fewer, all of a node's
#: features are searched at the same time, and asking takes 2 us a level (H200, 10 k x 20).
MANY_FEATURES = 256
#: Work-groups of a level, about: where there are more pairs of a feature and a node, each group
#: searches its feature in several nodes.
GROUPS = 1 << 15
#: Splits that a work-item of a lone work-group compares at most.
FEW_CANDIDATES = 64
#: Of a pair of sums: it is read, its sibling's is, and the difference is written.
_CELL_BYTES = 3 * 16


def has_many_features(caps: Capabilities, features: FitFeatures) -> bool:
    """Whether features of a node tell each other the best rough score, without constraints."""
    many = features.layout.n_features >= MANY_FEATURES
    return many and caps.hides_latency and caps.skips_barriers


def searches_few_bins(features: FitFeatures, variant: Variant) -> bool:
    """Whether the kernel expects that most bins have no rows of a node, and leaves them out."""
    return features.tiled is not None and variant.name == "sequential"


def group_size(ways: Ways, variant: Variant, most_codes: int) -> int:
    """Return the size of a work-group: the variant's, halved while a feature has half the codes."""
    size = ways.wg_size(variant)
    fixed = ways.facts.parameters.work_group_size > 0
    least: int = size if fixed else variant.params.get("least", size)
    while size >= 2 * max(least, most_codes):
        size //= 2
    return size


def constraints(arena: Arena, features: FitFeatures) -> None:
    """Ask for the constraints of features."""
    monotone = features.limits.monotone
    arena.array("monotone", 1 if monotone is None else monotone.size, np.uint32, monotone)


def candidates_of(parts: FitParts, step: int) -> Candidates:
    """Return the candidates that a step's kernels write; if few, they are not compared yet."""
    _, rows, nodes, features, ways = parts
    caps = ways.device.caps
    wg_size = min(ways.wg_size(ways.variant("plan")), caps.max_work_group)
    n_features = features.layout.n_features
    many = n_features * -(-nodes.level_capacity(step) // wg_size) > FEW_CANDIDATES
    many |= nodes.params.random_strength > 0  # `best` compares scores with noise
    many |= bool(features.most_at_steps)  # and candidates in another order than that of features
    if rows.team.size > 1:
        from pyopencl_gbdt.growth.level_sums import keeps_own_features

        many |= keeps_own_features(rows.team, nodes, features, step)
    return Candidates(many, n_features)


class Split:
    """Searches the splits of one level after another; fills ``chosen``.

    ``features`` may be those that a tree has drawn and gathered, of ``n_all``.
    """

    def __init__(
        self, arena: Arena, nodes: Nodes, features: FitFeatures, ways: Ways, *,
        n_all: int = 0, opened: OpenColumns | None = None,
    ) -> None:  # fmt: skip
        self.arena, self.nodes, self.features, self.ways = arena, nodes, features, ways
        self.n_all, self.opened = n_all, opened
        self.sparse, self.sequential = False, False
        for attempt in ways.attempts("split"):
            with attempt as variant:
                self.program = ways.built(attempt, self._build(variant))
        n_features = features.layout.n_features
        arena.array("candidates", (nodes.search_capacity, n_features), CANDIDATE)
        arena.array("chosen", nodes.search_capacity, CANDIDATE)
        if self.sparse:
            arena.array("closed_features", (nodes.max_nodes, n_features), np.uint8)
        constraints(arena, features)
        self.sets = self._sets() if features.has_categories else None

    def _sets(self) -> CategorySplit:
        from pyopencl_gbdt.growth.category_split import CategorySplit

        return CategorySplit(self.arena, self.nodes, self.features, self.ways)

    @cached_property
    def best(self) -> Program:
        """The program that compares many candidates; few are compared where nodes split."""
        ways = self.ways
        noisy = self.nodes.params.random_strength > 0
        template = "best_of_places" if self.features.most_at_steps else "best"
        return ways.build_kernel("plan", template=template, noisy=noisy)

    def _build(self, variant: Variant) -> Program:
        nodes, features, ways = self.nodes, self.features, self.ways
        options = {
            "monotone": features.limits.monotone is not None, "masked": features.masks_columns,
            "categories": features.has_categories, "counted": nodes.params.limits_rows,
            "drawn": nodes.params.extra_trees, "noisy": nodes.params.random_strength > 0,
            "smooth": nodes.params.smooths, "gathered": self.n_all > 0,
        }  # fmt: skip
        exact = options["monotone"] or options["noisy"] or options["smooth"]
        # forced splits look at the sums of features that may not split, too
        self.sparse = searches_few_bins(features, variant) and not features.limits.forced
        self.sequential = variant.name == "sequential"
        if self.sequential:
            shrunk = options["shrunk"] = nodes.params.reg_alpha > 0
            plain = not (shrunk or exact)  # others clip anyway
            options["clipped"] = plain and nodes.params.max_delta_step > 0
            options["sparse"], options["opened"] = self.sparse, self.opened is not None
            options["doubles"] = plain and not options["clipped"] and self.arena.device.caps.fp64
            return ways.device.build("split_cpu", wg_size=1, run=variant.params["run"], **options)
        many = has_many_features(ways.device.caps, features)
        options["many"] = many and not exact
        wg_size = group_size(ways, variant, features.layout.most_codes)
        return ways.device.build("split", wg_size=wg_size, **options)

    def _closed(self) -> dict[str, DeviceArray]:
        """Return the argument that only kernels for mostly empty bins have."""
        return {"closed": self.arena["closed_features"]} if self.sparse else {}

    def _columns(self) -> dict[str, Any]:
        """Return the arguments that only kernels for gathered columns have."""
        if not self.n_all:
            return {}
        return {"n_all": self.n_all, **self.arena.arguments("drawn_columns")}

    def _kinds(self) -> dict[str, DeviceArray]:
        """Return the argument that only kernels for categorical features have."""
        return {} if self.sets is None else self.arena.arguments("feature_kinds")

    def _smoothing(self) -> dict[str, DeviceArray | float]:
        """Return the arguments of kernels that smooth weights; empty for other kernels."""
        smoothing = self.nodes.params.smoothing
        return {**smoothing, **self.arena.arguments("node_weights")} if smoothing else {}

    def _groups_of_a_feature(self, n_features: int, n_nodes: int) -> int:
        if self.sequential:
            return min(n_nodes, MOST_Y)
        return min(n_nodes, MOST_Y, -(-GROUPS // max(1, n_features)))

    def level(
        self, depth: int, features: range, found: Candidates, opened: dict[str, Any] | None = None
    ) -> list[Launch]:
        """Return the launches for a level: they fill ``candidates`` and, if many, ``chosen``.

        Histograms of nodes whose sibling was built from rows become parent minus sibling first.

        Parameters
        ----------
        features : range
            Those that are searched; others' sums and candidates stay as they are.
        found : Candidates
            What the launches have to leave.
        opened : dict or None
            Arguments that tell which features are open, if some are not.
        """
        arena, more = self.arena, opened if opened and self.sequential else {}
        n_features, capacity = self.features.layout.n_features, self.nodes.level_capacity(depth)
        feature_bytes = _CELL_BYTES * capacity * self.features.layout.n_codes / n_features
        together = rows_a_launch(arena.device.caps, feature_bytes)
        finds = [
            self._find(depth, features[first : first + together], capacity, more)
            for first in range(0, len(features), together)
        ]
        launches = finds if self.sets is None else [*finds, *self.sets.level(depth)]
        if not found.compared:
            return launches
        ranks = ("noisy_ranks",) if self.nodes.params.random_strength > 0 else ()
        arrays = arena.arguments("levels", "candidates", "chosen", *ranks)
        if self.features.most_at_steps:
            best = self.best.bind(
                "best_of_places", capacity, depth=depth, n_places=n_features,
                first_place=features.start, end_place=features.stop, **arrays,
            )  # fmt: skip
        else:
            best = self.best.bind(
                "best", capacity, depth=depth, n_features=n_features,
                first_feature=features.start, end_feature=features.stop, **arrays,
            )  # fmt: skip
        return [*launches, best]

    def _find(self, depth: int, features: range, capacity: int, more: dict[str, Any]) -> Launch:
        """Return the launch that searches some features in a level of so many nodes."""
        p = self.nodes.params
        arena = self.arena
        groups = self._groups_of_a_feature(len(features), capacity)
        return self.program.bind(
            "find", (len(features), groups), depth=depth, first_feature=features.start,
            n_features=self.features.layout.n_features, n_codes=self.features.layout.n_codes,
            reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha,
            max_delta_step=p.max_delta_step, min_child_weight=p.min_child_weight,
            constraints=arena["monotone"], **self._kinds(), **self._smoothing(),
            **self.features.masks(arena),
            **arena.arguments("levels", "nodes", "node_sums", "node_bounds", "scale",
                              "feature_offset", "feature_bins", "fullest", "pool",
                              "candidates", *self.nodes.draw_arrays),
            **self._closed(), **self._columns(), **more,
        )  # fmt: skip


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
        """Return the candidates that these actions write for the policy."""


def _opened(parts: FitParts) -> OpenColumns | None:
    from pyopencl_gbdt.growth.open_columns import open_columns_of

    return open_columns_of(parts)


def _level_sums(parts: FitParts, step: int) -> LevelSums:
    from pyopencl_gbdt.growth.level_sums import level_sums

    return level_sums(parts, step)


class HistogramSearch:
    """Finds splits between bins, by sums of gradients in each bin."""

    kernels: ClassVar[tuple[str, ...]] = ("histogram", "tiled_histogram", "split")

    def __init__(self, parts: FitParts, gathered: FitParts | None = None) -> None:
        """``gathered`` are the parts whose features a tree has drawn, if it gathers them."""
        from pyopencl_gbdt.growth.feature_mask import BorderDraws, mask_of
        from pyopencl_gbdt.growth.histogram import Histogram

        arena, _, nodes, features, ways = self.parts = gathered or parts
        self.columns = mask_of(parts) if features.masks_columns else None
        self.draws = BorderDraws(parts) if nodes.params.draws_splits else None
        masked = self.columns is not None and not gathered
        self.opened = _opened(parts) if masked else None
        self.histogram = Histogram(self.parts, opened=self.opened is not None)
        n_all = parts.features.layout.n_features if gathered else 0
        self.split = Split(arena, nodes, features, ways, n_all=n_all, opened=self.opened)

    def search(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions of histograms, feature masks, splits, and their sums over a team."""
        masks = [] if self.columns is None else [self.columns.level(step, batch)]
        masks += [] if self.draws is None else self.draws.level(step, batch)
        sums = _level_sums(self.parts, step) if self.parts.rows.team.size > 1 else None
        searched = range(self.parts.features.layout.n_features) if sums is None else sums.features
        opened = None if self.opened is None else self.opened.arguments(step, batch)
        features = searched[: self.parts.features.n_at(step)]
        found = self.split.level(step, features, self.candidates(step), opened)
        built = self.histogram.level(step, sums, opened)
        best = [] if sums is None else sums.best_splits()
        if self.opened is not None:  # histograms are of the features that are marked
            first = [] if step else self.opened.begin(batch)
            return [*first, *masks, *built, *found, *best]
        return [*built, *masks, *found, *best]

    def candidates(self, step: int) -> Candidates:
        """Return the split kernels' results: every feature's candidate, or a node's best."""
        return candidates_of(self.parts, step)


class GatheredSearch(HistogramSearch):
    """Finds splits among the columns that a tree has drawn, whose codes it gathers first."""

    kernels: ClassVar[tuple[str, ...]] = (*HistogramSearch.kernels, "gather_columns")

    def __init__(self, parts: FitParts) -> None:
        from pyopencl_gbdt.growth.drawn_columns import GatherColumns, gathered_parts

        gathered = gathered_parts(parts)
        self.gather = GatherColumns(parts, gathered)
        super().__init__(parts, gathered)

    def search(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions of a step; the first one gathers the columns of its tree."""
        gathered = [] if step else self.gather.launches(batch)
        return [*gathered, *super().search(step, batch)]
