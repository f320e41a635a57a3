"""Estimate a fit's memory from shapes and parameters: build the fit on paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np

from pyopencl_gbdt.categories.statistic_sizes import StatisticSizes
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.paper import Allocation, PaperDevice
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.errors import MemoryPlanError, ParameterError
from pyopencl_gbdt.evaluation.evaluation import plan_evaluation
from pyopencl_gbdt.evaluation.watched import EvaluationSet
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.growth.policy import tree_sizes
from pyopencl_gbdt.growth.recipe import choose_recipe
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages.cuts import CUT_RULES, cut_features
from pyopencl_gbdt.pages.parted_cuts import shared_layout
from pyopencl_gbdt.parameters.category_offers import offers
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from pyopencl_gbdt.training.paper_data import DataFacts, answer, codes_of, full_layout
from pyopencl_gbdt.training.preparing import prepared_on
from pyopencl_gbdt.training.split_search import as_histograms, of_sparse
from pyopencl_gbdt.training.task import Task

#: Bytes of NumPy's temporary arrays for a weight that is scaled; ``tracemalloc``, 1 M weights.
_SCALING_BYTES = 29
#: Bytes of the host's objects in a fit on batches, beside its arrays; ``tracemalloc``.
HOST_BYTES = 300_000


@dataclass(frozen=True)
class MemoryEstimate:
    """Estimated bytes, on the device unless a name says otherwise.

    Attributes
    ----------
    set_up_bytes : int
        Peak while the data are quantised, or their columns sorted, or statistics encoded. Where the
        host cuts few values (``pages.small_columns``), it is less.
    training_bytes : int
        During training: codes or sorted columns, histograms, evaluation sets and everything else.
    host_bytes : int
        Peak of the host's arrays while the columns of a sparse matrix are sorted, or with
        statistics of categories, without the rows given; where pages take turns, what the host
        keeps of them; for rows in batches, two of these too. 0 for other data, of which this is not
        estimated.
    allocations : tuple of Allocation
        Every array that the fit and its evaluation sets ask the device for, in order, those that
        are freed again among them.
    classes : mapping of str to str
        The classes that make up the fit, by what they do, and the kinds of its pages and codes, as
        in ``Model.variants``.
    arrays : mapping of str to int
        The bytes of every array of these classes.
    """

    set_up_bytes: int
    training_bytes: int
    host_bytes: int = 0
    allocations: tuple[Allocation, ...] = ()
    classes: Mapping[str, str] = field(default_factory=dict)
    arrays: Mapping[str, int] = field(default_factory=dict)

    @property
    def peak_bytes(self) -> int:
        return max(self.set_up_bytes, self.training_bytes)


@dataclass(frozen=True)
class TeamShare:
    """What a device's memory depends on in a team, besides its own rows.

    Attributes
    ----------
    all_rows : int
        Rows of all members.
    cuts : bool
        Whether the device cuts some of the columns, of all rows; else hosts find the cut points.
    """

    team: Team
    all_rows: int
    cuts: bool


def estimate_memory(
    device: Device,
    params: Parameters,
    n_rows: int,
    n_features: int,
    *,
    evaluation_rows: int = 0,
    evaluation_entries: int = 0,
    part: TeamShare | None = None,
    **facts: Any,
) -> MemoryEstimate:
    """Estimate the device memory of a fit, which is built on paper.

    On the device nothing is allocated, on the host labels of all rows.

    The estimate assumes ``max_bin`` bins per feature, or as many as rows; features with few
    distinct values take less, and so do tiled codes of dense data. With ``cut_rule="xgboost"`` it
    assumes that values are missing, so that codes of 256 bins take two bytes. With
    ``tree_method="exact"`` or ``"approx"`` it assumes a bin for every row and feature, and that no
    value is missing. Of a sparse matrix, ``counts`` says what it holds. If a few gradients are much
    larger than the others, a fit may take 8 bytes more per row and tree grown at a time. A fit that
    does not fit the device is estimated for a device with more memory.

    Parameters
    ----------
    params : Parameters
        Includes classes, quantiles, trees of a forest, sampling and constraints.
    evaluation_rows : int, default 0
        Total number of rows of all evaluation sets.
    evaluation_entries : int, default 0
        Present values of all evaluation sets, where these are sparse.
    part : TeamShare or None
        For a device of a team, which has ``n_rows`` of all rows; see ``team_memory.estimate_team``.
        ``host_bytes`` are then those of its pages alone.
    **facts
        Further facts about the rows:

        weighted : bool, default False
            Whether rows have weights.
        n_targets : int, default 1
            Labels per row.
        n_queries : int, default 1
            Queries of a ranking task, assumed to be of equal size.
        feature_names : list of str or None
            Names of the columns, if constraints use them.
        counts : ValueCounts or None
            Present and distinct values of the columns of a sparse matrix; None is dense data.
        n_levels : mapping of int to int
            Number of levels of each categorical column. Statistics are counted
            with the most targets that labels can have.
        batch_rows : int, default 0
            Rows of the largest batch; 0 is rows that are there as a whole.

    Raises
    ------
    ParameterError
        If ``counts`` is that of a matrix of another shape.
    """
    known = DataFacts(n_rows, n_features, **facts)
    counts = known.counts
    if counts is not None:
        if (counts.n_rows, counts.n_features) != (n_rows, n_features):
            raise ParameterError(
                f"counts of {counts.n_rows} rows and {counts.n_features} columns: expected "
                f"{n_rows} and {n_features}; count the values of the matrix that is meant"
            )
        params = of_sparse(params, n_features, counts.density)
    evaluated = evaluation_rows, evaluation_entries
    try:
        return _built(PaperDevice.like(device), params, known, evaluated, part)
    except MemoryPlanError:
        return _built(PaperDevice.like(device, has_limits=False), params, known, evaluated, part)


def _built(
    paper: PaperDevice,
    params: Parameters,
    facts: DataFacts,
    evaluated: tuple[int, int],
    part: TeamShare | None,
) -> MemoryEstimate:
    """Build a fit on paper, and an evaluation set of so many rows and entries."""
    begin, made, bins = paper.allocated_bytes, None, None
    objective, sizes = get_objective(params.objective, params), _statistics(params, facts)
    if params.has_vectors(max(objective.n_outputs, facts.n_targets)):
        params = as_histograms(params, sparse=facts.counts is not None)
    classes = 2 if params.objective.startswith("binary:") else params.num_class
    data = facts.dataset(classes or params.target_border_count + 1)
    host = 0
    if sizes is not None:
        host = sizes.host_bytes(paper)
        task = prepared_on(paper, Task(params, objective, data, (), {}, None))
        params, data, made = task.params, task.data, task.replaced
        bins = sizes.bins(min(params.max_bin, facts.n_rows))[cut_features(data)]
    answer(paper, params, facts, bins)
    share = _share(paper, params, facts, data, part)
    watched = facts.evaluation_set(*evaluated, data.n_features)
    evals = [(watched, "evaluation")] if watched.n_rows else []
    beside = plan_evaluation(paper, objective, {}, evals, data, weighted=params.weighs_trees)
    fit = Fit(paper, params, objective, data, 0.0, beside=beside, share=share, replaced=made)
    for rows, _ in evals:
        fit.watch(EvaluationSet.of(fit.parts.rows, rows.sparse or rows.values, 0.0))
    labels = [
        paper.empty(rows.label.shape, np.float32, "labels of rows to evaluate") for rows, _ in evals
    ]
    if made is not None:
        made.release()
    set_up, training = paper.peak_bytes - begin, paper.allocated_bytes - begin
    del labels
    if made is not None and made.combining is not None:
        later = PaperDevice.like(paper, has_limits=False)
        made.combining.choose_on_paper(later)
        training += later.asked_bytes
    if part is None and sizes is None:
        host = _host_bytes(fit, params, facts)
    plan = fit.parts.arena.plan
    return MemoryEstimate(
        set_up,
        training,
        host + fit.parts.rows.kept().total_bytes,
        tuple(paper.allocations),
        fit.kernels.classes() | fit.parts.rows.kinds(),
        {name: plan.bytes_of(name) for name in plan.arrays},
    )


def _statistics(params: Parameters, facts: DataFacts) -> StatisticSizes | None:
    """Return the sizes of statistics of categories; None if no column has them."""
    own = offers(params, facts.n_levels)
    sizes = facts.n_rows, facts.n_features, facts.n_targets, facts.n_levels, own
    asked = any(one.statistics for one in own.values())
    return StatisticSizes.of(params, *sizes) if asked else None


def _share(
    paper: PaperDevice, params: Parameters, facts: DataFacts, data: Dataset, part: TeamShare | None
) -> Share:
    """Return the place of a fit in a team, and codes that follow from counts."""
    if part is not None:
        if part.cuts:
            every = replace(facts, n_rows=part.all_rows).dataset(2)
            shares = [facts.n_rows / max(1, part.all_rows)] * part.team.size
            shared_layout(
                paper, part.team, every, params.max_bin, shares,
                exact=params.max_bin_exact, rule=CUT_RULES[params.cut_rule],
            )  # fmt: skip
        n_bins, missing = min(params.max_bin, part.all_rows), params.cut_rule != "shares"
        layout = full_layout(data, n_bins, missing=missing)
        return Share(part.team, all_rows=part.all_rows, layout=layout)
    if facts.counts is None and params.search == "hist":
        return Share()
    slots = tree_sizes(choose_recipe(FitFacts(params)).policy, params, facts.n_rows).slots
    return Share(codes=codes_of(paper, params, facts.counts or facts.all_present, slots))


def _host_bytes(fit: Fit, params: Parameters, facts: DataFacts) -> int:
    """Return the peak of the host's arrays, which ask no arena, while it reads or sorts rows."""
    if facts.batch_rows:
        batches = facts.n_rows, facts.n_features, facts.batch_rows, facts.n_targets
        return batches_bytes(*batches, weighted=facts.weighted)
    if facts.counts is not None:
        max_bin = params.max_bin if params.search == "hist" else None
        return facts.counts.host_bytes(max_bin, tiled=fit.parts.features.tiled is not None)
    return 0


def batches_bytes(
    n_rows: int, n_features: int, batch_rows: int, n_targets: int = 1, *, weighted: bool = False
) -> int:
    """Return the peak bytes of the host's arrays while rows are read batch by batch.

    These are labels and weights of all rows, and two batches with theirs, as float32: one batch is
    made of the other, or read while the device uses the other. After one pass, parts of labels
    and weights are joined; later, weights are scaled. Base margins and pages of codes are not
    counted. NumPy's arrays ask no arena, so this was measured with ``tracemalloc``.
    """
    row = 4 * (n_targets + weighted)
    vectors, batches = n_rows * row, 2 * batch_rows * (4 * n_features + row)
    scaling = _SCALING_BYTES * n_rows if weighted else 0
    return HOST_BYTES + vectors + max(vectors, batches, scaling)
