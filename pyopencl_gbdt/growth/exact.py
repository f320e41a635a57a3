"""The best split of every node of a step, along columns whose entries lie sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pyopencl_gbdt.device import Launch, Program, Variant
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import CANDIDATE, QUANTA, ROW, SUM
from pyopencl_gbdt.fit.nodes import Batch, Candidates
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.growth import split

if TYPE_CHECKING:
    from pyopencl_gbdt.growth.entries import EntrySizes

#: The lists of entries that take turns, by the depth of a node.
TURNS = (
    "even_rows", "even_places", "even_quanta", "odd_rows", "odd_places", "odd_quanta",
)  # fmt: skip


def entry_arguments(
    arena: Arena, rows: FitRows, entries: EntrySizes, task_begin: str
) -> dict[str, object]:
    """Return the kernels' arguments that say where the entries of nodes are."""
    columns = rows.pages[0].columns
    return {
        "all_rows": columns.rows, "all_places": columns.places, "task_begin": arena[task_begin],
        "n_entries": columns.n_entries, "all_quanta": arena[entries.quanta_of_roots],
        **arena.arguments("entry_begin", "entry_end", *TURNS),
    }  # fmt: skip


class ExactSearch:
    """Finds splits between any two neighbouring bins of a column, without histograms.

    With a bin for every distinct value this is the exact greedy search of XGBoost's paper
    (Chen & Guestrin 2016, algorithm 1 and 3), by segmented sums as in Mitchell & Frank 2017. For
    approximate search, ``growth.approx`` joins these bins to fewer ones.
    """

    kernels: ClassVar[tuple[str, ...]] = ("exact", "node_pieces", "interleaved")

    def __init__(self, parts: FitParts) -> None:
        from pyopencl_gbdt.growth import approx
        from pyopencl_gbdt.growth.entries import EntrySizes
        from pyopencl_gbdt.growth.feature_mask import mask_of
        from pyopencl_gbdt.growth.interleaved import Interleaved

        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        arena = self.arena
        self.entries = EntrySizes.of(parts)
        self.columns = mask_of(parts)
        self.bins = approx.bins_of(arena, self.features.layout, self.entries)
        self.program = self.ways.build("exact", self._build)
        self.node_pieces = self.ways.build("node_pieces", self._build_nodes)
        self.interleaved = (
            Interleaved(arena, self.rows, self.entries, self._build_interleaved)
            if self.entries.interleaved_levels
            else None
        )
        self._ask_for_entries()
        self._ask_for_pieces()
        arena.array("chosen", self.nodes.search_capacity, CANDIDATE)
        split.constraints(self.arena, self.features)

    def _ask_for_entries(self) -> None:
        """Ask for the lists of entries, and the nodes' parts of them."""
        arena, nodes = self.arena, self.nodes
        assert self.features.columns is not None
        every, lists = nodes.n_trees * self.features.columns.n_entries, self.entries.lists
        for side in ("even", "odd"):
            n_moved = every if side in lists else 1
            for name in ("rows", "places"):  # roots have the data's own list
                arena.array(f"{side}_{name}", n_moved, ROW)
            n_quanta = every if self.entries.quanta_of_roots == f"{side}_quanta" else n_moved
            arena.array(f"{side}_quanta", (n_quanta, 2), QUANTA)
        arena.array("entry_begin", nodes.max_nodes, np.uint32)
        arena.array("entry_end", nodes.max_nodes, np.uint32)

    def _ask_for_pieces(self) -> None:
        """Ask for the arrays of the results of pieces of the lists."""
        nodes = self.nodes.most_level_nodes
        arena = self.arena
        tasks = max(self.entries.most_tasks, self.entries.most_stretch_pieces)
        arena.array("piece_begin", nodes + 1, np.uint32)
        arena.array("piece_sums", (tasks, 4), SUM)
        arena.array("piece_ends", (tasks, 2), np.uint32)
        arena.array("piece_carries", (tasks, 4), SUM)
        arena.array("piece_found", tasks, CANDIDATE)
        arena.array("piece_rough", tasks, np.float32)
        arena.array("node_rough", nodes, np.uint32)

    def _build(self, variant: Variant) -> Program:
        if self.bins is not None:
            self.bins.build(variant)
        return self._program(variant, interleaved=False)

    def _build_interleaved(self, variant: Variant) -> Program:
        return self._program(variant, interleaved=True)

    def _program(self, variant: Variant, *, interleaved: bool) -> Program:
        features = self.features
        assert features.columns is not None
        return self.ways.device.build(
            "exact",
            wg_size=self.ways.wg_size(variant),
            search_chunk=variant.params["chunk"],
            missing=features.columns.missing,
            monotone=features.limits.monotone is not None,
            masked=features.masks_columns,
            bins="values" if self.bins is None else self.bins.name,
            interleaved=interleaved,
            counted=self.nodes.params.limits_rows,
        )

    def _build_nodes(self, variant: Variant) -> Program:
        ways = self.ways
        assert self.features.columns is not None
        return ways.device.build(
            "node_pieces",
            wg_size=ways.wg_size(variant),
            chunk=ways.variant("columns").params["chunk"],
            search_chunk=ways.variant("exact").params["chunk"],
            missing=self.features.columns.missing or self.bins is not None,
            picked=self.nodes.policy.picks_leaves,
        )

    def candidates(self, step: int) -> Candidates:
        """Return that a node's best split is left."""
        return Candidates(True, self.features.layout.n_features)

    def search(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions that fill ``chosen`` for the new nodes of a step."""
        p, program = self.nodes.params, self.program
        arena, rows = self.arena, self.rows
        masks: list[Launch] = [] if self.columns is None else [self.columns.level(step, batch)]
        units, capacity = arena.device.caps.compute_units, self.nodes.level_capacity(step)
        groups = min(self.entries.most_tasks, 16 * units)
        page = rows.pages[0]
        listed: dict[str, object] = entry_arguments(arena, rows, self.entries, "piece_begin")
        shared: int | tuple[int, int] = groups
        if self.interleaved is not None and self.interleaved.covers(step):
            program, listed = self.interleaved.search, self.interleaved.pieces()
            shared = self.interleaved.groups(batch), batch.size
        where = {
            **listed, "step": step, "n_rows": rows.n_rows,
            "features": page.columns.features,
            **page.arguments("levels", "nodes"),
            **arena.arguments("scale", "feature_offset"),
            "high": arena["high"],
        }  # fmt: skip
        rule = {
            "n_features": self.features.layout.n_features, "reg_lambda": p.reg_lambda,
            "reg_alpha": p.reg_alpha, "max_delta_step": p.max_delta_step,
            "min_child_weight": p.min_child_weight,
        }  # fmt: skip
        pieces = {name: arena[f"piece_{name}"] for name in ("carries", "found", "rough")}
        pieces |= arena.arguments("node_rough", "node_sums", "node_bounds")
        pieces |= self.features.masks(arena)
        # rough scores say nothing where terms cancel
        exact_only = self.features.limits.monotone is not None or p.reg_alpha > 0
        offset = where.pop("feature_offset")
        cut = [] if self.bins is None else self.bins.cut(step, batch, where, groups)
        parts = self.entries.parts
        ends = {} if self.bins is None else self.bins.arguments()
        roughly = parts.bind(program, "score_roughly", shared, **ends, **rule, **pieces, **where)
        task_begin = arena["piece_begin"]
        gathered = parts.bind(
            program, "gather", (rows.row_groups, batch.size), n_rows=rows.n_rows,
            n_entries=where["n_entries"], all_rows=where["all_rows"], quanta=arena["quanta"],
            gathered=where["all_quanta"],
        )  # fmt: skip
        return [
            *masks,
            *(gathered if step == 0 else []),
            *parts.bind(
                program, "sum_pieces", shared, piece_sums=arena["piece_sums"],
                piece_ends=arena["piece_ends"], feature_offset=offset, **where,
            ),
            self.node_pieces.bind(
                "carry", min(capacity, 4 * units), step=step, levels=page["levels"],
                task_begin=task_begin, carries=pieces["carries"],
                **arena.arguments("piece_sums", "piece_ends"),
            ),
            *cut,
            *([] if exact_only else roughly),
            *parts.bind(
                program, "find", shared, exact_only=exact_only, constraints=arena["monotone"],
                feature_offset=offset, **ends, **rule, **pieces, **where,
            ),
            self.node_pieces.bind(
                "best_piece", capacity, step=step, levels=page["levels"], task_begin=task_begin,
                found=pieces["found"], chosen=arena["chosen"],
            ),
        ]  # fmt: skip


class ApproximateSearch(ExactSearch):
    """Finds splits between bins that are cut anew while a tree grows."""

    kernels = (*ExactSearch.kernels, "approx")
