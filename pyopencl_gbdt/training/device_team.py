"""Train one model on several devices of one process, each with some of the rows.

The devices may be of different makers and kinds: the model's bytes are those of one device.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, TypeVar

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.run_ahead import clear_frames, settled
from pyopencl_gbdt.device.team.messages import CodesBefore, CodesOfPart, DeviceKey
from pyopencl_gbdt.device.team.nccl import communicators
from pyopencl_gbdt.device.team.threads import Threads, threads
from pyopencl_gbdt.errors import TeamError
from pyopencl_gbdt.evaluation.label_mean import LabelMean
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.pages.cuts import CUT_RULES
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.pages.parted_cuts import shared_layout
from pyopencl_gbdt.training.member import LeadingTask, follow
from pyopencl_gbdt.training.preparing import sums_labels_on_device
from pyopencl_gbdt.training.running_task import RunningTask, trained_params
from pyopencl_gbdt.training.split_search import check_exact
from pyopencl_gbdt.training.task import StartingPoint, Task

#: First row of a part, and the row behind it.
Bounds = tuple[int, int]
AnyFit = TypeVar("AnyFit", bound=RunningTask)


@dataclass
class _Part:
    """One device's part of the work.

    Attributes
    ----------
    task : Task
        With the part's rows.
    rows : Dataset
        All rows, as this member reads them.
    bounds : sequence of (int, int)
        The rows of every member.
    """

    device: Device
    task: Task
    whole: Dataset
    rows: Dataset
    team: Threads
    bounds: Sequence[Bounds]
    _key: tuple[Any, ...] = field(default=(), init=False)

    def fit(self, kind: Callable[[Device, Task, Share], AnyFit]) -> AnyFit:
        """Return the member's fit; the whole data set keeps all members' codes for the next one."""
        whole, (first, _) = self.whole, self.bounds[self.team.rank]
        layout = self._layout()
        share = Share(self.team, first, whole.n_rows, layout=layout, whole=whole)
        fit = kind(self.device, self.task, share)
        codes = self.team.exchange(CodesOfPart, self.task.data.kept)
        if self.team.rank == 0:
            whole.kept = (self._key, (layout, codes))
        return fit

    def _layout(self) -> Layout:
        """Return the layout of all rows, and give the part the codes that it had before."""
        device, whole, params = self.device, self.whole, trained_params(self.task)
        ids = tuple(self.team.exchange(DeviceKey, device.process_key))
        self._key = (ids, params.max_bin, params.max_bin_exact, params.cut_rule, tuple(self.bounds))
        kept = self.team.exchange(CodesBefore, whole.kept)[0]
        if kept is not None and kept[0] == self._key:
            layout: Layout = kept[1][0]
            self.task.data.kept = kept[1][1][self.team.rank]
            return layout
        if self.team.rank == 0:
            whole.forget()  # frees the former codes first
        del kept
        shares = [(end - first) / max(1, whole.n_rows) for first, end in self.bounds]
        layout = shared_layout(
            device, self.team, self.rows, params.max_bin, shares,
            exact=params.max_bin_exact, rule=CUT_RULES[params.cut_rule],
        )  # fmt: skip
        check_exact(self.task.params, layout.feature_bins)
        return layout


class _Follower(threading.Thread):
    """A thread that trains the part of a member other than the first."""

    def __init__(self, part: _Part) -> None:
        super().__init__(daemon=True, name=f"member {part.team.rank} of a team")
        self.part: _Part | None = part
        self.error: BaseException | None = None

    def run(self) -> None:
        assert self.part is not None
        part, self.part = self.part, None
        try:
            with settled(part.device), part.team.leaving():
                fit = part.fit(RunningTask)
                with contextlib.closing(fit):
                    follow(fit)
        except BaseException as error:  # the thread of member 0 raises it
            self.error = error


@contextlib.contextmanager
def leading(
    devices: Sequence[Device], task: Task, bounds: Sequence[Bounds]
) -> Iterator[LeadingTask]:
    """Run a fit on several devices; the block drives it, and others follow in threads.

    Parameters
    ----------
    devices : sequence of Device
        Each opened for this fit; a device may be opened twice.
    task : Task
        With all rows.
    bounds : sequence of (int, int)
        The rows of every device.

    Yields
    ------
    LeadingTask
        The fit of the first device.

    Raises
    ------
    ParameterError
        If exact search meets too many distinct values.
    DeviceError
        If a device fails, or devices disagree on the trees. All threads have ended then.
    """
    whole, task = task.data, replace(task, by_codes=True)
    if task.start is None:
        score = _base_score(devices[0], task.objective, whole)
        task = replace(task, start=StartingPoint(score, task.objective.to_margin(score)))
    parts = []
    for device, team in zip(devices, threads(len(devices)), strict=True):
        rows = whole.handed_to(team)
        part = _part_of(task, rows, team.rank, bounds)
        parts.append(_Part(device, part, whole, rows, team, bounds))
    followers = [_Follower(part) for part in parts[1:]]
    first = parts[0]
    first.team.meeting.communicators = communicators(devices)
    for follower in followers:
        follower.start()
    try:
        with settled(first.device), first.team.leaving():
            fit = first.fit(LeadingTask)
            with contextlib.closing(fit):
                yield fit
                fit.end()
    except BaseException as error:
        _join(followers)
        cause = _cause(error, followers)
        if cause is error:
            raise
        raise cause from None
    finally:
        _join(followers)
        first.team.meeting.close()
    for follower in followers:
        if follower.error is not None:
            raise follower.error


def _part_of(task: Task, rows: Dataset, rank: int, bounds: Sequence[Bounds]) -> Task:
    """Return a member's task: its part of the rows; only the first one evaluates sets."""
    data = rows.part(*bounds[rank])
    if rank == 0:
        return replace(task, data=data, whole=task.data)
    return replace(task, data=data, evals=(), history={})


def _join(followers: Sequence[_Follower]) -> None:
    for follower in followers:
        follower.join()


def _cause(error: BaseException, followers: Sequence[_Follower]) -> BaseException:
    """Return the first cause, rather than that others were left alone; free the others' memory."""
    every = [error, *(f.error for f in followers if f.error is not None)]
    cause = min(every, key=lambda one: isinstance(one, TeamError))
    for one in every:
        if one is not cause:
            clear_frames(one)
    return cause


def _base_score(device: Device, objective: Objective, data: Dataset) -> float:
    """Return the base score of a loss that ``starts_at_mean``, before there is a fit.

    ``device``: sums the labels, if they are many and have no weights.
    ``data``: all rows, with one target.

    Returns
    -------
    float
        The same bits as ``objective.starting_score``.
    """
    if data.weight is None and sums_labels_on_device(objective, data):
        labels = device.upload(data.label)
        mean = LabelMean(device, data.n_rows, weighted=False).value(labels, labels)
        if mean is not None:
            return objective.score_of_mean(mean)
    return objective.starting_score(data.label, data.weight)
