"""Metrics of evaluation sets: the twin's numbers on any device, few bytes, and the host's part."""

from functools import partial

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, cv, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.evaluation import evaluation
from pyopencl_gbdt.evaluation.evaluation import Evaluation
from pyopencl_gbdt.evaluation.mean_loss import Mean
from pyopencl_gbdt.evaluation.watched import EvaluationSet
from pyopencl_gbdt.metrics import (
    METRICS,
    cox_nloglik,
    curve_of,
    get_metric,
    ranked_of,
    row_loss_of,
)
from pyopencl_gbdt.metrics.curves import Areas
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.profiling.profile import ROUNDS
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.reference.auc import area_words
from tests.reference.mean_loss import sum_words

#: All combinations are ``thorough``, see tests/conftest.py.
ONCE_EACH = True
RNG = np.random.default_rng(21)
X = RNG.standard_normal((900, 4)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] + RNG.standard_normal(900) > 0).astype(np.float32)
WEIGHT = (RNG.uniform(0, 3, 900) * (RNG.random(900) < 0.9)).astype(np.float32)
COUNTS = RNG.poisson(np.exp(X[:, 0])).astype(np.float32)
BINARY = ["logloss", "error@0.4", "rmse", "mae", "auc", "aucpr"]
REGRESSION = [
    "rmse",
    "mae",
    "mphe",
    "quantile",
    "expectile",
    "rmsle",
    "poisson-nloglik",
    "tweedie-nloglik@1.3",
]


@pytest.fixture(autouse=True)
def every_size_on_the_device(monkeypatch):
    monkeypatch.setattr(evaluation, "FEW_ROWS", 0)


def params_of(objective, **others):
    return {"device": TEST_DEVICE, "objective": objective, "max_depth": 3, **others}


def sets(label, objective):
    return [
        (Dataset(X[:600], label[:600], WEIGHT[:600]), "train"),
        (Dataset(X[600:], label[600:]), "plain"),
        (Dataset(X[600:], label[600:], WEIGHT[600:]), "weighted"),
    ]


def twin(metric, rows, prediction):
    loss = row_loss_of(metric)
    if loss is None:
        words = area_words(curve_of(metric), prediction, rows.label, rows.weight)
        return Areas(rows.label, rows.weight).value(curve_of(metric), words[None])
    mean = Mean(loss, rows.label, rows.weight)
    with np.errstate(all="ignore"):
        return mean.value(sum_words(loss.twin(prediction, rows.label, mean.unit), rows.weight))


THOROUGH = {
    "test_the_history_is_the_twins": lambda objective, label, metrics, wg: (
        objective == "binary:hinge" or (wg > 0) != (objective == "binary:logistic")
    )
}


@pytest.mark.parametrize(
    ("objective", "label", "metrics"),
    [
        ("binary:logistic", Y, BINARY),
        ("binary:hinge", Y, BINARY),
        ("count:poisson", COUNTS, REGRESSION),
        ("reg:squarederror", Y, ["rmse", "auc"]),
    ],
)
@pytest.mark.few(2)
@pytest.mark.more(2)
@pytest.mark.parametrize("wg", [0, 16])
def test_the_history_is_the_twins(objective, label, metrics, wg):
    evals = sets(label, objective)
    params = params_of(objective, work_group_size=wg)
    model = train(params, evals[0][0], 3, evals=evals, eval_metric=metrics)
    for n_rounds in (1, 3):
        for rows, name in evals:
            margin = model.predict(
                rows.values, output_margin=True, iteration_range=(0, n_rounds), device=TEST_DEVICE
            )
            prediction = model.objective.to_probability(margin)
            for metric in metrics:
                function = get_metric(metric, Parameters.from_dict(params))
                found = model.history[name][metric][n_rounds - 1]
                assert found == twin(function, rows, prediction), (name, metric)
                wanted = function(rows.label, prediction, rows.weight)
                assert found == pytest.approx(wanted, rel=1e-6, abs=1e-9), (name, metric)


def test_every_metric_has_kernels():
    for name, row in METRICS.items():
        metric = get_metric(name + (f"@{row.example}" if row.default is None else ""))
        found = (curve_of(metric), ranked_of(metric), row_loss_of(metric), metric is cox_nloglik)
        assert sum(map(bool, found)) == row.has_kernels, name


def test_other_metrics_are_the_hosts():
    def share(label, prediction, weight, number=0.5):
        return float((prediction > number).mean())

    for metric in (share, partial(share, number=0.3), partial(share, number=np.float32(2))):
        assert row_loss_of(metric) is None
        assert curve_of(metric) == ""
    device = open_device(TEST_DEVICE)
    p, data = Parameters.from_dict(params_of("binary:logistic")), Dataset(X, Y)
    objective = get_objective(p.objective)
    fit = Fit(device, p, objective, data, 0.0)
    fit.watch(EvaluationSet.of_training_rows(fit.parts.rows, 0.0))
    metrics = {"share": share, "auc": get_metric("auc"), "mae": get_metric("mae")}
    evaluation = Evaluation(device, objective, metrics, [(data, "t")], fit.evaluation)
    fit.settle(watched=True)
    margin = fit.parts.arena["margins"].get()
    evaluation.launch()
    found = dict(evaluation.values())
    prediction = objective.to_probability(margin)
    assert found["t", "share"] == share(Y, prediction, None)
    assert found["t", "mae"] == metrics["mae"](Y, prediction, None)
    assert found["t", "auc"] == 0.5


def test_curves_of_labels_between_0_and_1_are_the_hosts():
    label = RNG.uniform(0, 1, 900).astype(np.float32)
    data = Dataset(X, label)
    metrics = ["auc", "rmse"]
    params = params_of("reg:logistic")
    model = train(params, data, 2, evals=[(data, "t")], eval_metric=metrics)
    prediction = model.predict(X, device=TEST_DEVICE)
    assert model.history["t"]["auc"][-1] == get_metric("auc")(label, prediction, None)


def test_the_area_of_few_rows_is_the_same_number_on_the_host(monkeypatch):
    evals = [
        (Dataset(X, Y), "all"),
        (Dataset(np.round(X), Y), "ties"),
        (Dataset(X[:2], [0, 1]), "2"),
    ]
    both = []
    for few_rows in (0, 900):
        monkeypatch.setattr(evaluation, "FEW_ROWS", few_rows)
        model = train(params_of("binary:logistic"), Dataset(X, Y), 4, evals=evals,
                      eval_metric=["auc", "logloss"], profile=True)  # fmt: skip
        both.append((model.history, {k.kernel for k in model.profile if k.phase == ROUNDS}))
    assert both[0][0] == both[1][0]
    if open_device(TEST_DEVICE).caps.unified_memory:
        assert "auc.curve_area" in both[0][1]
        assert not any(name.startswith(("auc", "radix", "scan")) for name in both[1][1])


@pytest.mark.parametrize("metric", ["aucpr", "error"])
def test_other_metrics_of_few_rows_are_the_devices(metric, device, monkeypatch):
    monkeypatch.setattr(evaluation, "FEW_ROWS", 900)
    objective, given = get_objective("binary:logistic"), Dataset(X, Y, WEIGHT)
    assert evaluation.runs_kernels(device, get_metric(metric), objective, Dataset(X, Y))
    assert evaluation.runs_kernels(device, get_metric("auc"), objective, given)


def test_one_class_is_undefined():
    ones = Dataset(X, np.ones(900))
    evals = [(ones, "one")]
    model = train(params_of("binary:logistic"), Dataset(X, Y), 2, evals=evals, eval_metric="auc")
    assert np.isnan(model.history["one"]["auc"]).all()
    evals.append((Dataset(X, Y), "both"))
    model = train(params_of("binary:logistic"), Dataset(X, Y), 2, evals=evals, eval_metric="auc")
    assert np.isnan(model.history["one"]["auc"]).all()
    assert not np.isnan(model.history["both"]["auc"]).any()


def test_few_bytes_come_to_the_host():
    evals = sets(Y, "binary:logistic")
    params = params_of("binary:logistic")
    model = train(params, evals[0][0], 5, evals=evals, eval_metric=BINARY, profile=True)
    unknown = [k.kernel for k in model.profile if k.bytes is None]
    assert unknown == [], "write their bytes down in pyopencl_gbdt/traffic.py"
    download = next(k for k in model.profile if (k.kernel, k.phase) == ("download", ROUNDS))
    plain = train(params, evals[0][0], 5, profile=True).profile
    trees = next(k for k in plain if (k.kernel, k.phase) == ("download", ROUNDS))
    per_round = (download.bytes - trees.bytes) / 5
    assert per_round <= len(evals) * len(BINARY) * 64 + 8


def test_without_sets_nothing_is_launched_and_nobody_waits(device):
    objective = get_objective("binary:logistic")
    launched, waited = device.n_launches, device.n_waits
    evaluation = Evaluation(device, objective, {"auc": get_metric("auc")}, [], [])
    evaluation.launch()
    assert list(evaluation.values()) == []
    assert (device.n_launches, device.n_waits) == (launched, waited)


def test_rounds_that_are_trained_anew():
    """A label far out needs high words, of which the first round tells."""
    label = X[:, 0].copy()
    label[7] = 1e9
    data = Dataset(X, label)
    metrics = ["rmse", "mae"]
    model = train(params_of("reg:squarederror"), data, 2, evals=[(data, "t")], eval_metric=metrics)
    for number in range(2):
        margin = model.predict(X, iteration_range=(0, number + 1), device=TEST_DEVICE)
        for metric in metrics:
            assert model.history["t"][metric][number] == twin(get_metric(metric), data, margin)


def test_cross_validation_has_them_too():
    data = Dataset(X, Y, WEIGHT)
    found = cv(params_of("binary:logistic"), data, 3, metrics=["auc", "logloss"], as_pandas=False)
    assert len(found["test-auc-mean"]) == 3
    assert found["train-auc-mean"][-1] > found["train-auc-mean"][0]
