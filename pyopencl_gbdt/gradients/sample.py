"""Row sampling: draw the rows of every tree, and the factors of their gradients.

Where pages take turns, the drawn rows are gathered to a page that stays: a pass over the pages
copies their codes and quanta, and the levels of the tree work on these rows alone. If there are
more of them than expected, ``needs_high`` is set to 2, and the fit begins again without this page.
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.arena import Arena, zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import QUANTA, ROW, VALUE
from pyopencl_gbdt.fit.nodes import Batch, Nodes
from pyopencl_gbdt.fit.page import FitPage, PerRow
from pyopencl_gbdt.fit.page_schedule import CODES
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.primitives.packed_codes import PackedCodes

#: Number of classes of importance in which rows are counted.
CLASSES = 2048


class Sample:
    """Computes ``factors``, shape (n_lists, n_rows), and the roots' row lists, if they have any.

    The variant of the leaves decides whether roots have row lists; where their kernel takes another
    variant, all steps are built again.
    """

    def __init__(
        self, arena: Arena, rows: FitRows, nodes: Nodes, ways: Ways, objective: Objective
    ) -> None:
        self.arena, self.rows, self.nodes, self.given = arena, rows, nodes, objective.given
        self.method = nodes.params.sampling_method
        self.program = ways.build_kernel(
            "gradients",
            template="sample",
            method=self.method,
            loss=objective.kernel,
            weighted=rows.weighted,
            listed=rows.lists_drawn,
            n_classes=CLASSES,
        )
        trees, classes = nodes.n_lists, CLASSES if nodes.params.samples_by_gradient else 1
        rows.array_of_rows("factors", PerRow((trees,)), VALUE)
        arena.array("classes", (trees, classes), np.uint32)

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that draw the rows for a batch of trees."""
        p, bind = self.nodes.params, self.program.bind
        arena, rows = self.arena, self.rows
        by_gradient = p.samples_by_gradient
        reads = (*rows.gradients_of, *rows.weights) if by_gradient else ()
        listed = ("even_rows",) if rows.lists_drawn else ()
        pages = [[self._draw(batch, page)] for page in rows.pages]
        draw = rows.pagewise(pages, reads, ("factors", *listed))
        if not by_gradient:
            return draw
        lists = batch.size // self.nodes.n_alike
        clear = bind("clear_classes", lists, arena["classes"])
        counts = [
            [bind(
                "count_classes", (part.groups, lists), **rows.gradient_arguments(batch, part),
                n_alike=self.nodes.n_alike, root_lambda=p.root_lambda,
                **part.arguments(*rows.weights, "classes"),
            )]
            for part in rows.parts
        ]  # fmt: skip
        return [clear, *rows.pagewise(counts, reads), *rows.sum(arena["classes"]), *draw]

    def _draw(self, batch: Batch, page: FitPage) -> Launch:
        """Return the launch that draws the rows of a page.

        Rounds of equal number // ``bagging_freq`` draw the same rows.
        """
        p, part = self.nodes.params, page.part
        rows, (rate, other) = self.rows, p.sampling_rates
        return self.program.bind(
            "draw", (part.groups, batch.size // self.nodes.n_alike),
            **rows.gradient_arguments(batch, part), **page.rows, n_alike=self.nodes.n_alike,
            first_id=rows.share.first_row + part.first_row, seed=p.random_state,
            n_streams=self.nodes.n_streams,
            n_batches=len(self.nodes.batches) * max(p.bagging_freq, 1), keep=p.keep_below,
            all_before=p.rounds_of_all_rows if self.method == "goss" else 0,
            rate=rate, other=other, root_lambda=p.root_lambda, **self._listed(page),
            **part.arguments(*rows.weights, "classes", "factors"),
        )  # fmt: skip

    def _listed(self, page: FitPage) -> dict[str, DeviceArray]:
        """Return the round's number and, if they are listed, where the page's rows are."""
        drawn, listed = self.rows.drawn, self.rows.lists_drawn
        if drawn is None:
            rows = page.part.arguments("even_rows") if listed else {}
        else:  # the gathered rows are listed, and all trees are counted there
            (page,) = drawn.pages
            rows = self.arena.arguments("even_rows") if listed else {}
        counts = page.arguments("drawn") if listed else {}
        return {"header": page["leaf_header"], **rows, **counts}


class GatherDrawn:
    """Copies the drawn rows of every page to the page of the drawn rows; built behind `Sample`.

    Parameters
    ----------
    arena, rows, ways
        Whose pages take turns.
    drawn : FitRows
        Those that were drawn, see ``fit.rows_in_turn``.
    """

    def __init__(self, arena: Arena, rows: FitRows, ways: Ways, drawn: FitRows) -> None:
        self.arena, self.rows, self.drawn = arena, rows, drawn
        self.program = ways.build_kernel("gradients", template="gather_drawn")
        drawn.array_of_rows("quanta", PerRow(after=(2,)), QUANTA)
        # codes and row ids are valid, whatever the first tree leaves out
        arena.device.clear(_packed(drawn).codes)
        arena.array("even_rows", drawn.n_rows, ROW, zeros)

    def launches(self) -> list[Action]:
        """Return the actions that gather the rows of a tree; its quanta were computed before."""
        pages = [[self._page(page)] for page in self.rows.pages]
        lost = ("quanta", "factors")
        return self.rows.pagewise(pages, (CODES, *lost), drops=lost)

    def _page(self, page: FitPage) -> Launch:
        drawn, part, source = self.drawn, page.part, page.codes
        (into,) = drawn.pages
        assert isinstance(source, PackedCodes)
        to_codes = _packed(drawn)
        strides = source.block_strides(), to_codes.block_strides()
        return self.program.bind(
            "gather_drawn", part.groups, n_rows=page.n_rows, n_blocks=source.order.n_blocks,
            **strides[0], **{f"to_{name}": stride for name, stride in strides[1].items()},
            capacity=np.uint32(drawn.n_rows), codes=source.codes.words(),
            to_codes=to_codes.codes.words(), to_quanta=self.arena["quanta"],
            rows=self.arena["even_rows"],
            drawn=into["drawn"], **part.arguments("factors", "quanta", "needs_high"),
        )  # fmt: skip


def _packed(drawn: FitRows) -> PackedCodes:
    """Return the codes of the drawn rows."""
    codes = drawn.codes
    assert isinstance(codes, PackedCodes)
    return codes
