"""Ranking: kernels and twin bit by bit, gradients by brute force, trees and files as XGBoost's."""

import json
import math
from itertools import combinations, pairwise

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, Model, cv, train
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.objectives.query_tables import query_tables
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.conftest import TEST_DEVICE
from tests.reference.host_gradients import host_gradients
from tests.reference.train import train_reference

NAMES = ("rank:ndcg", "rank:map", "rank:pairwise")
MEAN = {"lambdarank_pair_method": "mean"}
UNBIASED = {"lambdarank_unbiased": True}
#: Every branch of the kernels.
OPTIONS = [
    {},
    {"lambdarank_num_pair_per_sample": 3},
    {**MEAN, "lambdarank_num_pair_per_sample": 2, "random_state": 5},
    UNBIASED,
    {**UNBIASED, **MEAN, "lambdarank_bias_norm": 0.0, "ndcg_exp_gain": False},
    {"lambdarank_normalization": False, "lambdarank_score_normalization": False},
]

#: The defaults, pairs drawn at random, and the biases of positions: for losses other than NDCG.
FEW = (OPTIONS[0], OPTIONS[2], OPTIONS[4])
THOROUGH = {
    "test_every_work_group_size_is_the_twin": lambda name, options, sizes: (
        sizes != (0, 32) or (name != "rank:ndcg" and options != FEW[1])
    ),
    "test_same_predictions_as_xgboost": lambda name, options, weighted: (
        weighted != (options == UNBIASED)
    ),
    "test_files_go_both_ways": lambda name, options: name != "rank:ndcg" and options not in FEW,
}


def drawn(name, seed=0, sizes=None, columns=5):
    """Return X of few values, labels and sizes of queries."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 30, 25) if sizes is None else np.asarray(sizes)
    n = int(sizes.sum())
    X = rng.integers(0, 9, (n, columns)).astype(np.float32)
    y = np.clip(np.rint(X[:, 0] / 3 + X[:, 1] / 6 + rng.normal(0, 0.7, n)), 0, 4)
    y[: sizes[0]] = 0  # a query without anything relevant
    return X, (y > 2).astype(np.float32) if name == "rank:map" else y, sizes


def id_of(options):
    return "-".join(str(value) for value in options.values()) or "defaults"


@pytest.mark.few(2)
@pytest.mark.more(2)
@pytest.mark.parametrize("sizes", [(0, 32), (1, 256)])
@pytest.mark.parametrize("options", OPTIONS, ids=id_of)
@pytest.mark.parametrize("name", NAMES)
def test_every_work_group_size_is_the_twin(name, options, sizes):
    X, y, queries = drawn(name, sizes=[7, 1, 2, 300, 33, 16, 17, 64, 5])
    weight = np.arange(1, 10, dtype=np.float32)
    given = {"objective": name, "n_estimators": 3, "max_depth": 3, **options}
    data = Dataset(X, y, weight, group=queries)
    wanted = train_reference(
        Parameters.from_dict(given), data.values, data.label, data.weight, group=queries
    )
    assert wanted.trees[-1].n_nodes > 3
    for size in sizes:
        fitted = train({**given, "device": TEST_DEVICE, "work_group_size": size}, data)
        assert fitted.ensemble == wanted, f"work_group_size={size}"


def brute_force(name, margin, label, k):
    """Lambdas of one query in float64, from the metric itself: all of it is computed anew."""
    n = margin.size
    order = np.argsort(-margin, kind="stable")
    discount = 1 / np.log2(np.arange(n) + 2)
    most = (np.sort(2.0**label - 1)[::-1] * discount)[:k].sum()

    def value(ranked):
        if name == "rank:ndcg":
            return ((2.0 ** label[ranked] - 1) * discount).sum() / most if most else 0.0
        hit = label[ranked]
        return (hit * np.cumsum(hit) / np.arange(1, n + 1)).sum() / max(1, hit.sum())

    g, h = np.zeros(n), np.zeros(n)
    for a, b in combinations(range(n), 2):
        if a >= k or label[order[a]] == label[order[b]]:
            continue
        swapped = order.copy()
        swapped[[a, b]] = order[[b, a]]
        delta = 1.0 if name == "rank:pairwise" else abs(value(order) - value(swapped))
        high, low = order[a], order[b]
        if label[high] < label[low]:
            high, low = low, high
        d = float(margin[high]) - float(margin[low])
        p = 1 / (1 + math.exp(d))
        delta /= abs(d) + 0.01
        g[high] -= p * delta
        g[low] += p * delta
        h[[high, low]] += 2 * p * (1 - p) * delta
    return g, h


@pytest.mark.parametrize("k", [2, 32])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_what_swaps_change(name, k):
    X, y, sizes = drawn(name, seed=3)
    data = Dataset(X, y, group=sizes)
    params = {"lambdarank_num_pair_per_sample": k, "lambdarank_normalization": 0}
    margins = np.random.default_rng(1).normal(0, 1, y.size).astype(np.float32)
    g, h = host_gradients(get_objective(name, params), data)(0, margins[None])
    for begin, end in pairwise(data.group_offsets):
        rows = slice(begin, end)
        wanted = brute_force(name, margins[rows], data.label[rows], k)
        np.testing.assert_allclose(g[0, rows], wanted[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(h[0, rows], wanted[1], rtol=1e-4, atol=1e-5)
        assert abs(g[0, rows].sum()) < 1e-4  # the lambdas of a pair cancel


@pytest.mark.parametrize("name", NAMES)
def test_finite_for_far_margins_and_odd_queries(name):
    margins = np.float32([3e38, -3e38, 0, 1e-45, -1e-45, 1e30, 5, 5, 5, 1])
    label = np.float32([0, 1, 1, 0, 1, 0, 0, 1, 0, 1])
    for options in OPTIONS:
        loss = get_objective(name, Parameters.from_dict({"objective": name, **options}))
        with np.errstate(over="ignore", invalid="ignore"):
            gradients = host_gradients(loss, Dataset(label[:, None], label, group=[6, 3, 1]))
            for number in range(3):
                g, h = gradients(number, margins[None])
                assert np.isfinite(g).all()
                assert np.isfinite(h).all()
                assert (h >= 0).all()
                assert g[0, 9] == h[0, 9] == 0  # nothing to compare it with


def test_drawn_partners_have_other_labels_and_every_one_comes_up():
    X, y, sizes = drawn("rank:ndcg", seed=2, sizes=[40])
    params = Parameters.from_dict(
        {"objective": "rank:ndcg", **MEAN, "lambdarank_num_pair_per_sample": 50}
    )
    y = np.arange(40) % 4
    gradients = host_gradients(get_objective("rank:ndcg", params), Dataset(X, y, group=sizes), 7)
    found = [gradients._draw(number, slice(0, 40)) for number in range(8)]
    assert not np.array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], gradients._draw(0, slice(0, 40)))
    drawn_rows = np.concatenate(found)
    assert (y[drawn_rows] != y).all()
    for row in range(40):
        counts = np.bincount(drawn_rows[:, row], minlength=40)[y != y[row]]
        assert counts.min() > 0
        assert counts.std() < 2.5 * math.sqrt(counts.mean())


@pytest.mark.few(3)
@pytest.mark.more(5)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", [o for o in OPTIONS if MEAN.items() - o.items()], ids=id_of)
@pytest.mark.parametrize("name", NAMES)
def test_same_predictions_as_xgboost(name, options, weighted):
    xgboost = pytest.importorskip("xgboost")
    X, y, sizes = drawn(name, seed=4)
    weight = np.random.default_rng(5).uniform(0.5, 3, sizes.size) if weighted else None
    params = {"objective": name, "max_depth": 4, **options}
    matrix, log = xgboost.DMatrix(X, y, weight=weight, group=sizes), {}
    theirs = xgboost.train(
        {**params, "tree_method": "hist", "nthread": 1}, matrix, 5, evals=[(matrix, "a")],
        evals_result=log, verbose_eval=False,
    )  # fmt: skip
    data = Dataset(X, y, weight, group=sizes)
    ours = train({**params, "device": TEST_DEVICE}, data, 5, evals=[(data, "a")])
    predicted = ours.predict(X, device=TEST_DEVICE)
    same = np.abs(predicted - theirs.predict(matrix)) < 2e-5
    assert same.mean() > 0.99  # a split between two equally good ones may be the other one
    assert ours.history["a"].keys() == log["a"].keys()
    for metric, values in log["a"].items():
        near = 1e-6 if same.all() else 0.01
        np.testing.assert_allclose(ours.history["a"][metric], values, atol=near)
    start = json.loads(theirs.save_raw("json"))["learner"]["learner_model_param"]["base_score"]
    assert ours.ensemble.base_score == 0.0 == pytest.approx(float(start.strip("[]")), abs=1e-6)
    if "lambdarank_unbiased" in options:
        saved = json.loads(theirs.save_raw("json"))["learner"]["objective"]
        twin = host_gradients(get_objective(name, Parameters.from_dict(params)), data)
        for number in range(5):
            margins = np.zeros(y.size, np.float32) if number == 0 else ours.predict(
                X, iteration_range=(0, number), device=TEST_DEVICE
            )  # fmt: skip
            twin(number, margins[None])
        for side, key in enumerate(("ti+", "tj-")):
            bias = np.array(saved[key])[: twin.inverse.shape[1]]
            here = bias > 0
            np.testing.assert_array_equal(twin.inverse[side] > 0, here)
            np.testing.assert_allclose(1 / twin.inverse[side][here], bias[here], rtol=1e-4)


@pytest.mark.parametrize("options", OPTIONS, ids=id_of)
@pytest.mark.parametrize("name", NAMES)
def test_files_go_both_ways(name, options, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    X, y, sizes = drawn(name, seed=6)
    params = {"objective": name, "max_depth": 3, **options}
    ours = train({**params, "device": TEST_DEVICE}, Dataset(X, y, group=sizes), 3)
    ours.save_model(tmp_path / "ours.json")
    booster = xgboost.Booster(model_file=tmp_path / "ours.json")
    predicted = ours.predict(X, device=TEST_DEVICE)
    np.testing.assert_allclose(predicted, booster.predict(xgboost.DMatrix(X)), atol=3e-6)
    assert Model.load_model(tmp_path / "ours.json").ensemble == ours.ensemble
    matrix = xgboost.DMatrix(X, y, group=sizes)
    theirs = xgboost.train(params, matrix, 3)
    theirs.save_model(tmp_path / "theirs.json")
    read = Model.load_model(tmp_path / "theirs.json")
    assert read.objective == ours.objective
    np.testing.assert_allclose(
        read.predict(X, device=TEST_DEVICE), theirs.predict(matrix), atol=3e-6
    )
    mine, other = (
        json.loads(bytes(b.save_raw("json")))["learner"]["objective"] for b in (booster, theirs)
    )
    for key in ("ti+", "tj-"):  # an estimate of a fit, which our file does not hold
        assert mine.pop(key, None) in (None, [])
        other.pop(key, None)
    assert mine == other


@pytest.mark.parametrize("options", [{}, {**MEAN, "random_state": 3}], ids=id_of)
def test_ten_rounds_and_ten_more_are_twenty(options):
    X, y, sizes = drawn("rank:ndcg", seed=7)
    data = Dataset(X, y, group=sizes)
    params = {"objective": "rank:ndcg", "device": TEST_DEVICE, "max_depth": 3, **options}
    first = train(params, data, 4)
    assert train(params, data, 3, model=first).ensemble == train(params, data, 7).ensemble
    assert train({**params, "random_state": 4}, data, 4).ensemble == first.ensemble or options
    biased = {**params, **UNBIASED}
    first = train(biased, data, 1)
    with pytest.raises(ParameterError, match="lambdarank_unbiased=True: trees cannot be added"):
        train(biased, data, 1, model=first)


def test_weights_are_of_queries():
    X, y, sizes = drawn("rank:ndcg", seed=8)
    params = {"objective": "rank:ndcg", "device": TEST_DEVICE, "max_depth": 3, "n_estimators": 3}
    weight = np.where(np.arange(sizes.size) % 3, 2.0, 0.0)
    fitted = train(params, Dataset(X, y, weight, group=sizes)).ensemble
    for same in (np.repeat(weight, sizes), 4 * weight):  # their mean does not matter
        assert train(params, Dataset(X, y, same, group=sizes)).ensemble == fitted
    y[np.repeat(weight == 0, sizes)] = 3  # nor do queries of weight 0
    assert train(params, Dataset(X, y, weight, group=sizes)).ensemble == fitted
    assert train(params, Dataset(X, y, group=sizes)).ensemble != fitted


def test_cv_keeps_queries_whole():
    xgboost = pytest.importorskip("xgboost")
    X, y, sizes = drawn("rank:ndcg", seed=9)
    params = {"objective": "rank:ndcg", "max_depth": 3}
    ours = cv({**params, "device": TEST_DEVICE}, Dataset(X, y, group=sizes), 3, as_pandas=False)
    theirs = xgboost.cv(params, xgboost.DMatrix(X, y, group=sizes), 3, as_pandas=False)
    assert ours.keys() == theirs.keys()
    for key, values in theirs.items():
        np.testing.assert_allclose(ours[key], values, atol=1e-5)
    with pytest.raises(ParameterError, match="stratified=True: expected False where rows belong"):
        cv(params, Dataset(X, y, group=sizes), stratified=True)
    with pytest.raises(ParameterError, match=r"nfold=26: expected 2..25, the queries"):
        cv(params, Dataset(X, y, group=sizes), nfold=26)


def test_refusals():
    X, y, sizes = drawn("rank:ndcg")
    params = {"objective": "rank:ndcg", "device": TEST_DEVICE}
    data = Dataset(X, y, group=sizes)
    with pytest.raises(DataError, match=r"ranks the rows of each query: expected qid= or group="):
        train(params, Dataset(X, y), 1)
    with pytest.raises(DataError, match="expected qid= or group="):
        train(params, data, 1, evals=[(Dataset(X, y), "a")])
    for wrong in (1.5, 32):
        y[5] = wrong
        with pytest.raises(DataError, match=r"row 5, .* whole numbers 0..31"):
            train(params, Dataset(X, y, group=sizes), 1)
    train({**params, "ndcg_exp_gain": False}, Dataset(X, y, group=sizes), 1)
    y[5] = -1
    with pytest.raises(DataError, match="expected label >= 0 for objective='rank:ndcg'"):
        train({**params, "ndcg_exp_gain": False}, Dataset(X, y, group=sizes), 1)
    with pytest.raises(DataError, match="expected 0 or 1 for objective='rank:map'"):
        train({**params, "objective": "rank:map"}, data, 1)
    with pytest.raises(ParameterError, match=r"fits a 0 or 1 for each row, .*try 'ndcg@32'"):
        train(params, data, 1, evals=[(data, "a")], eval_metric="map@3")
    for given, message in (
        ({"lambdarank_pair_method": "max"}, "expected 'topk' or 'mean'"),
        ({"lambdarank_num_pair_per_sample": 0}, r"=0: expected 1..16777216; raise"),
        ({"lambdarank_unbiased": 2}, "lambdarank_unbiased=2: expected True or False"),
        ({"ndcg_exp_gain": "yes"}, "ndcg_exp_gain='yes': expected True or False"),
    ):
        with pytest.raises(ParameterError, match=message):
            train({**params, **given}, data, 1)


def test_tables_by_hand():
    label = np.float32([0, 3, 1, 3, 2, 2])
    data = Dataset(label[:, None], label, [1.0, 3.0], group=[4, 2])
    t = query_tables(get_objective("rank:ndcg"), data)
    assert t.by_label.tolist() == [1, 3, 2, 0, 0, 1]
    assert t.bucket_begin.tolist() == [3, 0, 2, 0, 0, 0]
    assert t.bucket_end.tolist() == [4, 2, 3, 2, 2, 2]
    discount = 1 / np.log2([2, 3, 4, 5])
    np.testing.assert_allclose(t.discount, discount, rtol=3e-7)
    ideal = 7 * discount[0] + 7 * discount[1] + discount[2]
    np.testing.assert_allclose(t.gain[:4], np.array([0, 7, 1, 7]) / ideal, rtol=1e-6)
    assert t.factor == np.float32(2 / 4)
    assert t.longest == 4
