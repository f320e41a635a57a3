"""Fits on one device or several for ``python -m bench devices``, round by round."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from bench.devices_rows import part_of
from bench.external_rows import Rows, resident_codes
from pyopencl_gbdt import Dataset
from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.limited_device import limit_memory
from pyopencl_gbdt.device.run_ahead import Pace
from pyopencl_gbdt.device.team.member import Alone, Team
from pyopencl_gbdt.device.team.messages import DeviceIdle
from pyopencl_gbdt.device.team.nccl import communicators
from pyopencl_gbdt.device.team.threads import threads
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages.stored import HostPages
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from pyopencl_gbdt.training.member import LeadingTask
from pyopencl_gbdt.training.preparing import prepare
from pyopencl_gbdt.training.train import opened_fit


def digest_of(trees: Sequence[Tree]) -> str:
    """Return a digest of trees; equal trees have equal digests."""
    found = hashlib.sha256()
    for tree in trees:
        arrays = {one.name: getattr(tree, one.name) for one in fields(tree)}
        for name, array in arrays.items():
            if array is not None:  # most trees have no linear terms
                found.update(f"{name} {array.shape} ".encode() + array.tobytes())
    return found.hexdigest()


@dataclass
class Rounds:
    """A fit that can be asked for rounds.

    Attributes
    ----------
    run : callable
        Trains so many rounds, and waits for the devices.
    trees : callable
        Returns the trees so far.
    way : str
        How sums are added up, and where rows lie.
    buffers : list
        What a member that adds up through the host's memory counts; empty elsewhere.
    staying : float
        Part of the pages that the device has room for.
    """

    run: Callable[[int], None]
    trees: Callable[[], list[Tree]]
    way: str
    buffers: list[Any] = field(default_factory=list)
    staying: float = 1.0


@contextmanager
def of_values(names: Sequence[str], data: Dataset, params: dict[str, Any]) -> Iterator[Rounds]:
    """Yield a fit of values, as ``train`` opens it; each device has an equal part of the rows.

    Parameters
    ----------
    names : sequence of str
        Of devices.
    data : Dataset
    params : dict
    """
    device = names[0] if len(names) == 1 else ",".join(f"{name}=1" for name in names)
    task = prepare({**params, "device": device}, data, (), None, None)
    with opened_fit(task) as fit:

        def run(n_rounds: int) -> None:
            for _ in range(n_rounds):
                fit.step()
            fit.wait()

        team = fit.team if isinstance(fit, LeadingTask) else Alone()
        yield Rounds(run, lambda: fit.model().ensemble.trees, _way(team), _buffers(team))
    data.end_reading()


@contextmanager
def of_codes(
    names: Sequence[str], rows: Rows, pages: HostPages, params: dict[str, Any]
) -> Iterator[Rounds]:
    """Yield a fit of codes that are ready; each device has an equal part of the pages.

    On a single device the pages take turns if they do not fit. The rest is as for ``of_values``.
    """
    checked = Parameters.from_dict(params)
    devices, size = [open_device(name) for name in names], len(names)
    for device in devices:
        limit_memory(device, checked.device_memory)
    if size == 1:
        try:
            codes: Any = resident_codes(devices[0], rows.n_rows, pages)
            fit = _boosting(devices[0], checked, rows, Share(codes=codes))
        except MemoryPlanError as error:
            codes = fit = None
            print(f"not resident: {error}", flush=True)
        if fit is None:
            fit = _boosting(devices[0], checked, rows, Share(codes=pages))
        pace = Pace(devices[0])
        turns = fit.parts.rows.schedule
        slots = None if turns is None else (turns.n_slots, len(turns.bounds))
        way = "one" if slots is None else "one, {} of {}".format(*slots)
        staying = 1.0 if slots is None else slots[0] / slots[1]
        run = partial(_rounds, fit, pace, Alone())
        yield Rounds(run, fit.finished_trees, way, staying=staying)
        if fit.parts.rows.stream is not None:
            fit.parts.rows.stream.close()
        return
    team = threads(size)
    team[0].meeting.communicators = communicators(devices)
    with ThreadPoolExecutor(size) as pool:

        def member(rank: int) -> Any:
            with team[rank].leaving():
                own, own_pages = part_of(rows, pages, rank, size)
                codes = resident_codes(devices[rank], own.n_rows, own_pages)
                first = rows.n_rows * rank // size
                share = Share(team[rank], first, rows.n_rows, codes=codes)
                return _boosting(devices[rank], checked, own, share)

        fits = list(pool.map(member, range(size)))
        paces = [Pace(device) for device in devices]

        def run(n_rounds: int) -> None:
            each = pool.map(partial(_member_rounds, n_rounds), fits, paces, team)
            list(each)

        try:
            yield Rounds(run, fits[0].finished_trees, _way(team[0]), _buffers(team[0]))
        finally:
            team[0].meeting.close()


def _boosting(device: Device, params: Parameters, rows: Any, share: Share) -> Fit:
    objective = get_objective(params.objective, params)
    return Fit(device, params, objective, rows, 0.0, share=share)


def _member_rounds(n_rounds: int, fit: Fit, pace: Pace, member: Any) -> None:
    with member.leaving():
        _rounds(fit, pace, member, n_rounds)


def _rounds(fit: Fit, pace: Pace, team: Team, n_rounds: int) -> None:
    for _ in range(n_rounds):
        fit.step(pace)
    if fit.parts.rows.stream is not None:
        fit.parts.rows.stream.transfers.finish()
    fit.parts.arena.device.finish()
    team.exchange(DeviceIdle, None)


def _way(team: Team) -> str:
    if team.size == 1:
        return "one"
    return "NCCL" if team.enqueues else "host"


def _buffers(team: Any) -> list[Any]:
    return [] if team.size == 1 or team.enqueues else [team.buffers]
