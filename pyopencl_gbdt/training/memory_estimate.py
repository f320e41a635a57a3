"""Estimate a fit's device memory from shapes and parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.team import Team
from pyopencl_gbdt.dtypes import VALUE
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.choose_turns import choose_turns
from pyopencl_gbdt.fit.pagewise import CODES
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.fit.turns import Turns
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.gradients.sources import takes_pages
from pyopencl_gbdt.growth.policy import policy_of
from pyopencl_gbdt.objectives import Objective, get_objective
from pyopencl_gbdt.pages.budget import page_bytes, plan_set_up
from pyopencl_gbdt.pages.columns import ColumnSizes, columns_bytes, sorting_bytes
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.pages.paged import tiles_of_sparse
from pyopencl_gbdt.pages.tiles import TileSizes, encoding_bytes
from pyopencl_gbdt.pages.value_counts import ValueCounts
from pyopencl_gbdt.parameters.constraints import limits_of
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.batches_memory import batches_bytes
from pyopencl_gbdt.training.reservations import Reservations
from pyopencl_gbdt.training.statistics_memory import StatisticSizes
from pyopencl_gbdt.training.tree_method import of_sparse
from pyopencl_gbdt.training.with_statistics import becoming


@dataclass(frozen=True)
class MemoryEstimate:
    """Estimated bytes, on the device unless a name says otherwise.

    Attributes
    ----------
    set_up_bytes : int
        Peak while the data are quantised, or their columns sorted, or statistics encoded.
    training_bytes : int
        During training: codes or sorted columns, histograms, evaluation sets and everything else.
    host_bytes : int
        Peak of the host's arrays while the columns of a sparse matrix are sorted, or with
        statistics of categories, without the rows given; where pages take turns, what the host
        keeps of them; for rows in batches, two of these too. 0 for other data, of which this is not
        estimated.
    """

    set_up_bytes: int
    training_bytes: int
    host_bytes: int = 0

    @property
    def peak_bytes(self) -> int:
        return max(self.set_up_bytes, self.training_bytes)


def expected_layout(n_features: int, n_bins: int) -> Layout:
    """Return the layout of features that all have ``n_bins`` bins and no missing values."""
    return _layout_of(np.full(n_features, n_bins, np.uint32))


def _layout_of(bins: npt.NDArray[np.uint32], sets: Sequence[int] = ()) -> Layout:
    """Return the layout of features with these bins, of which some are split by sets."""
    offset = np.concatenate([[0], np.cumsum(bins, dtype=np.int64)])
    zeros = np.zeros(bins.size, np.uint32)
    thresholds = np.zeros(int(offset[-1]), np.float32)
    categorical = None
    if sets:
        categorical = np.zeros(bins.size, np.bool_)
        categorical[list(sets)] = True
    return Layout(bins, offset.astype(np.uint32), thresholds, zeros, categorical)


@dataclass(frozen=True)
class Part:
    """What a device's memory depends on in a team, besides its own rows.

    Attributes
    ----------
    team : Team
    all_rows : int
        Rows of all members.
    cuts : bool
        Whether the device cuts some of the columns, of all rows; else hosts find the cut points.
    """

    team: Team
    all_rows: int
    cuts: bool


@dataclass
class _Columns:
    n_features: int
    feature_names: list[str] | None
    feature_weights: npt.NDArray[np.float32] | None = None


def estimate_memory(
    device: Device,
    params: Parameters,
    n_rows: int,
    n_features: int,
    *,
    weighted: bool = False,
    n_targets: int = 1,
    n_queries: int = 1,
    feature_names: list[str] | None = None,
    evaluation_rows: int = 0,
    counts: ValueCounts | None = None,
    evaluation_entries: int = 0,
    n_levels: Mapping[int, int] | None = None,
    batch_rows: int = 0,
    part: Part | None = None,
) -> MemoryEstimate:
    """Estimate the device memory of a fit; allocates nothing.

    The estimate assumes ``max_bin`` bins per feature, or as many as rows; features with few
    distinct values take less, and so do tiled codes of dense data. With ``tree_method="exact"`` or
    ``"approx"`` it assumes a bin for every row and feature, and that no value is missing. Of a
    sparse matrix, ``counts`` says what it holds. If a few gradients are much larger than the
    others, a fit may take 8 bytes more per row and tree grown at a time.

    Parameters
    ----------
    device : Device
    params : Parameters
        Includes classes, quantiles, trees of a forest, sampling and constraints.
    n_rows, n_features : int
    weighted : bool, default False
        Whether rows have weights.
    n_targets : int, default 1
        Labels per row.
    n_queries : int, default 1
        Queries of a ranking task, assumed to be of equal size.
    feature_names : list of str or None
        Names of the columns, if constraints use them.
    evaluation_rows : int, default 0
        Total number of rows of all evaluation sets.
    counts : ValueCounts or None
        Present and distinct values of the columns of a sparse matrix; None is dense data.
    evaluation_entries : int, default 0
        Present values of all evaluation sets, where these are sparse.
    n_levels : mapping of int to int, or None
        Number of levels of each categorical column. Columns that become statistics are counted with
        the most targets that labels can have.
    batch_rows : int, default 0
        Rows of the largest batch; 0 is rows that are there as a whole.
    part : Part or None
        For a device of a team, which has ``n_rows`` of all rows; see ``team_memory.estimate_team``.
        ``host_bytes`` are then those of its pages alone.

    Raises
    ------
    ParameterError
        If ``counts`` is that of a matrix of another shape.
    """
    if counts is not None and (counts.n_rows, counts.n_features) != (n_rows, n_features):
        raise ParameterError(
            f"counts of {counts.n_rows} rows and {counts.n_features} columns: expected "
            f"{n_rows} and {n_features}; count the values of the matrix that is meant"
        )
    n_levels = n_levels or {}
    columns = becoming(params, n_levels)
    statistics = None
    if columns:
        replaced = {column: n_levels[column] for column in columns}
        statistics = StatisticSizes.of(
            params, n_rows, n_features, n_targets, replaced, len(n_levels)
        )
    in_batches = batch_rows > 0
    data = _dense(
        device, params, n_rows, n_features, n_levels, statistics, weighted=weighted,
        in_batches=in_batches, part=part,
    )  # fmt: skip
    if counts is not None:
        params = of_sparse(params, n_features, counts.density)
        data = _sparse(device, params, counts)
    objective = get_objective(params.objective, params)
    own_weights = weighted and not objective.applies_weights
    policy = policy_of(params, device.caps if data.columns is None else None)
    ws = Workspace(device, params, policy, data.layout, (), n_rows, own_weights, 0, 0)
    ws.columns, ws.tiled = data.columns, data.tiles
    if part is not None:
        ws.join(Share(part.team, all_rows=part.all_rows))
    ws.n_orders = 1 if statistics is None else statistics.n_orders
    ws.describe(objective, n_targets, limits_of(params, _Columns(n_features, feature_names)))
    longest = -(-n_rows // n_queries)
    reserve = Reservations(objective, weighted, n_queries, longest).reserve
    ws.choose_trees(reserve)
    if policy.picks > 1 and not ws.fits():
        ws.policy = policy_of(params)
        ws.choose_trees(reserve)
    row = data.layout.n_features + ws.n_outputs + n_targets  # values, margins and labels
    evaluated = evaluation_rows * row * VALUE.itemsize
    if counts is not None:
        row = ws.n_outputs + n_targets
        evaluated = evaluation_rows * row * VALUE.itemsize
        if not device.borrows:
            evaluated += 8 * (evaluation_rows + evaluation_entries)
    begun = ws.plan().total_bytes + data.page_bytes
    batches = 0
    if batch_rows and part is None:
        batches = batches_bytes(n_rows, n_features, batch_rows, n_targets, weighted=weighted)
    may_stream = counts is None and statistics is None and _takes_turns(params, objective)
    needed = max(data.set_up_bytes, begun + evaluated)
    if may_stream and _streams(params.page_kind, needed, device):
        streamed = _streamed(ws, reserve, evaluated, data.set_up_bytes if part else 0)
        return replace(streamed, host_bytes=streamed.host_bytes + batches)
    training = begun + data.combining_bytes + evaluated
    set_up = max(data.set_up_bytes, begun + data.encoding_bytes)
    return MemoryEstimate(set_up, training, data.host_bytes + batches)


def _takes_turns(params: Parameters, objective: Objective) -> bool:
    """Return whether nothing of a fit to dense rows asks for all of them at a time."""
    plain = params.search == "hist" and params.boosting_type == "plain"
    return plain and takes_pages(objective)


def _streams(kind: str, needed: int, device: Device) -> bool:
    """Return whether pages take turns in a fit that needs so many bytes where they stay."""
    return kind == "streamed" or (kind == "auto" and needed > device.caps.global_bytes)


def _streamed(
    ws: Workspace, reserve: Callable[[Workspace], None], evaluated: int, of_team: int
) -> MemoryEstimate:
    """Estimate a fit whose pages take turns; the host keeps what is not on the device.

    ``of_team`` are the bytes in which a team cuts the columns of all rows; 0 where there is none.
    """
    ws.turns, ws.policy = Turns([(0, ws.n_rows)], 1), policy_of(ws.params)
    ws.reserved.clear()  # other steps grow trees of all rows
    ws.choose_trees(reserve)
    choose_turns(ws, reserve)
    device, n_features = ws.device, ws.layout.n_features
    most = int(ws.layout.feature_bins.max())
    planned = page_bytes(device, ws.turns.most_rows, n_features, most)
    set_up = plan_set_up(
        device, ws.n_rows, n_features, most, weighted=ws.weighted, tiled_bytes=planned,
        exact=ws.params.max_bin_exact,
    ).n_bytes  # fmt: skip
    set_up = max(set_up, min(of_team, device.caps.global_bytes))
    training = ws.plan_with_codes().total_bytes + evaluated
    kept = ws.slot_bytes(ws.n_rows)
    if ws.params.cache_folders:  # two pages are read ahead, or to the slots themselves
        ahead = 0 if ws.turns.in_place else 2
        kept[CODES] = ahead * ws.slot_bytes(ws.turns.most_rows)[CODES]
    return MemoryEstimate(set_up, training, sum(kept.values()))


@dataclass(frozen=True)
class _Data:
    """What data become on the device: their layout, sizes and bytes."""

    layout: Layout
    columns: ColumnSizes | None
    tiles: TileSizes | None
    page_bytes: int
    set_up_bytes: int
    host_bytes: int = 0
    encoding_bytes: int = 0
    combining_bytes: int = 0


def _dense(
    device: Device,
    params: Parameters,
    n_rows: int,
    n_features: int,
    n_levels: Mapping[int, int],
    statistics: StatisticSizes | None,
    *,
    weighted: bool,
    in_batches: bool,
    part: Part | None,
) -> _Data:
    all_rows = n_rows if part is None else part.all_rows
    encodes = part is not None and not part.cuts
    if params.search != "hist":
        layout, n_values = expected_layout(n_features, n_rows), n_rows * n_features
        columns = ColumnSizes(n_values)
        sizes = n_values, layout.n_codes
        return _Data(layout, columns, None, columns_bytes(*sizes), sorting_bytes(*sizes))
    n_bins = min(params.max_bin, all_rows)
    bins = np.full(n_features, n_bins, np.uint32) if statistics is None else statistics.bins(n_bins)
    replaced: Mapping[int, int] = {} if statistics is None else statistics.n_levels
    sets = sorted(n_levels.keys() - replaced.keys())
    bins[sets] = [n_levels[column] for column in sets]
    layout, most = _layout_of(bins, sets), max(params.max_bin, int(bins[sets].max(initial=0)))
    resident = statistics is not None and statistics.lie_on(device)
    pages = page_bytes(device, n_rows, bins.size, int(bins.max()))
    plan = plan_set_up(
        device,
        n_rows if encodes else all_rows,
        bins.size,
        most,
        weighted=weighted,
        resident=resident,
        tiled_bytes=0 if part is None else pages,
        in_batches=in_batches,
        exact=params.max_bin_exact,
    )
    set_up = plan.encoding_bytes if encodes else plan.n_bytes
    if statistics is None:
        return _Data(layout, None, None, pages, set_up)
    kept = statistics.kept_bytes(device)
    set_up += kept + statistics.value_bytes(device)
    set_up = max(statistics.set_up_bytes(device), set_up)
    most = int(bins.max())
    pages += kept + statistics.orders_bytes(most)
    encoding = statistics.encoding_bytes(device, most)
    host, combining = statistics.host_bytes(device), statistics.combining_bytes
    return _Data(layout, None, None, pages, set_up, host, encoding, combining)


def _sparse(device: Device, params: Parameters, counts: ValueCounts) -> _Data:
    max_bin = params.max_bin if params.search == "hist" else None
    layout = counts.layout(max_bin)
    n_rows, n_entries = counts.n_rows, counts.n_entries
    slots = policy_of(params).slots(params.most_leaves(n_rows))
    kind = params.page_kind
    tiles = tiles_of_sparse(
        device, n_rows, counts.present, params.search, kind, params.max_bin, slots
    )
    if tiles is not None:
        page, set_up = encoding_bytes(device, layout, n_rows, n_entries)
        return _Data(layout, None, tiles, page, set_up, counts.host_bytes(max_bin, tiled=True))
    page = columns_bytes(n_entries, layout.n_codes)
    set_up = page  # the host sorts
    if max_bin is None:
        set_up = sorting_bytes(n_entries, layout.n_codes) + 12 * counts.n_features
    missing = bool((counts.present < n_rows).any())
    sizes, host = ColumnSizes(n_entries, missing), counts.host_bytes(max_bin)
    return _Data(layout, sizes, None, page, set_up, host)
