"""The boosting loop: the one place that joins the steps.

    quantize -> [ gradients -> [ histogram -> split -> decide -> partition ] -> leaf ]
                               [            once a level             ]   once a tree

A tree is a fixed list of launches whose sizes are known beforehand; what the data decides stays on
the device. The host reads finished trees a block at a time, and margins of evaluation sets where a
metric is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dataset import Dataset
from pyopencl_gbdt.device import Device, DeviceArray, Launch
from pyopencl_gbdt.device.pace import Pace
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.parameters import Parameters
from pyopencl_gbdt.steps import predict
from pyopencl_gbdt.steps.finish import Finish
from pyopencl_gbdt.steps.gradients import Gradients
from pyopencl_gbdt.steps.grow import Grow
from pyopencl_gbdt.steps.histogram import Histogram
from pyopencl_gbdt.steps.leaf import Leaf
from pyopencl_gbdt.steps.partition import Partition
from pyopencl_gbdt.steps.split import Split
from pyopencl_gbdt.traffic import Tally
from pyopencl_gbdt.trees import decode_trees
from pyopencl_gbdt.weights import normalise
from pyopencl_gbdt.workspace import Layout, QuantizedPage, Workspace, smallest_layout

F32 = npt.NDArray[np.float32]
#: Called after every round with the round's number and the margins of every evaluation set.
Watcher = Callable[[int, list[F32]], None]


@dataclass(frozen=True)
class EvaluationRows:
    """An evaluation set on the device."""

    values: DeviceArray
    margins: DeviceArray


class Steps:
    """The kernels of one fit, built."""

    def __init__(self, ws: Workspace, objective: Objective) -> None:
        self.ws = ws
        self.gradients = Gradients(ws, objective)
        self.histogram, self.split, self.partition = Histogram(ws), Split(ws), Partition(ws)
        self.leaf = Leaf(ws)
        self.grow, self.finish = Grow(ws), Finish(ws)

    def one_tree(self) -> list[Launch]:
        """Return what a tree takes, bound to the workspace's arrays."""
        ws, grow, partition = self.ws, self.grow, self.partition
        launches = [*self.gradients.launches(), grow.begin()]
        for depth in range(ws.max_depth):
            launches += self.histogram.level(depth)
            launches += self.split.level(depth)
            launches.append(grow.decide(depth))
            if depth + 1 < ws.max_depth:  # leaves of the last level need no lists of rows
                launches += [partition.move(depth), grow.place(depth)]
        return [*launches, self.finish.tree(), self.leaf.add(), self.finish.keep()]


class Boosting:
    """One fit: its own queue, kernels and memory."""

    def __init__(
        self,
        device: Device,
        params: Parameters,
        objective: Objective,
        data: Dataset,
        base_margin: float,
    ) -> None:
        weight, bits, shift = normalise(data.weight)

        def workspace(layout: Layout, page: QuantizedPage | None) -> Workspace:
            n, weighted = data.n_rows, weight is not None
            return Workspace(device, params, layout, page, n, weighted, bits, shift)

        # at least this much, asked before the data are quantised; then exactly
        workspace(smallest_layout(data.n_features), None).check()
        quantized = data.quantized(device, params.max_bin)
        self.ws = ws = workspace(quantized.layout, quantized.pages[0])
        try:
            self.steps = Steps(ws, objective)  # their variants decide what is planned
        except BaseException:
            ws.page = None  # what builds kernels refers to the workspace, a traceback to that
            raise
        ws.allocate()
        ws["labels"].set(data.label)
        if weight is not None:
            ws["weights"].set(weight)
        self.base_margin = base_margin
        self.evaluation: list[EvaluationRows] = []
        self._begin()
        self.tally = None if device.profiler is None else Tally(ws)

    def _begin(self) -> None:
        """Bind the launches; no tree yet."""
        every = [(self.ws["margins"], self.ws.n_rows)]
        every += [(rows.margins, rows.margins.size) for rows in self.evaluation]
        for margins, n_rows in every:
            margins.set(np.full(n_rows, self.base_margin, np.float32))
        self.round_launches = self.steps.one_tree()
        for rows in self.evaluation:
            self._bind_evaluation(rows)
        self.trees: list[Tree] = []
        self._first_waiting = self._waiting = 0

    def watch(self, values: F32) -> None:
        """Follow the margins of another set of rows, float32 (n_rows, n_features), C order."""
        device = self.ws.device
        rows = EvaluationRows(
            device.upload(values),
            device.upload(np.full(values.shape[0], self.base_margin, np.float32)),
        )
        self.evaluation.append(rows)
        self._bind_evaluation(rows)
        if self.tally is not None:
            self.tally.evaluation_rows += values.shape[0]

    def _bind_evaluation(self, rows: EvaluationRows) -> None:
        ws = self.ws
        self.round_launches.append(
            predict.prepare(
                ws.device,
                rows.values,
                ws["walk"],
                ws["first_tree"],
                rows.margins,
                trees=(0, 1),
                longest=ws.max_depth + 1,
            )
        )

    def run(self, n_rounds: int, watcher: Watcher | None = None) -> list[Tree]:
        """Boost; return the trees.

        Parameters
        ----------
        n_rounds : int
        watcher : callable or None
            Called after every round with its number and the margins of every watched set.
        """
        ws = self.ws
        pace = Pace(ws.device)
        for number in range(n_rounds):
            self._one_round(pace)
            if watcher is not None or len(self.trees) + self._waiting == 1:
                self._check_high_words()
            if watcher is not None:
                watcher(number, [rows.margins.get() for rows in self.evaluation])
        self._collect()
        return self.trees

    def _one_round(self, pace: Pace) -> None:
        for launch in self.round_launches:
            launch()
        self._waiting += 1
        pace.round_enqueued()
        if self._waiting == self.ws.forest_block:
            self._collect()

    def _check_high_words(self) -> None:
        """Train again from the start if trees are void for want of high words."""
        ws = self.ws
        if ws.has_high or not ws["needs_high"].get()[0]:
            return
        done = len(self.trees) + self._waiting
        ws.make_room_for_high_words()
        if self.tally is not None:
            self.tally.forget_trees()
        self._begin()
        pace = Pace(ws.device)
        for _ in range(done):
            self._one_round(pace)

    def _collect(self) -> None:
        """Read the trees that wait on the device."""
        ws = self.ws
        if self._waiting:
            self._check_high_words()
        if self._waiting:
            at = (self._first_waiting + np.arange(self._waiting)) % ws.forest_block
            nodes, levels = ws["forest_nodes"].get()[at], ws["forest_levels"].get()[at]
            if self.tally is not None:
                for tree, its_levels in zip(nodes, levels, strict=True):
                    self.tally.add_tree(tree, its_levels)
            self.trees += decode_trees(nodes, levels, ws.layout)
        self._first_waiting = (self._first_waiting + self._waiting) % ws.forest_block
        self._waiting = 0
