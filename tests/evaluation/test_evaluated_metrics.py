"""Metrics of classes, targets, queries and survival times in a training, on the device."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.evaluation import evaluation
from pyopencl_gbdt.evaluation.evaluation import has_kernels, on_host
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.profiling.profile import ROUNDS
from tests.conftest import TEST_DEVICE

#: All combinations are ``thorough``, see tests/conftest.py.
ONCE_EACH = True
RNG = np.random.default_rng(33)
N = 700
X = RNG.standard_normal((N, 4)).astype(np.float32)
SIGNAL = X[:, 0] + RNG.standard_normal(N)
CLASSES = np.digitize(SIGNAL, [-1, 0.5]).astype(np.float32)
TARGETS = np.c_[SIGNAL, X[:, 1] ** 2, SIGNAL > 0].astype(np.float32)
GRADES = np.digitize(SIGNAL, [-0.5, 0.5, 1.5]).astype(np.float32)
TIMES = (np.exp(SIGNAL) * np.where(RNG.random(N) < 0.3, -1, 1)).astype(np.float32)
WEIGHT = (RNG.uniform(0, 3, N) * (RNG.random(N) < 0.9)).astype(np.float32)


@pytest.fixture(autouse=True)
def every_size_on_the_device(monkeypatch):
    monkeypatch.setattr(evaluation, "FEW_ROWS", 0)


def rows_of(case, rows):
    weight = WEIGHT[rows]
    if case.startswith("classes"):
        return Dataset(X[rows], CLASSES[rows], weight)
    if case.startswith("queries"):
        label = GRADES[rows] > 1 if "relevant" in case else GRADES[rows]
        n = label.size
        return Dataset(X[rows], label, weight[: n // 20], group=[20] * (n // 20))
    if case.startswith("times"):
        return Dataset(X[rows], TIMES[rows], weight)
    if case.startswith("bounds"):
        low = np.abs(TIMES[rows])
        high = np.where(TIMES[rows] > 0, low * 1.5, np.inf)
        return Dataset(X[rows], weight=weight, label_lower_bound=low, label_upper_bound=high)
    return Dataset(X[rows], TARGETS[rows], weight)


CASES = {
    "classes": (
        {"objective": "multi:softprob", "num_class": 3},
        ["mlogloss", "merror", "auc", "aucpr"],
    ),
    "classes, the best": ({"objective": "multi:softmax", "num_class": 3}, ["merror", "mlogloss"]),
    "targets": ({}, ["rmse", "mae", "quantile"]),
    "queries": ({"objective": "rank:ndcg"}, ["ndcg", "ndcg@5-", "ndcg@3"]),
    "queries of relevant rows": ({"objective": "rank:map"}, ["map", "map@2", "pre@3", "auc"]),
    "queries of numbers": ({"objective": "reg:squarederror"}, ["ndcg", "rmse"]),
    "times": ({"objective": "survival:cox"}, ["cox-nloglik"]),
    "bounds": (
        {"objective": "survival:aft", "aft_loss_distribution": "logistic"},
        ["aft-nloglik", "interval-regression-accuracy"],
    ),
    "counts of targets": ({"objective": "count:poisson"}, ["poisson-nloglik"]),
}


def problem(case):
    params, metrics = CASES[case]
    evals = [(rows_of(case, slice(0, 400)), "train"), (rows_of(case, slice(400, N)), "test")]
    if case.startswith("counts"):
        for rows, _ in evals:
            rows.label = np.abs(rows.label)
    return {"device": TEST_DEVICE, "max_depth": 3, **params}, metrics, evals


#: Cases with kernels of their own, beside those whose kernels others have.
SEVERAL_WORK_ITEMS = (
    "classes",
    "targets",
    "queries",
    "queries of relevant rows",
    "times",
    "bounds",
)
THOROUGH = {"test_history_is_the_hosts": lambda case, wg: wg > 0 and case not in SEVERAL_WORK_ITEMS}


@pytest.mark.few(3)
@pytest.mark.more(6)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("wg", [0, 16])
def test_history_is_the_hosts(case, wg):
    params, metrics, evals = problem(case)
    model = train({**params, "work_group_size": wg}, evals[0][0], 2, evals=evals,
                  eval_metric=metrics)  # fmt: skip
    for rows, name in evals:
        margins = model.predict(rows.values, output_margin=True, device=TEST_DEVICE)
        prediction = model.objective.to_probability(np.ascontiguousarray(margins.T))
        for metric in metrics:
            function = get_metric(metric, Parameters.from_dict(params))
            wanted = on_host(function, metric, rows, prediction)
            assert has_kernels(function, model.objective, rows), metric
            assert model.history[name][metric][-1] == pytest.approx(wanted, rel=1e-6, abs=1e-9)


@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES)
def test_few_bytes_come_to_the_host(case):
    params, metrics, evals = problem(case)
    model = train(params, evals[0][0], 2, evals=evals, eval_metric=metrics, profile=True)
    plain = train(params, evals[0][0], 2, profile=True)
    unknown = [
        {k.kernel for k in p if k.phase == ROUNDS and k.bytes is None}
        for p in (model.profile, plain.profile)
    ]
    assert unknown[0] - unknown[1] == set(), "write their bytes down in pyopencl_gbdt/traffic.py"
    download = [
        next(k.bytes for k in p if (k.kernel, k.phase) == ("download", ROUNDS))
        for p in (model.profile, plain.profile)
    ]
    assert (download[0] - download[1]) / 2 <= len(evals) * len(metrics) * 3 * 64 + 8
