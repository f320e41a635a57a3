"""Fits of one kind, such as folds, whose rounds are enqueued together by joined launches.

A round of few rows consists of some 40 launches that each take the host 5 us through OpenCL, while
most of a GPU is idle. Joined, the launches of five folds are as many as those of one, and every
fold has work-groups of its own in them, see ``device/joined_launches.py``.

Folds of a data set are *alike* if they have equally many rows, and as many bins of each feature.
Their arrays lie in a room of several jobs, each at the same place in its fit's part. So the
launches of the first fit tell those of the others, which need not be bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain

import numpy as np

from pyopencl_gbdt.device import Capabilities, Device, DeviceArray, open_device
from pyopencl_gbdt.device.discovery import opened
from pyopencl_gbdt.device.joined_launches import Steps, joined, joined_by_first, kinds
from pyopencl_gbdt.device.program import Action, Launch
from pyopencl_gbdt.device.room import Room
from pyopencl_gbdt.device.run_ahead import Pace
from pyopencl_gbdt.device.transfers import CopiesInTurn, PartOfCopy, copy_launch
from pyopencl_gbdt.evaluation.metric_kind import N_WORDS
from pyopencl_gbdt.growth.finalize import PlainBoosting
from pyopencl_gbdt.growth.round_kernels import RoundKernels
from pyopencl_gbdt.pages.together import tell_matrices
from pyopencl_gbdt.training.concurrent_fits import EnqueuedRounds, way
from pyopencl_gbdt.training.fit import Fit
from pyopencl_gbdt.training.running_task import RunningTask
from pyopencl_gbdt.training.task import Task

#: Rows of all fits up to which their launches are joined, unless the environment asks for it: a
#: round of more rows takes a GPU longer than the host. Five folds of 8000 rows were measured.
_MOST_ROWS = 1 << 17
#: Fewest rounds of fits that are joined: a machine builds the joined kernels once, in 3.4 s on an
#: H200 by one thread, and a round of five folds takes 1.1 in place of 2.1 ms.
_FEWEST_ROUNDS = 100


def joins(device: Device, tasks: Sequence[Task]) -> bool:
    """Tell whether fits on a device share a queue, in which their launches are joined.

    H100, five folds of 10 000 x 20, 100 rounds: 107 ms through OpenCL, in queues of their own 248;
    102 ms through CUDA, in queues of their own 128.
    """
    caps, asked = device.caps, way() == "joined"
    if way() == "":
        few = sum(task.data.n_rows for task in tasks) <= _MOST_ROWS
        asked = few and min(task.params.n_estimators for task in tasks) >= _FEWEST_ROUNDS
    return asked and caps.hides_latency and caps.tested_driver


class Joining:
    """Opens the devices of fits, which share a queue where that is faster.

    ``tasks``: the trainings that run side by side.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._first: Device | None = None
        self._found: tuple[str, Capabilities] | None = None
        self._room: Room | None = None

    def __call__(self, name: str) -> Device:
        """Open the device of a fit; call it for one after the other."""
        if self._first is None or self._found is None or name != self._found[0]:
            device = open_device(name)
        else:
            device = opened(self._found[1], getattr(self._first, "cl_device", None))
        if self._first is None:
            self._first, self._found = device, (name, device.caps)
            if len(self._tasks) > 1 and joins(device, self._tasks):
                self._room = Room(len(self._tasks))
                tell_matrices(self._room.shared, [task.data.features for task in self._tasks])
                device.room = self._room.job()
        elif self._room is not None and self._first.process_key == device.process_key:
            device.share_queue(self._first)
            device.room = self._room.job()
        return device


def enqueued_together(fits: Sequence[RunningTask]) -> Sequence[EnqueuedRounds]:
    """Return the fits, those that share a queue as one."""
    others = [fit.device.shares_queue for fit in fits[1:]]
    return [JoinedFits(fits)] if others and all(others) else fits


class _NoPace(Pace):
    """Waits for no round: the metrics of each are waited for."""

    def round_enqueued(self) -> None:
        pass


class JoinedFits:
    """Runs the rounds of several fits that share a queue.

    host      | enqueue 2 | take 1 | enqueue 3 | take 2 |
    device    | round 1      | round 2     | round 3

    The metrics of a round are read while the next one runs. A round is *counted* when its metrics
    are enqueued and the next round has not begun.
    """

    def __init__(self, fits: Sequence[RunningTask]) -> None:
        self._tasks = fits
        self._bound: list[RoundKernels] = []
        self._trees: list[Action] = []
        self._metrics: list[Action] = []
        self._results: CopiesInTurn | None = None
        self._pace = _NoPace(fits[0].device)
        self._is_counted = True
        self._n_taken_early = 0
        if self._is_plain:
            for task in fits:
                task.fit.reads_last_trees = False

    @property
    def _joins(self) -> bool:
        # nobody waits for the high words of a first round whose metrics nobody reads
        settles = all(task.is_watched or task.fit.rates for task in self._tasks)
        return settles and all(task.fit.joins for task in self._tasks)

    @property
    def _is_plain(self) -> bool:
        return all(isinstance(fit.fit.kernels.boosting, PlainBoosting) for fit in self._tasks)

    @property
    def runs_ahead(self) -> bool:
        """Whether a round is enqueued before the metrics of the one before are taken."""
        return all(
            task.is_watched
            and task.fit.statistics.orders is None
            and not task.evaluation.reads_margins
            for task in self._tasks
        )

    def enqueue(self) -> None:
        """Enqueue a round of every fit, and its metrics."""
        if not self._joins:
            for task in self._tasks:
                task.enqueue()
            return
        self._count()
        if self._bound != [task.fit.kernels for task in self._tasks]:  # those with high words
            if self._results is not None and self._results.n_waiting:
                self._take(self._results)
                self._n_taken_early += 1
            self._bind()
        for task in self._tasks:
            task.fit.begin_round()
            task.device.send()  # joined launches are those of the first fit's device
        for action in self._trees:
            action()
        for task in self._tasks:
            task.fit.end_trees()
        self._is_counted = False
        if not self.runs_ahead:
            self._count(evaluates=False)
        for action in self._metrics:
            action()

    def take(self) -> None:
        """Wait for the first round that was enqueued and not waited for, and keep its metrics."""
        if self._n_taken_early:
            self._n_taken_early -= 1
        elif self._results is None or not self._joins:
            for task in self._tasks:
                task.take()
        else:
            if self._results.n_waiting == 1:
                self._count()
            self._take(self._results)

    def _count(self, others: Sequence[RunningTask] = (), *, evaluates: bool = True) -> None:
        """Count the round that was enqueued last, for all fits but ``others``; count it only once.

        With ``evaluates``, its metrics were enqueued, too.
        """
        if self._is_counted:
            return
        self._is_counted = True
        for task, bound in zip(self._tasks, self._bound, strict=True):
            if task in others:
                continue
            task.fit.end_round(self._pace)
            task.check_sums()
            if evaluates and task.fit.kernels is not bound:  # it was trained again, with high words
                self._evaluate(task)
            task.fit.ask()

    def _evaluate(self, task: RunningTask) -> None:
        """Compute the metrics of a fit that was trained again up to the last round."""
        assert self._results is not None
        task.evaluation.launch()
        self._results.keep_newest()

    def _take(self, results: CopiesInTurn) -> None:
        """Keep the metrics of a round; fits that need high words are trained again."""
        results.turn()
        again = [task for task in self._tasks if task.fit.settle(watched=task.is_watched)]
        for task in self._tasks:
            if task not in again:
                task.keep_metrics()
        if not again:
            return
        for task in again:
            self._evaluate(task)
        results.turn()
        for task in again:
            task.keep_metrics()
        if not self._is_counted:  # the round after this one was enqueued, too
            self._count(again)
            for task in again:
                task.enqueue()
            results.keep_newest()

    def _bind(self) -> None:
        """Join the launches of the trees, and those of the metrics."""
        fits = [task.fit for task in self._tasks]
        metrics, results = self._all_metrics(moves_words=not any(fit.rates for fit in fits))
        trees = self._joined_trees()
        self._bound, rows = [fit.kernels for fit in fits], fits[0].parts.rows
        for task in self._tasks:
            task.device.send()  # not while CUDA records launches
        if self.runs_ahead and self._is_plain:  # then nothing comes between them
            trees, metrics = [*trees, *metrics], []
        self._trees = rows.joined(trees)
        self._metrics = [*self._tasks[0].device.together(metrics), results]
        self._results = results

    def _joined_trees(self) -> list[Action]:
        """Return the launches of the trees of all fits."""
        first, *others = [task.fit.kernels for task in self._tasks]
        own = list(chain.from_iterable(first.batches(joined=False)))
        steps = steps_between(self._tasks)
        found = None if steps is None else joined_by_first(own, len(self._tasks), steps)
        if found is not None:
            return found
        bound = [list(chain.from_iterable(other.batches(joined=False))) for other in others]
        return joined([own, *bound])

    def _all_metrics(self, *, moves_words: bool) -> tuple[list[Action], CopiesInTurn]:
        """Return what writes all metrics, and what tells of high words, to an array of all fits.

        With ``moves_words``, before anything was launched, the kernels of trees write their words
        there; else copies do.
        """
        device, n_fits = self._tasks[0].device, len(self._tasks)
        row_bytes = N_WORDS * 8
        step = -(-device.alignment // row_bytes)  # rows from one fit's word to the next one's
        n_rows = n_fits * step + sum(task.evaluation.n_results for task in self._tasks)
        whole = device.zeros(n_rows * row_bytes, np.uint8)
        array = DeviceArray(device, (n_rows, N_WORDS), np.int64, None)
        array.lie_in(whole)
        results = CopiesInTurn(array)
        launches, copies, row = list[list[list[Launch]]](), [], n_fits * step
        for number, task in enumerate(self._tasks):
            launches.append(task.evaluation.share(results, row))
            row += task.evaluation.n_results
            word = task.fit.parts.arena["needs_high"]
            if moves_words:
                begin = number * step * row_bytes
                word.lie_in(device.part(whole, begin, word.shape, word.dtype))
            else:
                copies.append(copy_launch(word, array, number * step * N_WORDS))
            task.fit.needs_high = PartOfCopy(results, number * step, word.dtype)
        return [*_joined_sets(launches), *copies], results


def _joined_sets(fits: Sequence[Sequence[Sequence[Launch]]]) -> list[Action]:
    """Return launches of all fits' metrics; those of sets that are alike are one, too.

    ``fits``: as ``Evaluation.launches`` of each.
    """
    if len({len(own) for own in fits}) != 1:
        return joined([list(chain.from_iterable(own)) for own in fits])
    alike: dict[Hashable, list[Sequence[Launch]]] = {}
    for sets in zip(*fits, strict=True):
        alike.setdefault(frozenset(map(kinds, sets)), []).extend(sets)
    return [action for sets in alike.values() for action in joined(sets)]


def steps_between(tasks: Sequence[RunningTask]) -> Steps | None:
    """Return the bytes from the arrays of a fit to those of the next; None if fits differ."""
    first, *others = tasks
    if first.device.room is None or not all(_are_alike(first, other) for other in others):
        return None
    room = first.device.room.room
    found = dict[int, tuple[DeviceArray, int]]()
    for number, step in enumerate(room.steps):
        whole = room.whole(number)
        if whole is not None:
            found[id(whole)] = whole, step
    words = [task.fit.parts.arena["needs_high"].place for task in tasks]  # these may lie elsewhere
    (whole, begin), (_, then) = words[:2]
    if any(own is not whole for own, _ in words):
        return None
    if [place for _, place in words] != [begin + n * (then - begin) for n in range(len(words))]:
        return None
    found[id(whole)] = whole, then - begin
    return found


def _are_alike(one: RunningTask, other: RunningTask) -> bool:
    rooms = one.device.room, other.device.room
    return (
        rooms[1] is not None
        and rooms[0].room is rooms[1].room
        and rooms[0].taken == rooms[1].taken
        and type(one.task.objective) is type(other.task.objective)
        and one.task.objective.parameters == other.task.objective.parameters
        and _launch_alike(one.fit, other.fit)
    )


def _launch_alike(one: Fit, other: Fit) -> bool:
    """Tell whether all numbers that launches take, and their work-groups, are the same."""
    if one.kernels.source is not None or one.statistics.orders is not None:
        return False
    if not other.kernels.binds_later:
        return False
    features = one.parts.features
    plain = not features.has_categories and not features.limits.forced
    return plain and bool(_sizes(one) == _sizes(other)) and _bins(one) == _bins(other)


def _sizes(fit: Fit) -> tuple[object, ...]:
    arena, rows, nodes, features, ways = fit.parts
    weights = rows.weighted, rows.weight_bits, rows.weight_shift
    kinds = features.columns, features.tiled, [list(group) for group in features.exclusive]
    trees = nodes.n_trees, nodes.first_round, fit.kernels.recipe
    planned = list(arena.plan.arrays.items())
    return ways.facts, planned, weights, rows.has_high, kinds, trees, len(fit.evaluation)


def _bins(fit: Fit) -> tuple[bytes, bytes]:
    layout = fit.parts.features.layout
    return layout.feature_bins.tobytes(), layout.feature_offset.tobytes()
