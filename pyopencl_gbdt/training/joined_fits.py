"""Fits of one kind, such as folds, whose rounds are enqueued together by joined launches.

A round of few rows consists of some 40 launches that each take the host 5 us through OpenCL, while
most of a GPU is idle. Joined, the launches of five folds are as many as those of one, and every
fold has work-groups of its own in them, see ``device/joined_launches.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.joined_launches import joined
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.transfers import EarlyCopy, PartOfCopy, copy_launch
from pyopencl_gbdt.growth.round_kernels import RoundKernels
from pyopencl_gbdt.metrics.rows import N_WORDS
from pyopencl_gbdt.training.concurrent_fits import EnqueuedRounds, way
from pyopencl_gbdt.training.running_task import RunningTask, Task

#: Rows of all fits up to which their launches are joined, unless the environment asks for it: a
#: round of more rows takes a GPU longer than the host. Five folds of 8000 rows were measured.
_MOST_ROWS = 1 << 17
#: Fewest rounds of fits that are joined: a machine builds the joined kernels once, in 3.4 s on an
#: H200 by one thread, and a round of five folds takes 1.1 in place of 2.1 ms.
_FEWEST_ROUNDS = 100


def joins(device: Device, tasks: Sequence[Task]) -> bool:
    """Tell whether fits on a device share a queue, in which their launches are joined.

    CUDA enqueues a round as one graph, which gains as much: 92 ms for 100 rounds of five folds
    side by side, 95 joined.
    """
    caps, asked = device.caps, way() == "joined"
    if way() == "" and not caps.records_launches:
        few = sum(task.data.n_rows for task in tasks) <= _MOST_ROWS
        asked = few and min(task.params.n_estimators for task in tasks) >= _FEWEST_ROUNDS
    return asked and caps.hides_latency and caps.tested_driver


class Joining:
    """Lets the devices of fits share a queue, where that is faster.

    Parameters
    ----------
    tasks : sequence of Task
        What is trained side by side.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._first: Device | None = None

    def __call__(self, device: Device) -> None:
        """Prepare the device of a fit; call it for one after the other."""
        if self._first is None:
            self._first = device
            device.one_allocation = len(self._tasks) > 1 and joins(device, self._tasks)
        elif self._first.one_allocation and self._first.process_key == device.process_key:
            device.share_queue(self._first)
            device.one_allocation = True


def enqueued_together(fits: Sequence[RunningTask]) -> Sequence[EnqueuedRounds]:
    """Return the fits, those that share a queue as one."""
    others = [fit.device.shares_queue for fit in fits[1:]]
    return [JoinedFits(fits)] if others and all(others) else fits


class JoinedFits:
    """Runs the rounds of several fits that share a queue.

    Parameters
    ----------
    fits : sequence of RunningTask
    """

    def __init__(self, fits: Sequence[RunningTask]) -> None:
        self._tasks = fits
        self._bound: list[RoundKernels] = []
        self._trees: list[Action] = []
        self._metrics: list[Action] = []

    def enqueue(self) -> None:
        """Enqueue a round of every fit, and its metrics."""
        fits = [task.fit for task in self._tasks]
        if not all(fit.rates and fit.joins for fit in fits):  # a first round tells of high words
            for task in self._tasks:
                task.enqueue()
            return
        if self._bound != [fit.kernels for fit in fits]:  # kernels with high words are others
            self._bind()
        for fit in fits:
            fit.begin_round()
        for action in self._trees:
            action()
        for task, fit in zip(self._tasks, fits, strict=True):
            fit.end_round(task.pace)
            task.check_sums()
        for action in self._metrics:
            action()
        for fit in fits:
            fit.ask()

    def take(self) -> None:
        """Wait for the round that was enqueued last, and keep its metrics."""
        for task in self._tasks:
            task.take()

    def _bind(self) -> None:
        """Join the launches of the trees, and those of the metrics."""
        fits = [task.fit for task in self._tasks]
        self._bound, rows = [fit.kernels for fit in fits], fits[0].parts.rows
        trees = [list(chain.from_iterable(fit.kernels.batches(joined=False))) for fit in fits]
        self._trees = rows.joined(joined(trees))
        self._metrics = [*self._tasks[0].device.together(self._joined_metrics()), self._results]

    def _joined_metrics(self) -> list[Action]:
        """Return what writes all metrics, and what tells of high words, to an array of all fits."""
        device, n_fits = self._tasks[0].device, len(self._tasks)
        n_rows = n_fits + sum(task.evaluation.n_results for task in self._tasks)
        self._results = EarlyCopy(device.zeros((n_rows, N_WORDS), np.int64))
        launches, copies, row = [], [], n_fits
        for number, task in enumerate(self._tasks):
            launches.append(task.evaluation.share(self._results, row))
            row += task.evaluation.n_results
            needs_high = task.fit.parts.arena["needs_high"]
            copies.append(copy_launch(needs_high, self._results.array, number * N_WORDS))
            task.fit.needs_high = PartOfCopy(self._results, number, needs_high.dtype)
        return [*joined(launches), *copies]
