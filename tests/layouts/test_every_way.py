"""Every family of losses and way of growing, in every way that lays the rows out: one model."""

import numpy as np
import pytest

from pyopencl_gbdt.device import find
from tests.conftest import TEST_DEVICE
from tests.layouts.recipes import Recipe
from tests.layouts.rows import GROWTH, LABELS, LOSSES, ORDER, WEIGHT, N, X
from tests.layouts.run import run
from tests.layouts.ways import WAYS, trained

#: Ways in which the rows lie elsewhere; those that only take other kernels are left to the twins.
PLACES = ("pages", "streamed", "little memory", "tiled", "sparse", "two queues", "team")
VECTORS = {
    "objective": "multi:softprob", "num_class": 3, "multi_strategy": "multi_output_tree",
}  # fmt: skip
LABEL_OF = {
    "multi:softprob": "classes", "binary:logistic": "two classes", "count:poisson": "count",
    "dist:negative_binomial": "count",
}  # fmt: skip
DROPPED = {"booster": "dart", "rate_drop": 0.5, "one_drop": True, "n_estimators": 4}
FORCED = {
    "feature": 3, "threshold": 1.0, "left": {"feature": 1, "threshold": 0.0},
    "right": {"feature": 0, "threshold": 1e9, "left": {"feature": 1, "threshold": 0.5}},
}  # fmt: skip
#: More ways to grow trees, each with what several pages or members have to agree on.
MORE = {
    "outliers": {},
    "outliers in sketches": {
        "multi_strategy": "multi_output_tree", "sketch": 1, "subsample": 0.7,
    },
    "outliers in constrained trees": {
        "subsample": 0.5, "interaction_constraints": [[0, 1], [2, 3, 4]],
    },
    "sets": {"cat_method": "sets"},
    "sets, leaf by leaf": {"cat_method": "sets", **GROWTH["leaf by leaf"]},
    "sets of symmetric trees": {"cat_method": "sets", "grow_policy": "symmetric"},
    "drawn borders": {"extra_trees": True},
    "noise": {"random_strength": 1.0},
    "noise of symmetric trees": {"random_strength": 1.0, "grow_policy": "symmetric"},
    "smoothed weights": {"path_smooth": 8.0},
    "smoothed weights, leaf by leaf": {"path_smooth": 8.0, **GROWTH["leaf by leaf"]},
    "statistics": {"cat_method": "statistics", "n_estimators": 6},
    "statistics of symmetric trees": {"grow_policy": "symmetric", "n_estimators": 6},
    "distributions": {"objective": "dist:normal"},
    "distributions of symmetric trees": {
        "objective": "dist:negative_binomial", "grow_policy": "symmetric",
    },
    "least rows": {"min_samples_leaf": 17, "objective": "reg:pseudohubererror"},
    "forced splits": {"forced_splits": FORCED, **GROWTH["leaf by leaf"]},
    "steps": {"leaf_estimation_iterations": 3, "objective": "count:poisson"},
    "steps of a sample": {
        "leaf_estimation_iterations": 3, "subsample": 0.3, "objective": "binary:logistic",
    },
    "steps, leaf by leaf": {
        "leaf_estimation_iterations": 3, "objective": "binary:logistic", **GROWTH["leaf by leaf"],
    },
    "steps of classes": {
        "leaf_estimation_iterations": 3, "objective": "multi:softprob", "num_class": 3,
    },
    "linear leaves": {"linear_tree": True},
    "symmetric linear leaves": {
        "linear_tree": True, "grow_policy": "symmetric", "subsample": 0.8,
    },
    "linear leaves, leaf by leaf": {"linear_tree": True, **GROWTH["leaf by leaf"]},
    "ordered": {"boosting_type": "ordered"},
    "ordered classes": {
        "boosting_type": "ordered", "objective": "multi:softprob", "num_class": 3, "subsample": 0.7,
    },
    "dropped": DROPPED,
    "dropped forests": {**DROPPED, "num_parallel_tree": 3, "subsample": 0.6},
    "dropped classes": {**DROPPED, "objective": "multi:softprob", "num_class": 3},
    "dropped vectors": {**DROPPED, **VECTORS},
    "vectors": {**VECTORS, "colsample_bynode": 0.6, "min_child_weight": 3},
    "vectors, leaf by leaf": {**VECTORS, **GROWTH["leaf by leaf"], "min_samples_leaf": 9},
    "symmetric vectors": {
        **VECTORS, "grow_policy": "symmetric", "monotone_constraints": [1, -1, 0, 1, 0],
    },
    "vectors, rows by gradient": {**VECTORS, **GROWTH["rows by gradient"], "num_parallel_tree": 2},
    "vectors of quantiles": {
        "objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.7],
        "multi_strategy": "multi_output_tree",
    },
    "vectors of targets": {"multi_strategy": "multi_output_tree", "reg_alpha": 0.5},
    "sets, vectors": {**VECTORS, "cat_method": "sets"},
    "sketches": {**VECTORS, "sketch": 2, "subsample": 0.7, "num_parallel_tree": 2},
    "sketches, leaf by leaf": {**VECTORS, "sketch": 1, **GROWTH["leaf by leaf"]},
    "symmetric sketches": {
        **VECTORS, "sketch": 2, "grow_policy": "symmetric", "leaf_estimation_iterations": 3,
    },
    "sets, sketches": {**VECTORS, "sketch": 2, "cat_method": "sets"},
}  # fmt: skip
#: Ways that refuse a case.
REFUSED = {
    **{name: {"streamed"} for name in ("rank:ndcg", "survival:cox")},
    **{name: {"tiled", "sparse"} for name in MORE if name.startswith("sets")},
    **{name: {"streamed"} for name in MORE if name.startswith("dropped")},
    **{name: {"streamed", "sparse", "two queues", "team"} for name in MORE if "linear" in name},
    **{name: {"streamed", "two queues", "team"} for name in MORE if name.startswith("ordered")},
    "statistics": {"streamed", "sparse", "two queues", "team"},
    "statistics of symmetric trees": {"streamed", "tiled", "sparse", "two queues", "team"},
}


def of_loss(loss):
    label, more = LOSSES[loss]
    columns = {"label": LABELS[label][ORDER]}
    if loss.startswith("rank"):
        columns["qid"] = np.repeat(np.arange(N // 10), 10)
    else:
        columns["weight"] = WEIGHT
    return Recipe(loss, {"objective": loss.split()[0], **more}, X[ORDER], columns)


def of_growth(name):
    params = {"max_bin": 32, **(GROWTH | MORE)[name]}
    kind = LABEL_OF.get(params.get("objective"), "number")
    if "multi_strategy" in params and "objective" not in params:
        kind = "two targets"
    label, values, categorical = LABELS[kind][ORDER].copy(), X[ORDER], ()
    if name.startswith("outliers"):  # their quanta have more than 32 bits
        label[::100] *= 1e6
    if name.startswith(("sets", "statistics")):
        values, rng, categorical = values.copy(), np.random.default_rng(8), (2, 4)
        values[:, 2], values[:, 4] = rng.integers(0, 4, N), rng.integers(0, 30, N)
        if kind == "number":
            label += 2 * ((values[:, 2] + values[:, 4]) % 2)
    return Recipe(name, params, values, {"label": label}, categorical)


CASES = {
    **{loss: of_loss(loss) for loss in LOSSES},
    **{name: of_growth(name) for name in GROWTH | MORE},
}


@pytest.mark.few(3)
@pytest.mark.more(20)
@pytest.mark.parametrize("case", CASES)
def test_every_way(case):
    recipe = CASES[case]
    recipe.params.update({"n_estimators": 2, "max_depth": 4} | recipe.params)
    outcome = run([recipe], {name: WAYS[name] for name in PLACES}, TEST_DEVICE)
    assert outcome.problems == []
    refused = {*outcome.refused_in_way}
    if not find(TEST_DEVICE).caps.on_host_cores:
        refused -= {"little memory"}  # kernels of GPUs take more, in some cases than there is
    assert refused == REFUSED.get(case, set())
    if case.startswith("statistics"):  # columns matter together
        tables = trained(recipe, TEST_DEVICE).ensemble.statistics.tables
        assert any(len(table.parts) > 1 for table in tables)
