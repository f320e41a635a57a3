"""The boosting loop.

    quantize -> [ gradients -> [ histogram -> split -> decide -> partition ] -> leaf ]
                               [            once a level             ]   once a tree

A tree is a fixed list of launches of known sizes; whatever depends on the data is decided on the
device. The host reads finished trees in blocks, and with evaluation sets a few numbers per round.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.callbacks.training_state import TrainingState
from pyopencl_gbdt.categories.pair_scores import is_scored
from pyopencl_gbdt.categories.statistic_columns import StatisticColumns
from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.batches.rows import BatchedRows
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.run_ahead import Pace
from pyopencl_gbdt.device.team.messages import Margins, VariantRefused, WeightBits, WeightExponents
from pyopencl_gbdt.device.variants import choosing
from pyopencl_gbdt.evaluation.watched import (
    EvaluationSet,
    PagedMargins,
    RowsInBatches,
    Start,
    is_read_anew,
)
from pyopencl_gbdt.fit.parts import FitParts, RowWeights, allocate, make_room_for_high_words
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.gradients.sources import CheckedSource
from pyopencl_gbdt.growth.grown_trees import GrownTrees
from pyopencl_gbdt.growth.policy import Policy
from pyopencl_gbdt.growth.steps import Steps
from pyopencl_gbdt.growth.walked_leaves import WalkedLeaves
from pyopencl_gbdt.growth.weighted_start import starting_margins
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.numerics.weights import normalise
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.pages.paged import check_width
from pyopencl_gbdt.pages.sources import uploaded
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.predict_sparse import SparseRows
from pyopencl_gbdt.profiling.traffic import Tally
from pyopencl_gbdt.training.placement import Placement

F32 = npt.NDArray[np.float32]
#: Called after every round with the round's number and the margins of every evaluation set.
Watcher = Callable[[int, list[F32]], None]
#: Computes the margin before the first tree, once labels and weights are on the device.
LateStart = Callable[[FitParts], Start]


class Booster:
    """One fit: it has its queue, its kernels and its memory.

    Parameters
    ----------
    device : Device
    params : Parameters
    objective : Objective
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
    n_pages : int
        Pages of codes; 0 is the fewest that the device can allocate, or as many as suit its memory.
    n_slots : int
        Pages that lie on the device at a time, if they take turns; 0 is as many as fit.
    share : Share or None
        The device's place among those that train together; None: it trains alone.
    replaced : StatisticColumns or None
        Statistics in place of categorical columns of ``data``, some of which change every round.
    state : dict of str to float32 array, or None
        What ``state`` returned after the rounds so far.
    """

    _gathered: DeviceArray | None = None
    """Margins of the training rows of all members of a team, if they are watched."""

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
        check_width(data)
        share = share or Share()
        team = share.team
        own = None if objective.applies_weights else data.weight
        weight, bits, shift = normalise(
            own, partial(team.add_up, WeightExponents), partial(team.most, WeightBits)
        )
        beside = beside or MemoryPlan()
        if replaced is not None:
            replaced.plan(device, beside, params.max_bin)
        orders = (0, 1) if replaced is None else replaced.sizes
        weights = RowWeights(weight is not None, bits, shift)
        placement = Placement(
            device, params, objective, data, share, policy, beside, weights, first_round,
            replaced is not None, orders, n_pages, n_slots,
        )  # fmt: skip
        parts, codes = placement.place()
        self.parts, self._placement = parts, placement
        try:
            self.steps = self._steps()
        except BaseException:
            parts.rows.forget_pages()  # a traceback may keep the fit alive, but not the pages
            raise
        allocate(parts)
        self._orders = self._combining = None
        if replaced is not None and codes is not None:
            facts = parts.nodes.round_trees, parts.arena["quanta"]
            self._orders = replaced.order_codes(device, codes, *facts)
            self._combining = replaced.combining
        parts.rows.set("labels", data.label if data.n_targets == 1 else data.label.T)
        if weight is not None:
            parts.rows.set("weights", weight)
        self.base_margin = base_margin(parts) if callable(base_margin) else base_margin
        self._state = state or {}
        self.evaluation: list[EvaluationSet] = []
        self.rates: list[float] = []  # the learning rate of every round so far
        self.learning_rate = params.learning_rate
        self._begin()
        self.tally = None if device.profiler is None else Tally(parts, self.steps.recipe.left_out)

    def _steps(self) -> Steps:
        """Build the kernels of the fit; again if one took another variant meanwhile.

        The arrays of kernels that were built before may depend on it.
        """
        place, parts = self._placement, self.parts
        while True:
            n_refused = len(choosing.REFUSED)
            steps = Steps(parts, place.chosen, place.objective, place.data)
            if parts.arena.has_memory:
                return steps
            # members build again together: constructors of steps may exchange facts
            if not parts.rows.team.most(VariantRefused, int(len(choosing.REFUSED) != n_refused)):
                return steps
            parts.rows.forget_steps()

    def _begin(self) -> None:
        """Reset the margins to their start, without trees."""
        if self._combining is not None:
            self._combining.restart()
        self.steps.start(starting_margins(self.base_margin), self._state)
        boosting = self.steps.boosting
        boosting.start(self.base_margin, self.evaluation)
        self.parts.arena.device.send()  # a loss of the user's may launch kernels of its own
        self._before = self.steps.round_begins()
        self._kept = boosting.kept_margins()
        orders = self._orders if self.steps.recipe.update is WalkedLeaves else None
        turn = [] if orders is None else [orders.turn()]
        self._batches = [self.steps.trees(batch, turn) for batch in self.parts.nodes.batches]
        self._recorded: list[list[Action]] = []
        self._rate = self.parts.nodes.params.learning_rate  # the rate that the bound launches use
        for rows in self.evaluation:
            self._follow(rows)
        self.trees: list[Tree] = []
        self.grown = GrownTrees(self.parts)
        self._first_waiting = self._waiting = self._rounds = 0
        self._checked = 0  # rounds after which no high words were needed

    def _begin_anew(self) -> None:
        """Build the kernels again, which resets their arrays, and go back to the start."""
        self.steps = self._steps()
        if not self.parts.arena.has_memory:
            allocate(self.parts)
        if self.tally is not None:
            self.tally.forget_trees()
        self._begin()

    def _follow(self, rows: EvaluationSet) -> None:
        self._recorded = []
        for batch, launches in zip(self.parts.nodes.batches, self._batches, strict=True):
            launches.extend(self.steps.boosting.follow(rows, batch))

    def watch(
        self, values: F32 | DeviceArray | SparseMatrix | BatchedRows, start: Start | None = None
    ) -> None:
        """Update the margins of another set of rows in every round.

        Parameters
        ----------
        values : float32 array, DeviceArray, SparseMatrix or BatchedRows, shape (n_rows, n_features)
        start : float, float32 array, shape (n_rows,) or (n_outputs, n_rows), or None
            Margins before the first tree; None is the margin that all training rows start from.
        """
        device, n_rows = self.parts.arena.device, values.shape[0]
        start = self.base_margin if start is None else start
        margins = device.empty(
            self.parts.rows.margin_shape(n_rows), np.float32, "evaluated margins"
        )
        there: DeviceArray | SparseRows | RowsInBatches
        if isinstance(values, SparseMatrix):
            there = SparseRows.of(device, values)
        elif isinstance(values, BatchedRows):
            anew = is_read_anew(device, values)
            there = RowsInBatches(device, values) if anew else uploaded(device, values)
        else:
            there = values if isinstance(values, DeviceArray) else device.upload(values)
        rows = EvaluationSet(there, start, margins)
        rows.restart()
        self.evaluation.append(rows)
        self._follow(rows)
        if self.tally is not None:
            if isinstance(there, SparseRows):
                self.tally.sparse_rows += n_rows
            else:
                self.tally.evaluation_rows += n_rows

    def watch_training_rows(self) -> None:
        """Watch the margins of the training rows, which takes no extra work."""
        parts = self.parts
        margins = parts.arena["margins"] if parts.rows.turns is None else PagedMargins(parts)
        self.evaluation.append(EvaluationSet(None, self.base_margin, margins))

    def watch_gathered_rows(self, n_rows: int) -> None:
        """Watch the margins of all members' training rows, which ``gather`` brings here."""
        margins = self.parts.arena.device.empty(self.parts.rows.margin_shape(n_rows), np.float32)
        self._gathered = margins
        self.evaluation.append(EvaluationSet(None, self.base_margin, margins, gathered=True))

    def gather(self) -> None:
        """Bring the margins of all members' rows together, where a member watches them."""
        parts = self.parts.rows.team.exchange(Margins, self.parts.rows.get("margins"))
        if self._gathered is not None:
            self._gathered.set(np.concatenate(parts, axis=-1))

    def run(self, n_rounds: int, watcher: Watcher | None = None) -> list[Tree]:
        """Run all rounds; return the trees.

        Parameters
        ----------
        n_rounds : int
        watcher : callable or None
            Called after every round with its number and the margins of every watched set.
        """
        pace = Pace(self.parts.arena.device)
        for number in range(n_rounds):
            self.step(pace)
            if watcher is not None:
                watcher(number, self.margins())
        return self.finished_trees()

    def step(self, pace: Pace) -> None:
        """Enqueue a round with the current ``learning_rate``.

        The host waits for an earlier round if too many are under way. It also waits for the first
        round, which tells whether quanta need room for high words.
        """
        self.rates.append(self.learning_rate)
        self._one_round(pace)
        if self._rounds == 1:
            self._check_high_words()

    def settle(self, *, watched: bool) -> bool:
        """Wait for the round if a set is watched; return whether all rounds were trained again.

        All members of a team give the same ``watched``, as all of them train again.
        """
        return watched and self._check_high_words()

    def margins(self) -> list[F32]:
        """Return the margins of every watched set; waits for the round."""
        self.settle(watched=bool(self.evaluation))
        return [rows.margins.get() for rows in self.evaluation]

    def variants(self) -> dict[str, str]:
        """Return the variant of every kernel of this fit, and the kind of its pages."""
        return self.steps.recipe.variants(self.parts)

    def state(self) -> TrainingState:
        """Return what the rounds to come need beside the trees; waits for the last round."""
        self._check_high_words()
        return self.steps.state()

    def finished_trees(self) -> list[Tree]:
        """Return all trees so far; waits for the last round."""
        self._collect()
        self.trees += self.grown.take()
        return self.trees

    def finished_digest(self) -> str:
        """Return a digest of all trees so far, without decoding them; waits for the last round."""
        self._collect()
        return self.grown.digest

    def close(self) -> None:
        """Free what the host keeps of pages that take turns, and their files, if the fit made them.

        The fit cannot go on.
        """
        if self.parts.rows.visits is not None:
            self.parts.rows.visits.close()
            if self._placement.share.codes is None:
                self.parts.rows.visits.stored.close()

    def _one_round(self, pace: Pace) -> None:
        rate = self.rates[self._rounds]
        if rate != self._rate:
            self.steps.finish.set_rate(rate)
            self._rate = rate
        number = self.parts.nodes.first_round + self._rounds
        self.steps.boosting.begin_round(number, rate)
        if self.steps.source is not None:
            self.steps.source.before_round(number)
        if self._combining is not None and self._combining.is_due(number):
            self._collect()
            self._combining.choose(self.trees, number)
        if self._orders is not None:
            self._orders.take(number)
        for begins in (*self._before[number % len(self._before)], *self._kept):
            begins()
        for actions in self._enqueued():
            if self._orders is not None:
                self._orders.take(number)
            for action in actions:
                action()
            self._waiting += 1
        self.steps.boosting.end_round()
        self._rounds += 1
        pace.round_enqueued()
        if self._combining is not None and is_scored(number + 1):
            self._collect()
            last_tree = self.parts.nodes.batches[-1].size - 1
            self._combining.score(self.trees, number + 1, last_tree * self.parts.rows.n_rows)
        if self._waiting + len(self._batches) > self.parts.nodes.forest_block:
            self._collect()

    def _enqueued(self) -> list[list[Action]]:
        """Return the actions of a round's batches, enqueued by few calls.

        The first round does without: most of what joins calls would delay it.
        """
        if not self._rounds:
            return self._batches
        if not self._recorded:
            pages_stay, device = self.parts.rows.turns is None, self.parts.arena.device
            own = [device.together(a) if pages_stay else list(a) for a in self._batches]
            self._recorded = own
        return self._recorded

    def _check_high_words(self) -> bool:
        """Train again from the start if high words were needed but absent; return whether."""
        parts, source = self.parts, self.steps.source
        if isinstance(source, CheckedSource):
            source.check()
        if parts.rows.has_high or self._checked == self._rounds:
            return False
        if not parts.arena["needs_high"].get()[0]:
            self._checked = self._rounds
            return False
        done = self._rounds
        self._batches, self._before, self._kept, self._recorded = [], [], [], []  # they hold arrays
        del self.steps, source  # the arrays that only its launches know are free then
        make_room_for_high_words(parts, self._placement.turn_again)
        self._begin_anew()
        pace = Pace(parts.arena.device)
        for _ in range(done):
            self._one_round(pace)
        self._check_high_words()  # the pages of all rows may need high words, too
        return True

    def _collect(self) -> None:
        """Read the finished trees that are still on the device."""
        parts = self.parts
        if self._waiting:
            self._check_high_words()
        if self._waiting:
            at = (self._first_waiting + np.arange(self._waiting)) % parts.nodes.forest_block
            first = self._rounds - self._waiting // len(self._batches)
            rates = [parts.nodes.leaf_rate(rate) for rate in self.rates[first : self._rounds]]
            read = self.grown.read(at, np.repeat(rates, parts.nodes.round_trees))
            if self.tally is not None:
                for nodes, its_levels in read:
                    self.tally.add_tree(nodes, its_levels)
            if self._combining is not None:  # it asks for the columns of new trees
                self.trees += self._combining.collected(self.grown.take())
        self._first_waiting = (self._first_waiting + self._waiting) % parts.nodes.forest_block
        self._waiting = 0
