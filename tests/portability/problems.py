"""Small trainings in which every kernel of a training comes up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix

F32 = npt.NDArray[np.float32]
#: Rows, features, trees and depth of a training. A simulator looks for races within a kernel, which
#: the first tree shows; one with margins that differ shows the rest.
SHAPES = {"tiny": (300, 3, 1, 2), "full": (1500, 6, 2, 5)}
_TWO_TREES = {"classes", "ordered, symmetric", "drawn by gradient, few leaves"}
_LEAF_WISE = {"grow_policy": "lossguide", "max_leaves": 7}
_GROUPS = {"interaction_constraints": [[0, 1], [1, 2]]}
_SIGNS = {"monotone_constraints": [1, -1]}
_CLASSES = {"objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2}
#: Trainings that run with every variant of the histogram.
EVERY_HISTOGRAM: dict[str, dict[str, Any]] = {
    "logistic": {"objective": "binary:logistic"},
    "heavy": {"reg_alpha": 0.5},
}
#: Those that run with the one that the device gets.
OTHERS: dict[str, dict[str, Any]] = {
    "goss, leaf by leaf": {
        "objective": "binary:logistic", "sampling_method": "goss", "learning_rate": 0.9,
        **_LEAF_WISE, **_SIGNS,
    },
    "drawn by gradient, few leaves": {
        "sampling_method": "gradient_based", "subsample": 0.4, "max_leaves": 5,
        "colsample_bynode": 0.6,
    },
    "random weights": {"sampling_method": "bayesian", "subsample": 0.7, "num_parallel_tree": 2},
    "constrained forest of classes": {
        **_CLASSES, "subsample": 0.7, "colsample_bylevel": 0.7, **_SIGNS, **_GROUPS,
    },
    "classes": {"objective": "multi:softmax", "num_class": 3},
    "sketches": {**_CLASSES, "multi_strategy": "multi_output_tree", "sketch": 2, "subsample": 0.7},
    "vectors": {**_CLASSES, "multi_strategy": "multi_output_tree", "subsample": 0.7},
    "vectors, steps": {
        **_CLASSES, **_LEAF_WISE, "multi_strategy": "multi_output_tree", "subsample": 0.7,
        "leaf_estimation_iterations": 2,
    },
    "vectors, quantiles": {
        "objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.4, 0.6, 0.8],
        "multi_strategy": "multi_output_tree",
    },
    "quantiles": {"objective": "reg:quantileerror", "quantile_alpha": 0.3, **_LEAF_WISE},
    "symmetric": {"grow_policy": "symmetric", "objective": "binary:logistic"},
    "constrained symmetric forest": {
        **_CLASSES, **_SIGNS, "grow_policy": "symmetric", "subsample": 0.7,
        "colsample_bylevel": 0.7,
    },
    "ordered classes": {
        "objective": "multi:softprob", "num_class": 3, "boosting_type": "ordered",
        "subsample": 0.7,
    },
    "ordered, symmetric": {
        "objective": "binary:logistic", "boosting_type": "ordered", "grow_policy": "symmetric",
        **_SIGNS,
    },
    "absolute error": {"objective": "reg:absoluteerror"},
    "drawn borders": {"objective": "binary:logistic", "extra_trees": True, "subsample": 0.7},
    "drawn borders, symmetric": {"grow_policy": "symmetric", "extra_trees": True},
    "noise": {"objective": "binary:logistic", "random_strength": 1.0, **_SIGNS},
    "noise, symmetric": {"grow_policy": "symmetric", "random_strength": 1.0},
    "counted rows": {"objective": "binary:logistic", "min_samples_leaf": 5},
    "smoothed weights": {"objective": "binary:logistic", "path_smooth": 3.0},
    "smoothed weights, leaf by leaf": {"path_smooth": 3.0, **_LEAF_WISE},
    "forced splits": {"forced_splits": {"feature": 1, "threshold": 0.1}, **_LEAF_WISE},
    "steps": {"objective": "binary:logistic", "leaf_estimation_iterations": 3, **_SIGNS},
    "exact": {"tree_method": "exact", "reg_lambda": 0.3},
    "exact, leaf by leaf": {
        "tree_method": "exact", "objective": "reg:absoluteerror", "subsample": 0.7,
        "colsample_bynode": 0.6, **_LEAF_WISE, **_SIGNS,
    },
    "approx, global": {"tree_method": "approx", "objective": "binary:logistic"},
    "approx, local": {
        "tree_method": "approx", "proposal": "local", "objective": "binary:logistic",
        "subsample": 0.7, **_LEAF_WISE,
    },
    "categories": {
        "objective": "binary:logistic", "colsample_bynode": 0.6, "cat_smooth": 2.5,
        "max_cat_threshold": 3, "min_data_per_group": 4,
    },
    "categories, level by level of symmetric trees": {
        "objective": "binary:logistic", "grow_policy": "symmetric", "cat_smooth": 2.5,
        "max_cat_threshold": 3, "min_data_per_group": 4, "cat_l2": 1.5,
    },
    "categories, vectors": {
        **_CLASSES, "multi_strategy": "multi_output_tree", "subsample": 0.7, "cat_l2": 1.5,
    },
    "categories, leaf by leaf": {"objective": "reg:absoluteerror", **_LEAF_WISE},
    "tiled": {"page": "tiled", "objective": "binary:logistic"},
    "tiled, leaf by leaf": {
        "page": "tiled", "objective": "reg:quantileerror", "subsample": 0.7, **_LEAF_WISE,
    },
    "ndcg": {
        "objective": "rank:ndcg", "lambdarank_unbiased": True, "lambdarank_pair_method": "mean",
    },
    "map": {"objective": "rank:map"},
    "cox": {"objective": "survival:cox"},
    "aft": {"objective": "survival:aft", "aft_loss_distribution": "normal"},
    "distribution": {"objective": "dist:gamma"},
    "distribution of counts": {"objective": "dist:negative_binomial"},
}  # fmt: skip
#: Where a simulator runs every work-item, few trainings go one level deeper, and leaf by leaf there
#: are few leaves: as many branches, fewer nodes.
_DEEPER = {
    "logistic",
    "drawn by gradient, few leaves",
    "noise, symmetric",
    "symmetric",
    "tiled",
}
#: Nodes enough that CPUs select the quantiles of whole leaves; GPUs would simulate minutes.
_DEEPER_ON_CPUS = {"vectors, quantiles"}
#: Forests otherwise, and on CPUs.
_ONE_TREE = {"categories, vectors", "sketches", "vectors, steps"}
#: One categorical feature, not two: a simulator sorts the levels of a node's feature for a second.
_ONE_CATEGORICAL = {"categories, vectors", "categories, leaf by leaf"}
_FEW_LEAVES = 3
_WEIGHTED = ("logistic", "goss, leaf by leaf", "quantiles", "aft")


@dataclass
class Problem:
    """A training: ``extra`` is what else ``Dataset`` takes."""

    params: dict[str, Any]
    values: F32
    label: F32
    weight: F32 | None = None
    extra: dict[str, Any] = field(default_factory=dict)


def present(values: F32) -> SparseMatrix:
    """Return a dense matrix as a sparse one, without its missing values."""
    there = ~np.isnan(values)
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return SparseMatrix(
        (len(values), values.shape[1]), starts, np.nonzero(there)[1].astype(np.int32), values[there]
    )


def problem(size: str, name: str, kind: str = "gpu") -> Problem:
    """Return a training of ``EVERY_HISTOGRAM`` or ``OTHERS`` for a kind of device."""
    n, features, trees, depth = SHAPES[size]
    rng = np.random.default_rng(5)
    values = rng.standard_normal((n, features)).astype(np.float32)
    values[rng.random(values.shape) < 0.1] = np.nan
    signal = np.nan_to_num(values[:, 0]) + rng.standard_normal(n) * 0.5
    params = {"n_estimators": trees, "max_depth": depth, "max_bin": 16 if size == "tiny" else 64}
    if name in _TWO_TREES:
        params["n_estimators"] = max(2, trees)
    params |= {**EVERY_HISTOGRAM, **OTHERS}[name]
    if params.get("tree_method") == "exact":
        del params["max_bin"]  # there is one for every value
    if size == "tiny" and (name in _DEEPER or (kind == "cpu" and name in _DEEPER_ON_CPUS)):
        params["max_depth"] += 1
    if size == "tiny" and kind != "cpu" and name in _ONE_TREE:
        params["num_parallel_tree"] = 1
    if size == "tiny" and kind != "cpu" and name in _DEEPER_ON_CPUS:
        params["quantile_alpha"] = params["quantile_alpha"][:2]
    if size == "tiny" and "max_leaves" in params:
        params["max_leaves"] = _FEW_LEAVES
    label = _label(params.get("objective", ""), signal).astype(np.float32)
    found = Problem(params, values, label)
    if name in _WEIGHTED:
        found.weight = rng.integers(0, 4, n).astype(np.float32)
    if name.startswith("categories"):
        for column, n_levels in ((0, 3), (1, 20 if size == "tiny" else 700)):
            values[:, column] = np.floor(np.abs(values[:, column]) * n_levels) % n_levels
        one = size == "tiny" and kind != "cpu" and name in _ONE_CATEGORICAL
        found.extra["categorical_features"] = [1] if one else [0, 1]
    if name == "heavy":
        label[7] = 1e9  # one gradient that needs its high word
    if "colsample_bynode" in params:
        found.extra["feature_weights"] = rng.random(features).astype(np.float32) + 0.01
    if params.get("objective", "").startswith("rank:"):
        found.extra["qid"] = np.arange(n) // 23
    if name == "aft":
        found.extra |= {"label_lower_bound": label, "label_upper_bound": label * np.float32(1.5)}
    return found


def _label(objective: str, signal: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    if objective in ("binary:logistic", "rank:map"):
        return (signal > 0).astype(np.float64)
    if objective.startswith("multi:") or objective == "rank:ndcg":
        return np.digitize(signal, [-0.5, 0.5]).astype(np.float64)
    if objective == "survival:cox":
        return np.rint(signal * 8)
    if objective == "dist:negative_binomial":
        return np.floor(np.abs(signal) * 4)
    return np.abs(signal) + 0.25 if objective in ("survival:aft", "dist:gamma") else signal
