"""Estimate the memory of a fit on several devices, or on several hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.device.paper import PaperTeam
from pyopencl_gbdt.device.team.sums import PIECE_BYTES
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.evaluation.evaluation import plan_evaluation
from pyopencl_gbdt.growth.policy import tree_sizes
from pyopencl_gbdt.growth.recipe import choose_recipe
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages.parted_cuts import columns_bytes
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.eval_metrics import choose_metrics
from pyopencl_gbdt.training.memory_estimate import (
    HOST_BYTES,
    MemoryEstimate,
    TeamShare,
    batches_bytes,
    estimate_memory,
)
from pyopencl_gbdt.training.paper_data import DataFacts
from pyopencl_gbdt.training.split_search import as_histograms


@dataclass(frozen=True)
class TeamEstimate:
    """Estimated bytes of a team.

    Attributes
    ----------
    devices : list of MemoryEstimate
        Each device's; ``host_bytes`` are those of its pages that take turns.
    host_bytes : list of int
        Peak of the arrays of each process, without the rows given: one process with all devices, or
        one for each host.
    n_rows : list of int
        Rows of every device.
    """

    devices: list[MemoryEstimate]
    host_bytes: list[int]
    n_rows: list[int]


def estimate_team(
    devices: Sequence[Device],
    params: Parameters,
    n_rows: int,
    n_features: int,
    *,
    weights: Sequence[float] | None = None,
    n_hosts: int = 1,
    watches_training: bool = False,
    weighted: bool = False,
    n_targets: int = 1,
    batch_rows: int = 0,
    evaluation_rows: int = 0,
    **others: Any,
) -> TeamEstimate:
    """Estimate the memory of a fit that several devices or hosts share; allocates nothing.

    Parameters
    ----------
    devices : sequence of Device
        Those of one process; or, with several hosts, each one's, or a single one like all of them.
    n_rows, n_features : int
        The rows and features of all members together.
    weights : sequence of float or None
        Parts of the rows, in proportion; None is equal parts. Without weights in ``device=``, the
        library divides rows by measured speeds.
    n_hosts : int, default 1
        Processes with rows of their own, each with one device; 1 is one process.
    watches_training : bool, default False
        Whether the training rows are evaluated, which the first device does for all.
    weighted, n_targets, evaluation_rows
        As for ``estimate_memory``; sets to evaluate lie on the first device.
    batch_rows : int, default 0
        Rows of the largest batch; 0 is rows that are there as a whole.
    **others
        Further arguments of ``estimate_memory``.

    Raises
    ------
    ParameterError
        If there is not a device, or not a weight, for each member, or these are not parts.
    """
    if n_hosts < 1:
        raise ParameterError(f"n_hosts={n_hosts}: expected 1 or more; 1 is one process")
    params, names = as_histograms(params), list(devices)
    if n_hosts > 1 and len(names) == 1:
        names *= n_hosts
    shares = [1.0] * len(names) if weights is None else list(weights)
    if not names or len(shares) != len(names) or (n_hosts > 1 and len(names) != n_hosts):
        raise ParameterError(
            f"{len(devices)} devices, {len(shares)} weights and {n_hosts} hosts: expected a device "
            "and a weight for each member; give as many"
        )
    if not (np.isfinite(shares).all() and min(shares) >= 0 and sum(shares) > 0):
        raise ParameterError(
            f"weights={show(shares)}: expected numbers of 0 or more with a sum above 0, such as "
            "[1, 3]; give each member's part of the rows"
        )
    ends = np.rint(np.cumsum(shares) / np.sum(shares) * n_rows).astype(int).tolist()
    rows = [end - first for first, end in pairwise([0, *ends])]
    whole = DataFacts(n_rows, n_features, weighted=weighted, n_targets=n_targets).dataset(2)

    def estimates(given: Parameters) -> list[MemoryEstimate]:
        found = []
        for rank, (device, own) in enumerate(zip(names, rows, strict=True)):
            part = TeamShare(PaperTeam(rank, len(names)), n_rows, cuts=n_hosts == 1)
            evaluated = evaluation_rows if rank == 0 else 0
            one = estimate_memory(
                device, given, own, n_features, weighted=weighted, n_targets=n_targets,
                batch_rows=batch_rows, evaluation_rows=evaluated, part=part, **others,
            )  # fmt: skip
            if rank == 0 and watches_training:
                gathered = _gathered(device, given, whole)
                one = replace(one, training_bytes=one.training_bytes + gathered.total_bytes)
            found.append(one)
        return found

    members = estimates(params)
    if params.page_kind == "auto" and any(one.host_bytes for one in members):
        members = estimates(replace(params, page="streamed"))  # all stream, or none
    pages = [one.host_bytes for one in members]
    sizes = n_features, batch_rows, n_targets
    if n_hosts == 1:
        read = batches_bytes(n_rows, *sizes, weighted=weighted) if batch_rows else 0
        return TeamEstimate(members, [sum(pages) + read], rows)
    slots = tree_sizes(choose_recipe(FitFacts(params)).policy, params, n_rows).slots
    histogram = 16 * n_features * min(params.max_bin, n_rows)
    buffers = 2 * min(max(PIECE_BYTES, histogram), slots * histogram)  # whole ones, by features
    hosts = []
    for own, kept in zip(rows, pages, strict=True):
        read = batches_bytes(own, *sizes, weighted=weighted) if batch_rows else 0
        facts = own, n_rows, n_features, params.max_bin, n_hosts
        cutting = columns_bytes(*facts, weighted=weighted, in_batches=batch_rows > 0)
        if batch_rows:
            cutting += 4 * own * (n_targets + weighted)
        hosts.append(max(HOST_BYTES + max(cutting, kept + buffers), read))
    return TeamEstimate(members, hosts, rows)


def _gathered(device: Device, params: Parameters, whole: Dataset) -> MemoryPlan:
    """Return the first device's memory for all members' rows, if these are evaluated."""
    objective = get_objective(params.objective, params)
    metrics = choose_metrics(None, objective, params, (), lambda _: (None, whole))
    return plan_evaluation(device, objective, metrics, [(whole, "")], whole.part(0, 0), whole)
