"""Train one model by processes on one or several hosts, each with some of the rows.

Every process calls ``train_among`` with its own rows and the same parameters. The first one with
rows leads: it has the callbacks and evaluation sets, see ``training/member.py``. All get the model.

    rank 0   its rows --+                                             +-> model
    rank 1   its rows --+-- columns, levels, cut points, base score --+-> model      no rank has all
    rank 2   its rows --+        sums of every level of a tree        +-> model      rows
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from pyopencl_gbdt.callbacks import CallbackList, Plan, TrainingCheckPoint
from pyopencl_gbdt.callbacks.checkpoint_files import CheckPoint
from pyopencl_gbdt.categories.common_columns import common_data, joined
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.limited_device import limit_memory
from pyopencl_gbdt.device.run_ahead import settled
from pyopencl_gbdt.device.selection import open_in_turn
from pyopencl_gbdt.device.team.member import Team, all_or_none, check_same, working_for
from pyopencl_gbdt.device.team.messages import (
    HasRows,
    HostName,
    IsTrainingData,
    LevelCounts,
    NewestCheckpoint,
    RowCount,
    SavesCheckpoints,
    TrainedModel,
    by_all,
    is_by_all,
)
from pyopencl_gbdt.device.team.sliced_sums import HostTeam
from pyopencl_gbdt.errors import KernelLaunchError, ParameterError
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.pages.cuts import CUT_RULES, cut_features, layout_of
from pyopencl_gbdt.pages.parted_cuts import parted_cuts
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.refusals import OF_TEAMS
from pyopencl_gbdt.parameters.row import refuse
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.continuing import continued_point
from pyopencl_gbdt.training.member import LeadingTask, follow
from pyopencl_gbdt.training.preparing import Given, prepare
from pyopencl_gbdt.training.running_task import RunningTask, trained_params
from pyopencl_gbdt.training.same_task import (
    base_score,
    check_parameters,
    check_version,
    digests_of_parts,
    whole_labels,
)
from pyopencl_gbdt.training.split_search import check_exact
from pyopencl_gbdt.training.task import StartingPoint, Task, fingerprint

#: A member's rows of evaluation sets, with the sets' names.
Parts = Sequence[tuple[Dataset | None, str]]
#: Returns the checkpoint to resume from, or None, once callbacks are checked.
Saved = Callable[[CallbackList], CheckPoint | None]
#: Runs the rounds of a leading fit; returns the model.
Rounds = Callable[[LeadingTask, CheckPoint | None], Model]
#: Does what a leading fit asks for, in another member, until it ends.
Follows = Callable[[RunningTask], None]


@dataclass(frozen=True)
class Plans:
    """What a member is asked to do.

    Attributes
    ----------
    params : mapping or sequence of (str, object)
        The same in all members, except for ``device``.
    data : Dataset or None
        The member's rows; None if it has none. Rows are in the order of ranks.
    evals : sequence of (Dataset or None, str)
        The member's rows of every evaluation set, under the same names in all members. They are
        sent to the leading member. Where a set is ``data`` itself, only its margins are sent.
    eval_metric, before, custom_metric
        As in ``prepare``.
    callbacks : CallbackList
        Those of the leading member are called.
    profile : bool
        Whether kernels are to be measured, which is refused.
    follows : callable
        What a member runs that does not lead.
    keeps_trees : bool
        Whether it is asked for its trees then.
    """

    params: Given
    data: Dataset | None
    evals: Parts
    eval_metric: Any
    before: Any
    custom_metric: Any
    callbacks: CallbackList
    profile: bool = False
    follows: Follows = follow
    keeps_trees: bool = False


def train_among(
    team: HostTeam, plans: Plans, saved: Saved, rounds: Rounds, *, leaves: bool
) -> Model:
    """Train one model; every member of the team calls this.

    Parameters
    ----------
    saved, rounds : callable
    leaves : bool
        Whether the team ends with the training. It ends with an error in any case.

    Returns
    -------
    Model
        The same in all members.

    Raises
    ------
    ParameterError, DataError, TeamError
        In all members, if what one gave cannot be used.
    DeviceError
    """
    with _told(team, leaves):
        check_version(team)
        own = common_data(team, plans.data)
        ranks = [rank for rank, has in enumerate(team.exchange(HasRows, own is not None)) if has]
        evals = _evaluation_sets(team, plans, own, ranks[0])
        some = team.among(ranks)
        model: Model | None = None
        if own is not None:
            with _unknown_to(team.size - len(ranks)), working_for(some):
                model = _train(some, replace(plans, data=own, evals=evals), saved, rounds)
        with team.waiting_long() if own is None else nullcontext():
            every: list[Model | None] = team.exchange(TrainedModel, model)
        return next(one for one in every if one is not None)


@contextmanager
def _told(team: HostTeam, leaves: bool) -> Iterator[None]:
    """Tell the other members of an error that ends the block; end the team then, or if asked."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, KernelLaunchError) and error.instead:
            error.args = (
                f"{error}; several hosts do not start again by themselves: train again in the same "
                f"processes, as this one now takes {error.instead!r} for {error.kernel}, or run "
                "`pyopencl-gbdt tune` on this host before",
            )
        team.leave(None if is_by_all(error) else error)
        raise
    if leaves:
        team.leave()


@contextmanager
def _unknown_to(n_others: int) -> Iterator[None]:
    """Unmark an error of all members with rows: those without rows wait and do not raise it."""
    try:
        yield
    except Exception as error:
        if n_others:
            by_all(error, raised=False)
        raise


def _evaluation_sets(team: HostTeam, plans: Plans, own: Dataset | None, leader: int) -> Parts:
    """Return the evaluation sets on the leading member; no sets on the others."""
    names = [name for _, name in plans.evals]
    facts = {"the list of names of evaluation sets": names}
    check_same(team, facts, "give evals the same names on all ranks", ParameterError)
    own_sets = [(rows, name) for rows, name in plans.evals if rows is not plans.data]
    sparse = [n for rows, n in own_sets if isinstance(rows, Dataset) and rows.sparse is not None]
    sets = FitFacts(
        Parameters.from_dict({}), sparse_evals=tuple(sparse), in_hosts=True, profile=plans.profile
    )
    all_or_none(team, lambda: refuse(sets, OF_TEAMS))  # before rows are sent
    found: list[tuple[Dataset | None, str]] = []
    for rows, name in plans.evals:
        is_data = any(team.exchange(IsTrainingData, rows is plans.data and rows is not None))
        part = own if is_data else joined(team, rows, f"evals: {name!r}", leader)
        found.append((part, name))
    return found


def _train(team: Team, plans: Plans, newest: Saved, rounds: Rounds) -> Model | None:
    """Train with the members that have rows; return the model of the leading one."""
    assert plans.data is not None
    try:
        return _train_on(team, plans, plans.data, newest, rounds)
    finally:
        plans.data.forget()  # the codes on the device


def _train_on(
    team: Team, plans: Plans, data: Dataset, newest: Saved, rounds: Rounds
) -> Model | None:
    leads, whole = team.rank == 0, None
    if any(rows is data for rows, _ in plans.evals):
        whole = whole_labels(team, data)
    sets = ((whole if rows is data else rows, name) for rows, name in plans.evals)
    evals = [(rows, name) for rows, name in sets if rows is not None and leads]

    def checked() -> Task:
        task = prepare(
            plans.params, data, evals, plans.eval_metric, plans.before, plans.custom_metric,
            is_part=True, profile=plans.profile,
        )  # fmt: skip
        return replace(task, data=data, whole=whole if leads else None)

    task = all_or_none(team, checked)
    before = None if task.start is None else task.start.before
    known = None if before is None else hashlib.sha256(to_json(before).encode()).hexdigest()
    move = "give all ranks the same model to continue, or none"
    check_same(team, {"the digest of the model to continue": known}, move, ParameterError)
    check_parameters(team, task.params, {"objective": str(task.objective)})
    if task.start is None:
        score = base_score(team, task.objective, data)
        task = replace(task, start=StartingPoint(score, task.objective.to_margin(score)))
    saved = _resumed(team, task, plans.callbacks, newest)
    if saved is not None:
        start, history = continued_point(saved.ensemble), saved.history if leads else {}
        task = replace(task, start=start, history=history, state=saved.state)
    hosts = team.exchange(HostName, socket.gethostname())
    place = hosts[: team.rank].count(hosts[team.rank])
    device = all_or_none(team, lambda: open_in_turn(task.params.device, place))
    limit_memory(device, task.params.device_memory)
    device.warm_up()
    share = _share(team, task)  # takes long, and the guard of joined cards would look on
    share = replace(share, keeps_trees=plans.keeps_trees)
    with settled(device), team.joined_cards(device):
        if not leads:
            fit = RunningTask(device, task, share)
            try:
                plans.follows(fit)
            finally:
                fit.close()
            return None
        leading = LeadingTask(device, task, share)
        model = rounds(leading, saved)
        leading.end()
        return model


def _resumed(team: Team, task: Task, callbacks: CallbackList, newest: Saved) -> CheckPoint | None:
    """Check the callbacks of the leading member; return the checkpoint that all resume from."""
    saves = any(isinstance(one, TrainingCheckPoint) for one in callbacks.callbacks)
    known = digests_of_parts(team, task.data) if team.exchange(SavesCheckpoints, saves)[0] else {}

    def facts() -> dict[str, str]:
        nothing = task.data.part(0, 0)
        evals = [(nothing if rows is task.whole else rows, name) for rows, name in task.evals]
        own = {f"data.{part}": digest for part, digest in known.items()}
        return {**fingerprint(replace(task, data=nothing, evals=evals)), **own}

    def find() -> CheckPoint | None:
        if team.rank:
            return None
        watched = {name: list(task.metrics) for _, name in task.evals}
        plan = Plan(task.params.n_estimators, watched, facts, task.begins_with, task.state_sizes)
        callbacks.check(plan)
        return newest(callbacks)

    found: CheckPoint | None = team.exchange(NewestCheckpoint, all_or_none(team, find))[0]
    return found


def _share(team: Team, task: Task) -> Share:
    """Find the cut points of all members' rows; return the member's place in the team."""
    data, params = task.data, trained_params(task)
    rule = CUT_RULES[params.cut_rule]
    cuts = parted_cuts(team, data.rows, data.weight, params.max_bin, cut_features(data), rule=rule)
    layout = layout_of(cuts, data, partial(team.add_up, LevelCounts))
    check_exact(task.params, layout.feature_bins)
    rows = team.exchange(RowCount, data.n_rows)
    return Share(team, sum(rows[: team.rank]), sum(rows), layout=layout)
