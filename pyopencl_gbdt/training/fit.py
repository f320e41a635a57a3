"""One fit: what it consists of, and what a round does.

    quantize -> [ gradients -> [ histogram -> split -> decide -> partition ] -> leaf ]
                               [            once a level             ]   once a tree

A fit consists of five objects:

    parts        its memory, rows, nodes, features, and variants of kernels      fit/parts.py
    kernels      the kernels of a round, built for these parts           growth/round_kernels.py
    statistics   of categories, which change from round to round  categories/statistic_columns.py
    evaluation   other rows, whose margins each round updates              evaluation/watched.py
    grown        finished trees, on the device and as they were read       growth/grown_trees.py

A tree is a fixed list of launches of known sizes; whatever depends on the data is decided on the
device. The host reads finished trees in blocks, and with evaluation sets a few numbers per round:
``training/finished_rounds.py`` says when, and when rounds are trained again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.threads import transposed
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.device.run_ahead import Pace
from pyopencl_gbdt.device.transfers import EarlyCopy
from pyopencl_gbdt.evaluation.watched import EvaluationSet, Start
from pyopencl_gbdt.fit.page import FixedFeatures
from pyopencl_gbdt.fit.parts import FitParts, allocate, scaled_weights
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.growth.policy import Policy
from pyopencl_gbdt.growth.round_kernels import RoundKernels, built_kernels
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.pages.paged import check_width
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.finished_rounds import FinishedRounds
from pyopencl_gbdt.training.placement import Placement

if TYPE_CHECKING:
    from pyopencl_gbdt.callbacks.base import TrainingState
    from pyopencl_gbdt.categories.statistic_columns import StatisticColumns
    from pyopencl_gbdt.profiling.traffic import Tally

#: Computes the margin before the first tree, once labels and weights are on the device.
LateStart = Callable[[FitParts], Start]


def _tally(parts: FitParts, kernels: RoundKernels) -> Tally:
    from pyopencl_gbdt.profiling.traffic import Tally

    return Tally(parts, kernels.recipe.left_out)


class Fit(FinishedRounds):
    """One fit: it has its queue, its kernels and its memory.

    Parameters
    ----------
    data : Dataset
        The rows that this device trains on.
    base_margin : float, float32 array of shape (n_rows,) or (n_outputs, n_rows), or callable
        Margins before the first tree; a callable is called once the labels are on the device.
    first_round : int, default 0
        Rounds trained so far; offsets the random-number counter.
    beside : MemoryPlan or None
        Memory that evaluation sets and their metrics will take.
    policy : Policy or None
        Which nodes split next; None is what the parameters ask for.
    n_pages, n_slots : int
        Pages of codes, and those that lie on the device at a time if they take turns; 0 is as many
        as suit its memory.
    share : Share or None
        The device's place among the devices that train together; None if it trains alone.
    replaced : StatisticColumns or None
        Statistics in place of categorical columns of ``data``, some of which change every round.
    state : dict of str to float32 array, or None
        What ``state`` returned after the rounds so far.
    """

    def __init__(
        self,
        device: Device,
        params: Parameters,
        objective: Objective,
        data: Dataset,
        base_margin: Start | LateStart,
        first_round: int = 0,
        beside: MemoryPlan | None = None,
        policy: Policy | None = None,
        n_pages: int = 0,
        n_slots: int = 0,
        share: Share | None = None,
        replaced: StatisticColumns | None = None,
        state: TrainingState | None = None,
    ) -> None:
        if data.sparse is not None:
            check_width(data.n_features)
        share, beside = share or Share(), beside or MemoryPlan()
        weight = None if objective.applies_weights else data.weight
        weight, weights = scaled_weights(weight, share.team)
        orders = (0, 1) if replaced is None else replaced.plan(device, beside, params.max_bin)
        self._placement = Placement(
            device, params, objective, data, share, policy, beside, weights, first_round,
            replaced is not None, orders, n_pages, n_slots,
        )  # fmt: skip
        self.parts, codes = self._placement.place()
        self._build = partial(built_kernels, self.parts, self._placement.chosen, objective, data)
        try:
            self.kernels = self._build()
        except BaseException:
            self.parts.rows.forget_pages()  # a traceback may keep the fit alive, but not the pages
            raise
        allocate(self.parts)
        arena, rows, nodes, *_ = self.parts
        self.statistics = FixedFeatures()
        if replaced is not None and codes is not None:
            trees = nodes.round_trees, nodes.n_alike
            self.statistics = replaced.of_rounds(device, codes, *trees, arena["quanta"])
        rows.set("labels", data.label if data.n_targets == 1 else transposed(data.label))
        if weight is not None:
            rows.set("weights", weight)
        self.base_margin = base_margin(self.parts) if callable(base_margin) else base_margin
        self._state = state or {}
        self.evaluation: list[EvaluationSet] = []
        self.rates: list[float] = []  # the learning rate of every round so far
        self.learning_rate = params.learning_rate
        self.reads_last_trees = True
        """Whether the last round's trees are read before somebody asks; for folds nobody may."""
        self.tally = None if device.profiler is None else _tally(self.parts, self.kernels)
        self._begin()

    def _begin(self) -> None:
        """Reset the margins to their start, without trees."""
        parts, kernels = self.parts, self.kernels
        self.statistics.restart()
        kernels.leaves.start(self.base_margin, self._state)
        kernels.boosting.start(self.base_margin, self.evaluation)
        parts.arena.device.send()  # a loss of the user's may launch kernels of its own
        kernels.bind(self.statistics.turn())  # begins to build what is launched
        for action in kernels.gradients.begin():
            kernels.launching.alone(action)()
        for rows in self.evaluation:
            kernels.follow(rows)
        needs_high = parts.arena["needs_high"]
        self._high_of_block, self.needs_high = EarlyCopy(needs_high), EarlyCopy(needs_high)
        self._rounds = self._checked = self._asked = 0
        self._last_rows = (parts.nodes.batches[-1].size - 1) * parts.rows.n_rows  # of the last tree

    def _start_over(self) -> None:
        """Build the kernels again, which resets their arrays, and go back to the start."""
        self.kernels = self._build()
        if not self.parts.arena.has_memory:
            allocate(self.parts)
        if self.tally is not None:
            self.tally.forget_trees()
        self._forget_trees()
        self._begin()

    def watch(self, rows: EvaluationSet) -> None:
        """Update the margins of more rows in every round."""
        self.evaluation.append(rows)
        self.kernels.follow(rows)
        if self.tally is not None and isinstance(rows.margins, DeviceArray) and rows.has_values:
            from pyopencl_gbdt.prediction.predict_sparse import SparseRows

            self.tally.watch(rows.margins.shape[-1], sparse=isinstance(rows.values, SparseRows))

    # -- rounds --------------------------------------------------------------------------------
    def run(self, n_rounds: int) -> list[Tree]:
        """Run some rounds; return all trees so far."""
        pace = Pace(self.parts.arena.device)
        for _ in range(n_rounds):
            self.step(pace)
        return self.finished_trees()

    def step(self, pace: Pace) -> None:
        """Enqueue a round with the current ``learning_rate``.

        The host waits for an earlier round if too many are under way. It also waits for the first
        round, which tells whether quanta need room for high words.
        """
        self._one_round(pace)
        if self._rounds == 1:
            self._check_high_words()

    def _one_round(self, pace: Pace) -> None:
        number = self.begin_round()
        for actions in self.kernels.batches(joined=self._rounds > 0):
            self.statistics.take_order(number)
            for action in actions:
                action()
        self.end_trees()
        self.end_round(pace)

    @property
    def joins(self) -> bool:
        """Whether the host only enqueues launches between the trees of a round."""
        return self.statistics.orders is None or len(self.parts.nodes.batches) == 1

    def begin_round(self) -> int:
        """Enqueue what comes before a round's trees; return the round's number."""
        if self._rounds and self.grown.is_full:  # nothing waits before the first round
            self._read_block()
        if len(self.rates) == self._rounds:  # else the round is trained again
            self.rates.append(self.learning_rate)
        number, rate = self.parts.nodes.first_round + self._rounds, self.rates[self._rounds]
        self.kernels.finish.set_rate(rate)
        self.kernels.boosting.begin_round(number, rate)
        if self.kernels.source is not None:
            self.kernels.source.before_round(number)
        self.statistics.begin_round(number, self.finished_trees)
        self.statistics.take_order(number)
        for action in self.kernels.begin_round(number):
            action()
        return number

    def end_trees(self) -> None:
        """Enqueue what follows a round's trees."""
        self.kernels.boosting.end_round()

    def end_round(self, pace: Pace) -> None:
        """Count a round whose trees are enqueued, and wait if too many are under way."""
        rate = self.rates[self._rounds]
        number = self.parts.nodes.first_round + self._rounds
        self.grown.wait(rate)
        self._rounds += 1
        pace.round_enqueued()
        self.statistics.end_round(number, self.finished_trees, self._last_rows)
        is_last = self._rounds == self.parts.nodes.params.n_estimators
        if self.grown.is_full and (self.reads_last_trees or not is_last):
            self._read_block()

    def variants(self) -> dict[str, str]:
        """Return the variant of every kernel of this fit, and the kind of its pages."""
        return self.kernels.recipe.variants(self.parts)

    def close(self) -> None:
        """Free what the host keeps of pages in turn, with the files that the fit has made."""
        self.parts.rows.close(stored=self._placement.share.codes is None)
