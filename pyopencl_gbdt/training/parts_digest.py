"""Digests of data that lie in parts: they do not depend on where one part ends."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.batches.rows import Rows, as_rows
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.digests import digest, digest_of_levels
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import RowDigests, RowsAndQueries

F32 = npt.NDArray[np.float32]
U64 = npt.NDArray[np.uint64]
#: Rows that are digested at a time.
_ROWS = 1 << 14
#: Odd numbers of 64 bits whose bits look random: splitmix64's (Steele et al. 2014), and its step.
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0x9E3779B97F4A7C15)


def digests_of_parts(team: Team, data: Dataset) -> dict[str, str]:
    """Return a digest of each part of all members' data, by the part's name.

    The digest of rows is a sum of digests of single rows with their numbers. It finds data that
    differ by accident; who wants two data sets with equal digests can make them.

    Parameters
    ----------
    team : Team
    data : Dataset
        The member's own rows, dense or in batches.
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
    words = values.reshape(len(values), -1).view(np.uint32)
    factors = _mixed(np.arange(1, words.shape[1] + 1, dtype=np.uint64) * _STEP) | np.uint64(1)
    total: np.uint64 = np.uint64(0)
    with np.errstate(over="ignore"):
        for begin in range(0, len(words), _ROWS):
            some = words[begin : begin + _ROWS]
            rows = np.arange(first + begin, first + begin + len(some), dtype=np.uint64)
            own = _mixed(some * factors).sum(axis=1, dtype=np.uint64)
            total += _mixed(own + rows * _STEP).sum(dtype=np.uint64)
    return total


def _mixed(words: U64) -> U64:
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    mixed: U64 = words ^ (words >> np.uint64(31))
    return mixed
