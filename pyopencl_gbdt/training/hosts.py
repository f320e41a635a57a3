"""Train one model by processes on one or several hosts, each with some of the rows.

Every process calls ``train_among`` with its own rows and the same parameters. The first one with
rows leads: it has the callbacks and evaluation sets, see ``training/member.py``. All get the model.

    rank 0   its rows --+                                             +-> model
    rank 1   its rows --+-- columns, levels, cut points, base score --+-> model      no rank has all
    rank 2   its rows --+        sums of every level of a tree        +-> model      rows
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from pyopencl_gbdt.callbacks import CallbackList, Plan, TrainingCheckPoint
from pyopencl_gbdt.callbacks.checkpoint_files import CheckPoint
from pyopencl_gbdt.callbacks.training_model import TrainingModel
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.discovery import nth_of
from pyopencl_gbdt.device.pace import settled
from pyopencl_gbdt.device.team import Team
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.pages.levels import cut_features, layout_of
from pyopencl_gbdt.pages.page import QuantizedData
from pyopencl_gbdt.pages.parted_cuts import parted_cuts
from pyopencl_gbdt.pages.shared_cuts import encoded
from pyopencl_gbdt.parameters.names import as_mapping
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.arguments import check_pairs
from pyopencl_gbdt.training.fitting import StartingPoint, Task
from pyopencl_gbdt.training.member import LeadingFit, follow
from pyopencl_gbdt.training.preparing import Given, fingerprint, prepare
from pyopencl_gbdt.training.team_checks import check_team
from pyopencl_gbdt.training.whole import (
    all_or_none,
    base_score,
    check_parameters,
    common_data,
    digests_of_parts,
    joined,
    whole_labels,
)

#: Runs the rounds of a fit with callbacks, from a checkpoint on.
Rounds = Callable[[TrainingModel, LeadingFit, CallbackList, CheckPoint | None], None]


class HostTeam(Team, Protocol):
    """A team of processes."""

    def among(self, ranks: Sequence[int]) -> Any:
        """Return the team of some members, for one of them; all members call this."""

    def leave(self, error: BaseException | None = None) -> None:
        """End the team; with an error, tell the others that this member has failed, and why."""


def train_among(
    team: HostTeam,
    params: Given,
    data: Dataset | None,
    evals: Any,
    callbacks: CallbackList,
    run_rounds: Rounds,
    **options: Any,
) -> Model:
    """Train one model; every member of the team calls this.

    Parameters
    ----------
    team : HostTeam
    params : mapping or sequence of (str, object)
        The same in all members, except for ``device``.
    data : Dataset or None
        The member's rows; None if it has none. Their order is that of ranks.
    evals : sequence of (Dataset or None, str), or None
        The member's rows of every evaluation set, under the same names; they are sent to the
        leading member. ``data`` itself stays where it is; its margins are sent.
    callbacks : CallbackList
        Those of the leading member are called.
    run_rounds : callable
    **options
        Further arguments of ``prepare``.

    Returns
    -------
    Model
        The same in all members.

    Raises
    ------
    ParameterError, DataError, TeamError
        In all members, if what one gave cannot be used.
    """
    pairs = all_or_none(team, lambda: _pairs(evals))
    own = all_or_none(team, lambda: data)
    own = common_data(team, own)
    ranks = [rank for rank, has in enumerate(team.exchange(own is not None)) if has]
    some = team.among(ranks)
    if own is None:
        _offer(team, pairs, data, None)
        model = None
    else:
        members = _Members(team, some, ranks[0], own)
        model = members.train(params, _offer(team, pairs, data, own), callbacks, run_rounds, options)
    return next(one for one in team.exchange(model) if one is not None)
