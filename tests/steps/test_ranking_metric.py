"""ranking_metric: words equal the twin's, bit by bit; values are the host's and XGBoost's."""

import math

import numpy as np
import pytest

from pyopencl_gbdt.evaluation.ranking_metric import RankingMetrics
from pyopencl_gbdt.metrics import get_metric, ranked_of
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.compare import assert_same_bits
from tests.metrics.test_ranking_metrics import NAMES
from tests.reference.ranking_metric import parts, ranked_words
from tests.steps.evaluated import evaluated, run

WG_SIZES, WG_SIZES_CPU = [1, 32, 64, 256], [1, 64]
GRADED = [name for name in NAMES if name.startswith("ndcg")]
BINARY = [name for name in NAMES if name not in GRADED]


def sample(rng, sizes, *, graded, ties=True):
    n = int(np.sum(sizes))
    y = rng.integers(0, 5, n) * (rng.random(n) < 0.4)
    prediction = rng.normal(y / 3, 1.0)
    prediction = np.round(prediction, 1) if ties else prediction
    y = y if graded else y > 1
    return y.astype(np.float32), prediction.astype(np.float32), np.r_[0, np.cumsum(sizes)]


def check(device, names, y, prediction, offsets, of_query=None, wg=0, given=None):
    weight = None if of_query is None else np.repeat(of_query, np.diff(offsets)).astype(np.float32)
    metrics = [get_metric(name, given) for name in names]
    prepared = RankingMetrics(
        evaluated(device, prediction, y, weight, wg=wg), offsets, list(map(ranked_of, metrics))
    )
    words = run(prepared)
    for one, mean, own in zip(prepared.metrics, prepared.means, words, strict=True):
        part = parts(one.family, prediction, y, offsets, one.top, one.exp_gain)
        twin = ranked_words(part, offsets, mean.norms, mean.largest)
        assert_same_bits(own[:4], twin[:4], str(one))
    values = dict(zip(names, prepared.values(words), strict=True))
    for name, metric in zip(names, metrics, strict=True):
        wanted = metric(y, prediction, weight, offsets)
        assert values[name] == pytest.approx(wanted, rel=1e-6, nan_ok=True), name
    return values


@pytest.mark.few(2)
@pytest.mark.parametrize("names", [GRADED, BINARY], ids=["graded", "binary"])
def test_sizes(device, rng, wg, names):
    for sizes in ([1], [wg + 1], [1, 2, 70, wg, 3], rng.integers(1, 40, 100), [3000, 3, 700]):
        data = sample(rng, sizes, graded=names is GRADED)
        check(device, names, *data, None, wg)
        check(device, names, *data, rng.integers(0, 3, len(sizes)) / 2, wg)


@pytest.mark.thorough
def test_a_query_longer_than_local_memory(device, rng):
    check(device, ["ndcg", "ndcg@10"], *sample(rng, [150_000], graded=True, ties=False))
    check(device, ["map", "pre@10"], *sample(rng, [20, 150_000], graded=False, ties=False))


def test_the_best_ranking_has_exactly_one(device, rng):
    for names, graded in ((GRADED, True), (["map", "map@2", "pre@1"], False)):
        y, _, offsets = sample(rng, rng.integers(3, 30, 50), graded=graded)
        y[offsets[:-1]] = 1  # each query has a relevant row
        values = check(device, names, y, y, offsets, rng.uniform(0, 2, 50))
        assert set(values.values()) == {1.0}
    values = check(device, ["ndcg", "pre"], np.ones_like(y), -y, offsets)
    assert set(values.values()) == {1.0}


def test_gains(device, rng):
    linear = Parameters.from_dict({"ndcg_exp_gain": False})
    data = sample(rng, [30, 40, 50], graded=True)
    check(device, ["ndcg", "ndcg@3-"], *data, given=linear)
    y = np.float32([31, 30, 25, 0, 1])
    check(device, ["ndcg", "ndcg@2"], y, np.float32([0, 2, 1, 4, 3]), np.array([0, 5]))


def test_queries_without_a_relevant_row_and_without_weight(device):
    y, offsets = np.zeros(5, np.float32), np.array([0, 2, 5])
    names = ["map", "map-", "pre"]
    assert list(check(device, names, y, y, offsets, [2, 0]).values()) == [1, 0, 0]
    y[3] = 1
    assert check(device, ["ndcg-"], y, -y, offsets, [1, 0]) == {"ndcg-": 0}
    values = check(device, ["ndcg", "map"], y, y, offsets, [0, 0])
    assert all(map(math.isnan, values.values()))


def test_zeros_are_ties(device):
    y, prediction = np.float32([0, 1]), np.float32([-0.0, 0.0])
    assert check(device, ["map"], y, prediction, np.array([0, 2])) == {"map": 0.5}
