"""The best split of every node of a step, along columns whose entries lie sorted."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pyopencl_gbdt.device import Launch, Program, Variant
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import CANDIDATE, QUANTA, ROW, SUM
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.variants import Candidates
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.growth import approx, split
from pyopencl_gbdt.growth.feature_mask import FeatureMask
from pyopencl_gbdt.growth.interleaved import Interleaved

#: The lists of entries that take turns, by the depth of a node.
TURNS = (
    "even_rows", "even_places", "even_quanta", "odd_rows", "odd_places", "odd_quanta",
)  # fmt: skip


def entry_arguments(ws: Workspace, task_begin: str) -> dict[str, object]:
    """Return the kernels' arguments that say where the entries of nodes are."""
    columns = ws.pages[0].columns
    return {
        "all_rows": columns.rows, "all_places": columns.places, "task_begin": ws[task_begin],
        "n_entries": columns.n_entries, "all_quanta": ws[ws.quanta_of_roots],
        **ws.arguments("entry_begin", "entry_end", *TURNS),
    }  # fmt: skip


class ExactSearch:
    """Finds splits between any two neighbouring bins of a column, without histograms.

    With a bin for every distinct value this is the exact greedy search of XGBoost's paper
    (Chen & Guestrin 2016, algorithm 1 and 3), by segmented sums as in Mitchell & Frank 2017. For
    approximate search, ``growth.approx`` joins these bins to fewer ones.
    """

    kernels: ClassVar[tuple[str, ...]] = ("exact", "node_pieces", "interleaved")

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.columns = FeatureMask(ws) if ws.masks_columns else None
        self.bins = approx.bins_of(ws)
        self.program = ws.build("exact", self._build)
        self.nodes = ws.build("node_pieces", self._build_nodes)
        self.interleaved = (
            Interleaved(ws, self._build_interleaved) if ws.interleaved_levels else None
        )
        self._ask_for_entries()
        self._ask_for_pieces()
        ws.array("pool", (1, 1, 2), SUM)  # bound, never read
        ws.array("chosen", ws.search_capacity, CANDIDATE)
        split.constraints(ws)

    def _ask_for_entries(self) -> None:
        """Ask for the lists of entries, and the nodes' parts of them."""
        ws = self.ws
        assert ws.columns is not None
        every, lists = ws.n_trees * ws.columns.n_entries, ws.entry_lists
        for side in ("even", "odd"):
            n_moved = every if side in lists else 1
            for name in ("rows", "places"):  # roots have the data's own list
                ws.array(f"{side}_{name}", n_moved, ROW)
            n_quanta = every if ws.quanta_of_roots == f"{side}_quanta" else n_moved
            ws.array(f"{side}_quanta", (n_quanta, 2), QUANTA)
        ws.array("entry_begin", ws.max_nodes, np.uint32)
        ws.array("entry_end", ws.max_nodes, np.uint32)

    def _ask_for_pieces(self) -> None:
        """Ask for what pieces of the lists leave."""
        ws, nodes = self.ws, self.ws.most_level_nodes
        tasks = max(ws.most_entry_tasks, ws.most_stretch_pieces)
        ws.array("piece_begin", nodes + 1, np.uint32)
        ws.array("piece_sums", (tasks, 4), SUM)
        ws.array("piece_ends", (tasks, 2), np.uint32)
        ws.array("piece_carries", (tasks, 4), SUM)
        ws.array("piece_found", tasks, CANDIDATE)
        ws.array("piece_rough", tasks, np.float32)
        ws.array("node_rough", nodes, np.uint32)

    def _build(self, variant: Variant) -> Program:
        if self.bins is not None:
            self.bins.build(variant)
        return self._program(variant, interleaved=False)

    def _build_interleaved(self, variant: Variant) -> Program:
        return self._program(variant, interleaved=True)

    def _program(self, variant: Variant, *, interleaved: bool) -> Program:
        ws = self.ws
        assert ws.columns is not None
        return ws.device.build(
            "exact",
            wg_size=ws.wg_size(variant),
            search_chunk=variant.params["chunk"],
            missing=ws.columns.missing,
            monotone=ws.monotone is not None,
            masked=ws.masks_columns,
            bins="values" if self.bins is None else self.bins.name,
            interleaved=interleaved,
        )

    def _build_nodes(self, variant: Variant) -> Program:
        ws = self.ws
        assert ws.columns is not None
        return ws.device.build(
            "node_pieces",
            wg_size=ws.wg_size(variant),
            chunk=ws.variant("columns").params["chunk"],
            search_chunk=ws.variant("exact").params["chunk"],
            missing=ws.columns.missing or self.bins is not None,
            picked=ws.policy.picks_leaves,
        )

    def candidates(self, step: int) -> Candidates:
        """Return that a node's best split is left."""
        return self.ws.candidates_of(step)

    def search(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions that fill ``chosen`` for the new nodes of a step."""
        ws, p, program = self.ws, self.ws.params, self.program
        masks: list[Launch] = [] if self.columns is None else [self.columns.level(step, batch)]
        units, capacity = ws.device.caps.compute_units, ws.level_capacity(step)
        groups = min(ws.most_entry_tasks, 16 * units)
        page = ws.pages[0]
        listed: dict[str, object] = entry_arguments(ws, "piece_begin")
        shared: int | tuple[int, int] = groups
        if self.interleaved is not None and self.interleaved.covers(step):
            program, listed = self.interleaved.search, self.interleaved.pieces()
            shared = self.interleaved.groups(batch), batch.size
        where = {
            **listed, "step": step, "n_rows": ws.n_rows,
            "features": page.columns.features,
            **page.arguments("levels", "nodes"),
            **ws.arguments("scale", "feature_offset"),
            "high": ws["high"],
        }  # fmt: skip
        rule = {
            "n_features": ws.layout.n_features, "reg_lambda": p.reg_lambda,
            "reg_alpha": p.reg_alpha, "max_delta_step": p.max_delta_step,
            "min_child_weight": p.min_child_weight,
        }  # fmt: skip
        pieces = {name: ws[f"piece_{name}"] for name in ("carries", "found", "rough")}
        pieces |= ws.arguments("node_rough", "allowed")
        # rough scores say nothing where terms cancel
        exact_only = ws.monotone is not None or p.reg_alpha > 0
        offset = where.pop("feature_offset")
        cut = [] if self.bins is None else self.bins.cut(step, batch, where, groups)
        parts = ws.entry_parts
        ends = {} if self.bins is None else self.bins.arguments()
        roughly = parts.bind(program, "score_roughly", shared, **ends, **rule, **pieces, **where)
        task_begin = ws["piece_begin"]
        gathered = parts.bind(
            program, "gather", (ws.row_groups, batch.size), n_rows=ws.n_rows,
            n_entries=where["n_entries"], all_rows=where["all_rows"], quanta=ws["quanta"],
            gathered=where["all_quanta"],
        )  # fmt: skip
        return [
            *masks,
            *(gathered if step == 0 else []),
            *parts.bind(
                program, "sum_pieces", shared, piece_sums=ws["piece_sums"],
                piece_ends=ws["piece_ends"], feature_offset=offset, **where,
            ),
            self.nodes.bind(
                "carry", min(capacity, 4 * units), step=step, levels=page["levels"],
                task_begin=task_begin, carries=pieces["carries"],
                **ws.arguments("piece_sums", "piece_ends"),
            ),
            *cut,
            *([] if exact_only else roughly),
            *parts.bind(
                program, "find", shared, exact_only=exact_only, constraints=ws["monotone"],
                feature_offset=offset, **ends, **rule, **pieces, **where,
            ),
            self.nodes.bind(
                "best_piece", capacity, step=step, levels=page["levels"], task_begin=task_begin,
                found=pieces["found"], chosen=ws["chosen"],
            ),
        ]  # fmt: skip


class ApproximateSearch(ExactSearch):
    """Finds splits between bins that are cut anew while a tree grows."""

    kernels = (*ExactSearch.kernels, "approx")
