"""Gradient sums per node, feature and bin, of a fit's levels."""

from __future__ import annotations

from functools import partial

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.primitives.histogram_kernel import HistogramKernel


class Histogram:
    """Builds the histograms of one level after another."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        named = ws.params.histogram != "auto"
        self.kernel = HistogramKernel(
            ws.device,
            ws.page_list[0].codes,
            ws.layout,
            ws.variant("histogram") if named else partial(ws.variant, "histogram"),
            wg_size=ws.params.work_group_size,
            skips_unsampled=ws.params.samples_rows and not ws.lists_drawn,
            adds=ws.adds_histograms,
        )

    def level(self, depth: int) -> list[Launch]:
        """Return the launches that fill the pool slots of a level's nodes built from rows."""
        return [launch for page in self.ws.pages for launch in self._page(depth, page)]

    def _page(self, depth: int, page: FitPage) -> list[Launch]:
        ws = self.ws
        return self.kernel.level(
            page.codes,
            groups=ws.histogram_groups,
            depth=depth,
            n_rows=ws.n_rows,
            first_row=page.first_row,
            task_begin=page["hist_task_begin"],
            high_words=ws["high"],
            **page.arguments("levels", "nodes"),
            **ws.arguments("even_rows", "odd_rows", "quanta", "scale", "pool", "partial"),
        )
