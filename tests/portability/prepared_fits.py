"""All that trainings, and the metrics of their evaluation sets, can ask a device to build."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.categories.combination_codes import CombinationCodes
from pyopencl_gbdt.categories.ordered_statistics import OrderedStatistics
from pyopencl_gbdt.categories.pair_scores import PairScores
from pyopencl_gbdt.categories.statistic_columns import replace_by_statistics
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import choose, runnable
from pyopencl_gbdt.device.capabilities import HOST_CORES
from pyopencl_gbdt.device.switches import JOINT_CODES, SMALL_FITS
from pyopencl_gbdt.evaluation.evaluation import Evaluation
from pyopencl_gbdt.evaluation.watched import EvaluationSet
from pyopencl_gbdt.growth.round_kernels import Grower
from pyopencl_gbdt.growth.split import MANY_FEATURES, HistogramSearch
from pyopencl_gbdt.growth.whole_trees import WholeTrees
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.model.combinations import Part
from pyopencl_gbdt.objectives import OBJECTIVES, get_objective
from pyopencl_gbdt.objectives.custom import DeviceObjective, KernelObjective
from pyopencl_gbdt.parameters.category_offers import STATISTICS
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.primitives.histogram_kernel import OWN_BANKS
from pyopencl_gbdt.training.fit import Fit
from tests.device.plausible import MEANS, MEANS_OF_CLASSES
from tests.objectives.samples import NEEDED
from tests.portability.null_device import FOR_CPUS, N_ROWS, NullDevice
from tests.switch_depth import switch_depth

F32 = npt.NDArray[np.float32]
#: A byte a code, two bytes a code, and more codes than any local memory holds.
MAX_BINS = (255, 300, 9000)
_VECTORS = {"multi_strategy": "multi_output_tree", "objective": "multi:softprob"}
#: Sampling, constraints and orders of growth; columns with weights where nothing bounds splits.
GROWN: tuple[dict[str, Any], ...] = (
    {"subsample": 0.5, "colsample_bynode": 0.5},
    {"colsample_bytree": 0.5},  # a CPU lists the columns that a tree draws, or gathers their codes
    {"colsample_bytree": 0.5, "reg_alpha": 1.0},
    {"monotone_constraints": [1, -1]},
    {"monotone_constraints": [1, -1], "interaction_constraints": [[0, 1]]},
    {"max_leaves": 3, "num_parallel_tree": 2},
    {"grow_policy": "lossguide", "max_leaves": 5},
    {"tree_method": "exact"},
    {"tree_method": "exact", "grow_policy": "lossguide", "max_leaves": 5},
    {"tree_method": "exact", "monotone_constraints": [1, -1], "colsample_bynode": 0.5},
    {"tree_method": "exact", "objective": "reg:absoluteerror"},
    {"tree_method": "approx"},
    {"tree_method": "approx", "proposal": "local"},
    {"grow_policy": "symmetric"},
    {"boosting_type": "ordered", "monotone_constraints": [1, -1]},
    {"boosting_type": "ordered", "tree_method": "exact", "subsample": 0.5},
    {"grow_policy": "symmetric", "max_delta_step": 1.0, "colsample_bylevel": 0.5},
    {"grow_policy": "symmetric", "monotone_constraints": [1, -1], "reg_alpha": 1.0},
    {"grow_policy": "lossguide", "max_leaves": 5, "max_bin": 300, "histogram": "bin_range_passes"},
    {"page": "tiled", "objective": "reg:absoluteerror", "subsample": 0.5},
    {**_VECTORS},
    {**_VECTORS, "grow_policy": "symmetric", "reg_alpha": 1.0, "colsample_bylevel": 0.5},
    {**_VECTORS, "sketch": 1, "booster": "dart"},
    {**_VECTORS, "sketch": 1, "leaf_estimation_iterations": 2},
    {
        **_VECTORS,
        "sketch": 1,
        "page": "tiled",
        "subsample": 0.5,
        "monotone_constraints": [1, -1],
        "grow_policy": "lossguide",
        "max_leaves": 5,
    },
    {"page": "tiled", "grow_policy": "lossguide", "max_leaves": 5},
    {"extra_trees": True, "monotone_constraints": [1, -1]},
    {"grow_policy": "symmetric", "extra_trees": True, "random_strength": 1.0},
    {"grow_policy": "lossguide", "max_leaves": 5, "random_strength": 1.0},
    {"random_strength": 1.0, "monotone_constraints": [1, -1], "reg_alpha": 1.0},
    {"path_smooth": 1.0, "max_leaves": 3},
    {"path_smooth": 1.0, "grow_policy": "lossguide", "max_leaves": 5},
    {"path_smooth": 1.0, "random_strength": 1.0, "page": "tiled"},
    {"forced_splits": {"feature": 0, "threshold": 0.0}, "monotone_constraints": [1, -1]},
    {"leaf_estimation_iterations": 2, "objective": "binary:logistic"},
    {"leaf_estimation_iterations": 2, "objective": "multi:softprob", "page": "tiled"},
    {"linear_tree": True, "subsample": 0.5},
    {"linear_tree": True, "grow_policy": "symmetric", "max_depth": 6},
)
#: Splits by sets of levels.
SETS: tuple[dict[str, Any], ...] = (
    {"monotone_constraints": [0, 1, 0], "reg_alpha": 1},
    {"grow_policy": "lossguide", "max_leaves": 5, "objective": "reg:absoluteerror"},
    {"grow_policy": "symmetric", "monotone_constraints": [0, 1, 0], "reg_alpha": 1},
    {"grow_policy": "symmetric", "colsample_bylevel": 0.5, "max_delta_step": 1},
    {"boosting_type": "ordered"},
    {"path_smooth": 1.0, "max_leaves": 3},
    {"path_smooth": 1.0, "random_strength": 1.0},
    {"random_strength": 1.0, "grow_policy": "lossguide", "max_leaves": 5},
)
#: Losses with and without weights, ordered, and with sampling by gradients, which is built for a
#: loss: a cheap one, a dear one, one with kernels of its own.
SAMPLED = ("binary:logistic", "reg:tweedie", "multi:softprob")
METHODS: tuple[dict[str, Any], ...] = (
    {"boosting_type": "ordered"},
    {"sampling_method": "goss"},
    {"sampling_method": "gradient_based", "subsample": 0.5},
    {"sampling_method": "bayesian"},
)


def _data(weight: F32 | None, n_features: int = 2, **extra: Any) -> Dataset:
    label = np.arange(N_ROWS, dtype=np.float32) % 2
    return Dataset(np.zeros((N_ROWS, n_features), np.float32), label, weight, **extra)


def _gaps() -> Dataset:
    """Return rows of which some miss a value."""
    values = np.zeros((N_ROWS, 2), np.float32)
    values[::3] = np.nan
    return Dataset(values, np.arange(N_ROWS, dtype=np.float32) % 2)


def _levels() -> Dataset:
    """Return a column of more levels than a byte holds, a numeric one, and one of few levels."""
    values = np.zeros((N_ROWS, 3), np.float32)
    values[:, 0], values[:, 2] = np.arange(N_ROWS) % 300, np.arange(N_ROWS) % 3
    label = np.arange(N_ROWS, dtype=np.float32) % 2
    return Dataset(values, label, categorical_features=[0, 2])


def _fit(device: NullDevice, data: Dataset, params: dict[str, Any]) -> Fit:
    name = params.get("objective", "reg:squarederror")
    p = Parameters.from_dict({"max_depth": 2, **NEEDED.get(name, {}), **params})
    prepared = Fit(device, p, get_objective(name, p), data, 0.0)
    prepared.kernels.finish.set_rate(0.1)  # as a schedule does
    if isinstance(prepared.kernels.grower, WholeTrees) and prepared.kernels.grower.joint:
        prepared.kernels.grower.joint.join(prepared.parts.arena["place_codes"])  # as memory does
    return prepared


@contextlib.contextmanager
def _sizes(word: str) -> Iterator[None]:
    """Let fits have the sizes of small fits ("on"), or of large ones ("off")."""
    with patch.dict(os.environ, {SMALL_FITS: word}):
        yield


@_sizes("on")
def small_fits(device: NullDevice) -> None:
    """Prepare trainings in the sizes of small fits, where a device has them by itself."""
    if choose("small_fits", device.caps).params["rows"] == 0:
        return
    kinds: tuple[dict[str, Any], ...] = (
        {}, {"max_leaves": 3}, {"max_bin": 300}, {"boosting_type": "ordered"}, {"path_smooth": 1.0},
        {"grow_policy": "symmetric"},
    )  # fmt: skip
    for params in kinds:
        _fit(device, _data(None), params)


def _joint_histograms(device: NullDevice) -> None:
    """Prepare trainings by joint codes, beside plain ones and alone, where the device has them."""
    if choose("joint_blocks", device.caps).params["percent"] == 0:
        return
    with patch.dict(os.environ, {JOINT_CODES: "on"}):
        prepared = _fit(device, _data(None), {"max_bin": 5, "histogram": OWN_BANKS})
    grower = prepared.kernels.grower
    assert isinstance(grower, Grower)
    assert isinstance(grower.search, HistogramSearch)
    joint = grower.search.histogram.joint
    assert joint is not None
    joint.join(joint.codes.codes)  # as memory does
    with patch.dict(os.environ, {JOINT_CODES: "alone"}):
        for params in ({}, {"colsample_bytree": 0.125}):  # by row, by column
            _fit(device, _data(None, 8), {"max_bin": 5, "histogram": OWN_BANKS, **params})


@_sizes("off")
def fits(device: NullDevice) -> None:
    """Prepare trainings of every histogram variant and code width, with and without weights.

    And of every loss, of some with weights, and of all that changes a tree.
    """
    _fit(device, _data(None, MANY_FEATURES), {})
    for params in ({}, {"colsample_bytree": 0.5}):  # columns of few codes share them
        _fit(device, _data(None), {"max_bin": 5, **params})
    _joint_histograms(device)
    _fit(device, _gaps(), {"tree_method": "exact"})
    _fit(device, _gaps(), {"tree_method": "exact", "monotone_constraints": [1, -1]})
    with switch_depth(device.caps, 1):
        for data, params in ((_gaps(), {}), (_data(None), {"monotone_constraints": [1, -1]})):
            _fit(device, data, {"tree_method": "exact", "max_depth": 3, **params})
        _fit(device, _gaps(), {"tree_method": "approx", "colsample_bynode": 0.5})
    for weight in (None, np.ones(N_ROWS, np.float32)):
        for max_bin in MAX_BINS:
            data = _data(weight)
            for variant in runnable("histogram", device.caps):
                device.label = variant.name
                params = {"max_bin": max_bin, "histogram": variant.name}
                own = _fit(device, data, params)
                own.watch(EvaluationSet.of(own.parts.rows, data.values, 0.0))
            dropped = {"max_bin": max_bin, "booster": "dart"}
            for page in ("auto", "tiled"):
                fit = _fit(device, data, {**dropped, "page": page})
                fit.watch(EvaluationSet.of(fit.parts.rows, data.values, 0.0))
                fit.kernels.boosting.begin_round(0, 0.1)
                fit.kernels.boosting.end_round()
            for variant in runnable("tiled_histogram", device.caps):
                device.label = f"tiled, {variant.name}"
                tiled = {"max_bin": max_bin, "histogram": variant.name, "page": "tiled"}
                _fit(device, data, tiled)
            device.label = ""
            _fit(device, data, {"max_bin": max_bin, "objective": "reg:absoluteerror"})
        of_two = np.array([1, 2], np.float32)
        plain, weighed = _data(weight), _data(weight, feature_weights=of_two)
        for name in OBJECTIVES if weight is None else SAMPLED:
            _fit(device, plain, {"objective": name})
        for name, method in itertools.product(SAMPLED, METHODS):
            _fit(device, plain, {"objective": name, **method})
        for params in GROWN:
            _fit(device, weighed if "colsample_bynode" in params else plain, params)
    of_turns = Parameters.from_dict({"subsample": 0.5, "page": "streamed", "max_depth": 2})
    loss = get_objective(of_turns.objective, of_turns)
    Fit(device, of_turns, loss, _data(None), 0.0, n_pages=4, n_slots=2)
    levels = _levels()
    for params in ({"colsample_bynode": 0.5}, *SETS):
        own = _fit(device, levels, params)
        own.watch(EvaluationSet.of(own.parts.rows, levels.values, 0.0))
    wide = _data(None, 80)  # more splits than `plan` compares
    _fit(device, wide, {"objective": "huber"})
    for depth in (2, 6):  # gathered; a CPU asks which columns are open
        _fit(device, wide, {"colsample_bylevel": 0.2, "max_depth": depth})
    for params in ({}, {"colsample_bynode": 0.5, "max_delta_step": 0.5}):  # a CPU walks columns
        _fit(device, wide, {"tree_method": "exact", **params})


def statistics(device: NullDevice) -> None:
    """Prepare statistics of categories, of combinations too, in pages of both widths of codes."""
    data, pair = _levels(), (Part(0), Part(2))
    for max_bin, columns in ((255, [0, 2]), (255, [0]), (300, [0, 2]), (300, [0])):
        given = {"cat_method": "statistics", "max_bin": max_bin, "max_depth": 8}
        params = Parameters.from_dict(given)  # so deep that leaf values come from another order
        made = replace_by_statistics(params, data, dict.fromkeys(columns, STATISTICS), device)
        objective = get_objective(params.objective, params)
        fit = Fit(device, params, objective, made.data, 0.0, replaced=made)
        assert fit.statistics.orders is not None
        fit.statistics.orders.encode(0, 0, device.zeros(N_ROWS, np.float32), 0)
    levels = [device.empty((N_ROWS,), np.uint32) for _ in range(2)]
    quanta = device.empty((N_ROWS, 2), np.int32)
    PairScores(device, N_ROWS, (3, 3)).of(levels[0], quanta, 0, levels)
    codes = CombinationCodes(device, data, {c: own.n_levels for c, own in data.categories.items()})
    there = device.empty((N_ROWS,), np.uint32)
    codes.of((*pair, Part(1, 0.5)), there)
    hits = np.ones((1, N_ROWS), np.uint8)
    ordered, keys = OrderedStatistics(device, hits, hits[0], ((0.5,),), 1, seed=0), codes.keys()
    out = device.empty((N_ROWS, 1), np.float32)
    ordered.level_means.look_up(
        device.empty((N_ROWS,), np.uint64), keys, ordered.totals(there, 1), out, 0
    )


def ranking(device: NullDevice) -> None:
    """Prepare ranking with drawn pairs and the bias of positions."""
    data = _data(None, group=[N_ROWS - 10, 10])
    own = {"lambdarank_pair_method": "mean", "lambdarank_unbiased": True}
    for name in ("rank:ndcg", "rank:map", "rank:pairwise"):
        _fit(device, data, {"objective": name, **own})


def own_losses(device: NullDevice) -> None:
    """Prepare trainings with losses of a user's own, and a round's gradients."""
    data = Dataset(np.zeros((N_ROWS, 2), np.float32), np.zeros(N_ROWS))
    params = Parameters.from_dict({"objective": "custom", "max_depth": 2})
    for own in (KernelObjective("g = margin - label; h = 1.0f;"), DeviceObjective(lambda *_: None)):
        source = Fit(device, params, own, data, 0.5).kernels.source
        assert source is not None
        source.before_round(0)


def fits_of_cpus(device: NullDevice) -> None:
    """Prepare trainings as a CPU does them; keep the programs of templates of their own."""
    known = {b.template for b in device.built.values()}
    caps = replace(device.caps, kind="cpu", compute_units=2, lookback=True, **HOST_CORES)
    cpu = NullDevice(caps)  # of few units: it walks
    fits(cpu)
    own = {key: b for key, b in cpu.built.items() if b.template not in known}
    device.built |= {key: replace(b, label=FOR_CPUS) for key, b in own.items()}


def metrics_of_rows(device: NullDevice) -> None:
    """Prepare every metric of rows with and without weights, and some of every link."""
    label = np.arange(N_ROWS, dtype=np.float32) % 2
    metrics = {name: get_metric(name) for name in (*MEANS, "auc", "aucpr")}
    links = {objective.link: objective for objective in OBJECTIVES.values()}
    for link, weight in itertools.product(links, (None, np.full_like(label, 2))):
        objective = links[link]
        data = Dataset(np.zeros((N_ROWS, 2), np.float32), label, weight)
        params = Parameters.from_dict({"objective": objective.name, "max_depth": 2})
        fit = Fit(device, params, objective, data, 0.0)
        fit.watch(EvaluationSet.of_training_rows(fit.parts.rows, 0.0))
        every = link == max(links) and weight is not None  # what takes most
        some = metrics if every else {name: metrics[name] for name in ("rmse", "auc")}
        Evaluation(device, objective, some, [(data, "train")], fit.evaluation).launch()


def other_metrics(device: NullDevice) -> None:
    """Prepare the metrics of classes, of queries and of times."""
    cases = {
        "multi:softprob": [*MEANS_OF_CLASSES, "auc", "aucpr"],
        "rank:ndcg": ["ndcg", "ndcg@5-", "map", "map@3", "pre"],
        "survival:cox": ["cox-nloglik"],
        "survival:aft": ["aft-nloglik", "interval-regression-accuracy"],
    }
    for (name, metrics), weight in itertools.product(cases.items(), (None, 2.0)):
        own = {"objective": name, "max_depth": 2, **NEEDED.get(name, {})}
        params, objective = Parameters.from_dict(own), get_objective(name, own)
        label = np.arange(N_ROWS, dtype=np.float32) % max(2, objective.n_outputs)
        weights = None if weight is None else np.full_like(label, weight)
        for sizes in ([N_ROWS], [10, N_ROWS - 10]):
            data = Dataset(np.zeros((N_ROWS, 2), np.float32), label, weights, group=sizes)
            fit = Fit(device, params, objective, data, 0.0)
            fit.watch(EvaluationSet.of_training_rows(fit.parts.rows, 0.0))
            functions = {metric: get_metric(metric, params) for metric in metrics}
            Evaluation(device, objective, functions, [(data, "train")], fit.evaluation).launch()
