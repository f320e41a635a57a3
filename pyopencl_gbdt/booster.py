"""The boosting loop: the one place that joins the steps.

    quantize -> [ gradients -> [ histogram -> split -> decide -> partition ] -> leaf ]
                               [            once a level             ]   once a tree

A tree is a fixed list of launches whose sizes are known beforehand; what the data decides stays on
the device. The host reads finished trees a block at a time, and margins of evaluation sets where a
metric is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dataset import Dataset
from pyopencl_gbdt.device import Device, Launch
from pyopencl_gbdt.device.pace import Pace
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.base import CheckedSource
from pyopencl_gbdt.parameters import Parameters
from pyopencl_gbdt.quantized import Layout, QuantizedPage, smallest_layout
from pyopencl_gbdt.steps.finish import Finish
from pyopencl_gbdt.steps.gradients import Gradients
from pyopencl_gbdt.steps.grow import Grow
from pyopencl_gbdt.steps.histogram import Histogram
from pyopencl_gbdt.steps.leaf import Leaf
from pyopencl_gbdt.steps.partition import Partition
from pyopencl_gbdt.steps.split import Split
from pyopencl_gbdt.traffic import Tally
from pyopencl_gbdt.trees import decode_trees
from pyopencl_gbdt.watched import Start, WatchedRows
from pyopencl_gbdt.weights import normalise
from pyopencl_gbdt.workspace import Workspace

F32 = npt.NDArray[np.float32]
#: Called after every round with the round's number and the margins of every evaluation set.
Watcher = Callable[[int, list[F32]], None]
#: Kernels that multiply leaves by the learning rate.
_RATED = ("decide", "finish_tree")


class Steps:
    """The kernels of one fit, built."""

    def __init__(self, ws: Workspace, objective: Objective, data: Dataset) -> None:
        self.ws = ws
        self.source = objective.source(ws, data) if objective.given else None
        self.gradients = Gradients(ws, objective)
        self.histogram, self.split, self.partition = Histogram(ws), Split(ws), Partition(ws)
        self.leaf = Leaf(ws)
        self.grow, self.finish = Grow(ws), Finish(ws)

    def one_tree(self) -> list[Launch]:
        """Return what a tree takes, bound to the workspace's arrays."""
        ws, grow, partition = self.ws, self.grow, self.partition
        given = [] if self.source is None else self.source.launches()
        launches = [*given, *self.gradients.launches(), grow.begin()]
        for depth in range(ws.max_depth):
            launches += self.histogram.level(depth)
            launches += self.split.level(depth)
            launches.append(grow.decide(depth))
            if depth + 1 < ws.max_depth:  # leaves of the last level need no lists of rows
                launches += [partition.move(depth), grow.place(depth)]
        return [*launches, self.finish.tree(), self.leaf.add(), self.finish.keep()]

    def with_rate(self, learning_rate: float) -> Iterator[Launch]:
        """Return, in order, those launches of a tree that know the learning rate, for another."""
        for depth in range(self.ws.max_depth):
            yield self.grow.decide(depth, learning_rate)
        yield self.finish.tree(learning_rate)


class Boosting:
    """One fit: its own queue, kernels and memory.

    Parameters
    ----------
    device : Device
    params : Parameters
    objective : Objective
    data : Dataset
    base_margin : float or float32 array, shape (n_rows,)
        Margins before the first tree.
    """

    def __init__(
        self,
        device: Device,
        params: Parameters,
        objective: Objective,
        data: Dataset,
        base_margin: Start,
    ) -> None:
        weight, bits, shift = normalise(None if objective.applies_weights else data.weight)

        def workspace(layout: Layout, page: QuantizedPage | None) -> Workspace:
            n, weighted = data.n_rows, weight is not None
            ws = Workspace(device, params, layout, page, n, weighted, bits, shift)
            ws.given = objective.given
            return ws

        # at least this much, asked before the data are quantised; then exactly
        workspace(smallest_layout(data.n_features), None).check()
        quantized = data.quantized(device, params.max_bin)
        self.ws = ws = workspace(quantized.layout, quantized.pages[0])
        try:
            self.steps = Steps(ws, objective, data)  # their variants decide what is planned
        except BaseException:
            ws.page = None  # what builds kernels refers to the workspace, a traceback to that
            raise
        ws.allocate()
        ws["labels"].set(data.label)
        if weight is not None:
            ws["weights"].set(weight)
        self.base_margin = base_margin
        self.evaluation: list[WatchedRows] = []
        self.rates: list[float] = []  # of every round so far
        self.learning_rate = params.learning_rate
        self._begin()
        self.tally = None if device.profiler is None else Tally(ws)

    def _begin(self) -> None:
        """Bind the launches; no tree yet."""
        if self.steps.source is not None:
            self.steps.source.begin()
        every = [(self.ws["margins"], self.base_margin)]
        every += [(rows.margins, rows.start) for rows in self.evaluation if rows.values is not None]
        for margins, start in every:
            margins.set(np.full(margins.size, start, np.float32))
        self.round_launches = self.steps.one_tree()
        self._bound_rate = self.ws.params.learning_rate
        for rows in self.evaluation:
            self.round_launches += rows.launches(self.ws)
        self.trees: list[Tree] = []
        self._first_waiting = self._waiting = 0

    def watch(self, values: F32, start: Start | None = None) -> None:
        """Follow the margins of another set of rows.

        Parameters
        ----------
        values : float32 array, shape (n_rows, n_features), C order
        start : float or float32 array, shape (n_rows,), or None
            Their margins before the first tree; None is that of all training rows.
        """
        device, n_rows = self.ws.device, values.shape[0]
        start = self.base_margin if start is None else start
        margins = device.upload(np.full(n_rows, start, np.float32))
        rows = WatchedRows(device.upload(values), start, margins)
        self.evaluation.append(rows)
        self.round_launches += rows.launches(self.ws)
        if self.tally is not None:
            self.tally.evaluation_rows += n_rows

    def watch_training_rows(self) -> None:
        """Follow the margins of the training rows, which costs nothing."""
        self.evaluation.append(WatchedRows(None, self.base_margin, self.ws["margins"]))

    def _bind_rate(self, rate: float) -> None:
        """Bind anew what has the learning rate among its arguments; nothing waits."""
        if rate == self._bound_rate:
            return
        fresh = self.steps.with_rate(rate)
        for i, launch in enumerate(self.round_launches):
            if launch.name in _RATED:
                self.round_launches[i] = next(fresh)
        self._bound_rate = rate

    def run(self, n_rounds: int, watcher: Watcher | None = None) -> list[Tree]:
        """Boost; return the trees.

        Parameters
        ----------
        n_rounds : int
        watcher : callable or None
            Called after every round with its number and the margins of every watched set.
        """
        pace = Pace(self.ws.device)
        for number in range(n_rounds):
            self.step(pace)
            if watcher is not None:
                watcher(number, self.margins())
        return self.finished_trees()

    def step(self, pace: Pace) -> None:
        """Enqueue a round, at ``learning_rate``.

        The host waits for an earlier one if too many are under way, and for the first of all: it
        says whether there has to be room for high words.
        """
        self.rates.append(self.learning_rate)
        self._one_round(pace)
        if len(self.trees) + self._waiting == 1:
            self._check_high_words()

    def margins(self) -> list[F32]:
        """Return the margins of every set that is watched; waits for the round."""
        if self.evaluation:
            self._check_high_words()
        return [rows.margins.get() for rows in self.evaluation]

    def finished_trees(self) -> list[Tree]:
        """Return all trees so far; waits for the last one."""
        self._collect()
        return self.trees

    def _one_round(self, pace: Pace) -> None:
        number = len(self.trees) + self._waiting
        self._bind_rate(self.rates[number])
        if self.steps.source is not None:
            self.steps.source.before_round(number)
        for launch in self.round_launches:
            launch()
        self._waiting += 1
        pace.round_enqueued()
        if self._waiting == self.ws.forest_block:
            self._collect()

    def _check_high_words(self) -> None:
        """Train again from the start if trees are void for want of high words."""
        ws, source = self.ws, self.steps.source
        if isinstance(source, CheckedSource):
            source.check()
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
