"""What the members of a team have to know of all rows, though each has only a part of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from copy import copy
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt._version import __version__
from pyopencl_gbdt.data.batches.rows import Rows, as_rows
from pyopencl_gbdt.data.categories.levels import without_unseen
from pyopencl_gbdt.data.dataset import DIGESTED, Dataset, digest, digest_of_levels
from pyopencl_gbdt.device.team.member import Team, check_same
from pyopencl_gbdt.device.team.messages import (
    ClassWeights,
    ExactLabelSums,
    RowCount,
    RowDigests,
    RowsAndQueries,
    RowValues,
)
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model.ensemble import Score
from pyopencl_gbdt.numerics.portable_math import exact_sum
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.classification import SoftProb
from pyopencl_gbdt.parameters.parameters import Parameters

#: Parameters that may differ between members.
_OWN = frozenset({"device", "verbosity", "work_group_size", "histogram"})


def check_version(team: Team) -> None:
    """Raise ``ParameterError`` in all members unless they have the same version of the library."""
    versions = {"the version of pyopencl_gbdt": __version__}
    check_same(team, versions, "install one version on all hosts", ParameterError)


def check_parameters(team: Team, params: Parameters, others: Mapping[str, Any]) -> None:
    """Raise an error in all members unless they have the same parameters.

    Raises
    ------
    ParameterError
    """
    facts = {k: v for k, v in asdict(params).items() if k not in _OWN}
    check_same(team, {**facts, **others}, "give all ranks the same parameters", ParameterError)


def base_score(team: Team, objective: Objective, data: Dataset) -> Score:
    """Return the score before the first tree, as it is for the rows of all members.

    For losses that start at the mean label or at classes' shares, members exchange exact sums. For
    others every member gets all labels and weights, 8 bytes a row.

    ``data``: the member's own rows.
    """
    if objective.starts_at_mean:
        own = [exact_sum(target, data.weight) for target in data.targets()]
        count = Fraction(data.n_rows)
        count = count if data.weight is None else exact_sum(data.weight, None)
        every = team.exchange(ExactLabelSums, (own, count))
        rows = sum(theirs[1] for theirs in every)
        means = [Fraction(sum(theirs[0][i] for theirs in every)) / rows for i in range(len(own))]
        scores = tuple(objective.score_of_mean(mean) for mean in means)
        return scores if data.n_targets > 1 else scores[0]
    if isinstance(objective, SoftProb):
        parts = team.exchange(ClassWeights, objective.class_weights(data.label, data.weight))
        return objective.scores_of([sum(one, Fraction()) for one in zip(*parts, strict=True)])
    label = gathered(team, data.label)
    weight = None if data.weight is None else gathered(team, data.weight)
    return objective.starting_scores(label, weight)


def gathered(team: Team, part: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the rows of all members, in the order of ranks."""
    return np.concatenate(team.exchange(RowValues, part))


def whole_labels(team: Team, data: Dataset) -> Dataset:
    """Return all members' labels, weights and queries, as a data set whose values are all 0."""
    found = copy(data)
    for name in ("_label", "weight", "base_margin", "label_lower_bound", "label_upper_bound"):
        own = getattr(data, name)
        setattr(found, name, None if own is None else gathered(team, own))
    if data.group_offsets is not None:
        sizes = gathered(team, np.diff(data.group_offsets))
        found.group_offsets = np.append(0, np.cumsum(sizes))
    n_rows = sum(team.exchange(RowCount, data.n_rows))
    found._features = found._values = np.broadcast_to(np.float32(0), (n_rows, data.n_features))
    found.forget()
    return found


F32 = npt.NDArray[np.float32]
U64 = npt.NDArray[np.uint64]
#: Odd numbers of 64 bits whose bits look random: splitmix64's (Steele et al. 2014), and its step.
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0x9E3779B97F4A7C15)


def digests_of_parts(team: Team, data: Dataset) -> dict[str, str]:
    """Return a digest of each part of all members' data, by the part's name.

    The digest of rows is a sum of digests of single rows with their numbers. It finds data that
    differ by accident. It does not protect from somebody who looks for data with equal digests.

    ``data``: the member's own rows, dense or in batches.
    """
    counts = team.exchange(RowsAndQueries, (data.n_rows, _n_queries(data)))
    first, first_query = (sum(one[i] for one in counts[: team.rank]) for i in (0, 1))
    rows: dict[str, F32 | Rows | None] = {
        "values": data.rows,
        "label": data.label,
        "weight": data.weight,
        "base_margin": data.base_margin,
        "label_lower_bound": data.label_lower_bound,
        "label_upper_bound": data.label_upper_bound,
    }
    there: dict[str, Any] = {name: values for name, values in rows.items() if values is not None}
    sums = [_sum_of_rows(own, first) for own in there.values()]
    if data.group_offsets is not None:
        there["groups"] = data.group_offsets
        sizes = np.diff(data.group_offsets).astype(np.uint32).view(np.float32)
        sums.append(_sum(sizes, first_query))
    totals = np.array(team.exchange(RowDigests, np.array(sums, np.uint64))).sum(
        axis=0, dtype=np.uint64
    )
    found = {
        name: hashlib.sha256(int(total).to_bytes(8, "little")).hexdigest()
        for name, total in zip(there, totals, strict=True)
    }
    if data.feature_weights is not None:
        found["feature_weights"] = digest(data.feature_weights)
    if data.categories:
        found["categories"] = digest_of_levels(data.categories, {})
    shape = sum(one[0] for one in counts), data.n_features
    return {**found, "shape": str(shape), "feature_names": str(data.feature_names)}


def _n_queries(data: Dataset) -> int:
    return 0 if data.group_offsets is None else data.group_offsets.size - 1


def _sum_of_rows(rows: F32 | Rows, first: int) -> np.uint64:
    total: np.uint64 = np.uint64(0)
    with np.errstate(over="ignore"):
        for begin, values in as_rows(rows).pieces():
            total += _sum(np.ascontiguousarray(values, np.float32), first + begin)
    return total


def _sum(values: npt.NDArray[np.float32], first: int) -> np.uint64:
    """Return the sum of the digests of rows, shape (n_rows,) or (n_rows, n_columns)."""
    values = values.reshape(len(values), -1)
    factors = _mixed(np.arange(1, values.shape[1] + 1, dtype=np.uint64) * _STEP) | np.uint64(1)
    total: np.uint64 = np.uint64(0)
    with np.errstate(over="ignore"):
        for begin in range(0, len(values), DIGESTED):
            some = without_unseen(values[begin : begin + DIGESTED]).view(np.uint32)
            rows = np.arange(first + begin, first + begin + len(some), dtype=np.uint64)
            own = _mixed(some * factors).sum(axis=1, dtype=np.uint64)
            total += _mixed(own + rows * _STEP).sum(dtype=np.uint64)
    return total


def _mixed(words: U64) -> U64:
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    mixed: U64 = words ^ (words >> np.uint64(31))
    return mixed
