"""Metrics: XGBoost's and scikit-learn's numbers, weights, edges, and names."""

import math

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.metrics import METRICS, get_metric, takes_queries
from pyopencl_gbdt.metrics.formulas import log_gamma
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.xgboost_versions import VERSION

BINARY = ("logloss", "error", "auc", "aucpr")
NAMES = [
    name
    for name, row in METRICS.items()
    if name not in ("tweedie-nloglik", "ams", "nll", "crps")  # the last two: tests/objectives
    and not takes_queries(name)
    and not row.of_dataset
]
NAMES += ["error@0.7", "error@0.25", "tweedie-nloglik@1.1", "tweedie-nloglik@1.5"]
NAMES += ["tweedie-nloglik@1.9"]
CLASSES = {"merror": 4, "mlogloss": 4}
NUMBERS = {"mphe": {"huber_slope": 0.7}, "quantile": {"quantile_alpha": 0.3},
           "expectile": {"expectile_alpha": 0.3}}  # fmt: skip


def drawn(name, n=3000, seed=0):
    """Return labels, predictions with ties, weights, some of them 0.

    Predictions of classes are probabilities, shape (n_classes, n).
    """
    rng = np.random.default_rng(seed)
    if name in CLASSES:
        y = rng.integers(0, CLASSES[name], n)
        p = np.round(rng.dirichlet(np.ones(CLASSES[name]), n).T * 10) + (y == np.arange(4)[:, None])
        p = p / p.sum(axis=0)
    elif name.split("@")[0] in BINARY:
        y = rng.random(n) < 0.3
        p = np.round(np.clip(rng.normal(0.3 + 0.3 * y, 0.2), 0.01, 0.99), 2)
    else:
        y = rng.gamma(2, 2, n)
        y = np.floor(y) if name == "poisson-nloglik" else y
        p = (y + 0.1) * rng.gamma(5, 0.2, n)
        if name == "cox-nloglik":
            y = np.ceil(4 * y) * np.where(rng.random(n) < 0.3, -1, 1)
    weight = rng.uniform(0, 3, n) * (rng.random(n) < 0.9)
    return tuple(a.astype(np.float32) for a in (y, p, weight))


def xgboosts(name, y, p, weight, **params):
    settings = {"objective": "reg:squarederror"}
    if name in CLASSES:  # the probabilities are the softmax of their logarithms
        settings = {"objective": "multi:softprob", "num_class": CLASSES[name]}
        with np.errstate(divide="ignore"):
            p = np.log(p.T)
    data = xgboost.DMatrix(np.zeros((y.size, 1)), y, weight=weight, base_margin=p)
    settings = {**settings, "eval_metric": name, "nthread": 1, **params}
    return float(xgboost.Booster(settings, [data]).eval(data).split(":")[1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_xgboosts_numbers(name, weighted):
    if name == "expectile" and VERSION < (3, 4):
        pytest.skip("XGBoost has expectiles since 3.4")
    for seed in range(3):
        y, p, weight = drawn(name, seed=seed)
        weight = weight if weighted else None
        given = NUMBERS.get(name, {})
        ours = get_metric(name, Parameters.from_dict(given))(y, p, weight)
        assert isinstance(ours, float)
        theirs = xgboosts(name, y, p, weight, **given)
        assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learns_numbers(weighted):
    metrics = pytest.importorskip("sklearn.metrics")
    pairs = {
        "rmse": metrics.root_mean_squared_error,
        "rmsle": metrics.root_mean_squared_log_error,
        "mae": metrics.mean_absolute_error,
        "gamma-deviance": metrics.mean_gamma_deviance,
        "quantile": lambda *a, **k: metrics.mean_pinball_loss(*a, alpha=0.5, **k),
        "auc": metrics.roc_auc_score,
        "logloss": metrics.log_loss,
    }
    for name, function in pairs.items():
        y, p, weight = drawn(name)
        weight = weight if weighted else None
        y = np.maximum(y, 0.01) if name == "gamma-deviance" else y
        theirs = function(*(a.astype(np.float64) for a in (y, p)), sample_weight=weight)
        near = 1e-4 if name == "gamma-deviance" else 1e-9  # XGBoost, and we, add 1e-6 to both
        assert get_metric(name)(y, p, weight) == pytest.approx(theirs, rel=near)
    y, p, weight = drawn("mape")
    weight = weight if weighted else None
    wanted = metrics.mean_absolute_percentage_error(y.astype(float), p, sample_weight=weight)
    assert get_metric("mape")(y, p, weight) == pytest.approx(wanted)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "cox-nloglik"])
def test_law_a_weight_counts_as_rows(name):
    y, p, _ = drawn(name, n=300)
    times = np.random.default_rng(3).integers(0, 4, y.size)
    metric = get_metric(name)
    weighted = metric(y, p, times.astype(np.float32))
    repeated = np.repeat(y, times), np.repeat(p, times, axis=-1)
    assert weighted == pytest.approx(metric(*repeated, None))


@pytest.mark.parametrize("name", ["auc", "aucpr"])
def test_law_order_alone_matters_to_curves(name):
    y, p, weight = drawn(name)
    metric = get_metric(name)
    assert metric(y, np.exp(3 * p), weight) == pytest.approx(metric(y, p, weight), abs=1e-12)
    assert metric(y, y, None) == 1.0
    assert math.isnan(metric(np.ones_like(y), p, None))
    assert math.isnan(metric(np.zeros_like(y), p, None))


def test_one_prediction_for_all():
    y = np.float32([0, 1, 0, 0])
    p = np.full(4, 0.5, np.float32)
    assert get_metric("auc")(y, p, None) == 0.5
    assert get_metric("aucpr")(y, p, None) == 0.25
    assert get_metric("error")(y, p, None) == 0.25  # 0.5 is not above 0.5


def test_edges_stay_finite():
    zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    for name in ("poisson-nloglik", "gamma-nloglik", "gamma-deviance", "tweedie-nloglik@1.5"):
        assert math.isfinite(get_metric(name)(one, zero, None))
        assert math.isfinite(get_metric(name)(zero, zero, None))
    assert get_metric("mlogloss")(zero, zero[None], None) == pytest.approx(-math.log(1e-16))
    assert get_metric("merror")(one, np.float32([[0.5], [0.5]]), None) == 1  # the first of equals
    assert get_metric("logloss")(one, zero, None) == pytest.approx(-math.log(1e-16))
    assert get_metric("mape")(zero, one, None) == math.inf
    assert math.isfinite(get_metric("tweedie-nloglik@1")(one, one, None))


def test_log_gamma():
    z = np.r_[np.arange(1, 200) / 2 + 0.5, np.exp(np.arange(3, 88.0))]
    wanted = np.array([math.lgamma(v) for v in z])
    assert (np.abs(log_gamma(z) - wanted) <= 1e-12 * np.maximum(1, wanted)).all()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rmsse", "eval_metric='rmsse': expected one of .*; did you mean 'rmse'"),
        ("zzz", "expected one of .*; choose one of these"),
        (5, "eval_metric=5: expected one of"),
        ("rmse@3", "eval_metric='rmse@3': expected no number; write 'rmse'"),
        ("error@", "expected a finite number after @; write error@0.5"),
        ("error@x", "expected a finite number after @; write error@0.5"),
        ("error@nan", "expected a finite number after @"),
        ("tweedie-nloglik", "expected a number after @; write tweedie-nloglik@1.5, say"),
        ("tweedie-nloglik@2", r"expected a number, 1 <= number < 2, after @; write .*@1.5"),
        ("tweedie-nloglik@0.5", "expected a number, 1 <= number < 2, after @"),
    ],
)
def test_messages(name, message):
    with pytest.raises(ParameterError, match=message):
        get_metric(name)
