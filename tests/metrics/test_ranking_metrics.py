"""NDCG, MAP and precision: XGBoost's numbers, by hand, and names."""

import math

import numpy as np
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.metrics import get_metric, takes_queries
from pyopencl_gbdt.parameters.parameters import Parameters

NAMES = ["ndcg", "ndcg@3", "ndcg@3-", "ndcg-", "ndcg@1000", "map", "map@2", "map@2-", "map-"]
NAMES += ["map@1000", "pre", "pre@3", "pre@50"]


def drawn(name, seed):
    """Return queries with ties, some of them without a relevant row, and their weights."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 30, 40)
    n = int(sizes.sum())
    y = rng.integers(0, 5, n) * (rng.random(n) < 0.5)
    y[: sizes[0]] = 0
    y = y if name.startswith("ndcg") else y > 2
    prediction = np.round(rng.normal(size=n) + y / 3, 1).astype(np.float32)
    weight = rng.uniform(0.5, 3, sizes.size)
    return y.astype(np.float32), prediction, sizes, weight


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_xgboosts_numbers(name, weighted):
    xgboost = pytest.importorskip("xgboost")
    for seed in range(3):
        y, prediction, sizes, weight = drawn(name, seed)
        weight = weight if weighted else None
        X = np.zeros((y.size, 1), np.float32)
        matrix = xgboost.DMatrix(X, y, weight=weight, base_margin=prediction, group=sizes)
        settings = {"objective": "reg:squarederror", "eval_metric": name, "nthread": 1}
        theirs = float(xgboost.Booster(settings, [matrix]).eval(matrix).split(":")[1])
        data = Dataset(X, y, weight, group=sizes)
        ours = get_metric(name)(y, prediction, data.weight, data.group_offsets)
        assert isinstance(ours, float)
        assert ours == pytest.approx(theirs, abs=1e-6)


def test_by_hand():
    y, p = np.float32([1, 0, 1, 0, 1]), np.float32([0.9, 0.8, 0.7, 0.6, 0.5])
    two = np.array([0, 4, 5])
    assert get_metric("map")(y, p, None, None) == pytest.approx((1 + 2 / 3 + 3 / 5) / 3)
    assert get_metric("map@2")(y, p, None, two) == pytest.approx((1 / 2 + 1) / 2)
    assert get_metric("pre@2")(y, p, np.float32([1, 1, 1, 1, 3]), two) == pytest.approx(3.5 / 4)
    dcg = 1 + 1 / math.log2(4)
    assert get_metric("ndcg")(y, p, None, two) == pytest.approx(
        (dcg / (1 + 1 / math.log2(3)) + 1) / 2
    )
    assert get_metric("ndcg")(y, y, None, two) == 1.0


def test_gain_is_the_parameters():
    y, p = np.float32([2, 0, 1]), np.float32([1, 2, 3])
    linear = Parameters.from_dict({"ndcg_exp_gain": False})
    log3, log2 = 1 / 2, 1 / math.log2(3)
    wanted = (1 + 2 * log3) / (2 + log2)
    assert get_metric("ndcg", linear)(y, p, None, None) == pytest.approx(wanted)
    wanted = (1 + 3 * log3) / (3 + log2)
    assert get_metric("ndcg")(y, p, None, None) == pytest.approx(wanted)


@pytest.mark.parametrize(
    "name", ["ndcg@", "ndcg@0", "ndcg@1.5", "map@-1", "pre@x", "ndcg@3+", "map@1e3"]
)
def test_names_that_are_none(name):
    with pytest.raises(ParameterError, match="expected a whole number from 1 after @"):
        get_metric(name)


def test_labels_that_are_refused():
    p, half = np.zeros(2, np.float32), np.float32([0, 0.5])
    with pytest.raises(DataError, match=r"row 1, .*expected whole numbers 0..31 for ndcg"):
        get_metric("ndcg")(half, p, None, None)
    with pytest.raises(DataError, match="expected 0 or 1 for map"):
        get_metric("map")(half, p, None, None)
    with pytest.raises(DataError, match="expected 0 or 1 for pre"):
        get_metric("pre@3")(half, p, None, None)


def test_which_take_queries():
    assert all(takes_queries(name) for name in NAMES)
    assert not any(takes_queries(name) for name in ("auc", "rmse", "error@0.7"))
