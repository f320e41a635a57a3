"""curve: areas equal the twin's, bit by bit; they are XGBoost's and scikit-learn's."""

import math

import numpy as np
import pytest

from pyopencl_gbdt.evaluation.auc import Curves
from pyopencl_gbdt.metrics import get_metric
from tests.compare import assert_same_bits
from tests.reference.auc import area_words
from tests.steps.evaluated import evaluated, run, weights_of

WG_SIZES, WG_SIZES_CPU = [1, 32, 64, 256], [1, 64]
BOTH = ["auc", "aucpr"]
KINDS = ["none", "uniform", "whole", "heavy"]


def sample(rng, n, ties):
    label = (rng.random(n) < 0.3).astype(np.float32)
    label[:2] = [0, 1][: min(n, 2)]
    prediction = rng.normal(label, 1.0)
    if ties == "many":
        prediction = np.round(prediction)
    elif ties == "all":
        prediction[:] = 0.25
    elif ties == "zeros":
        prediction = np.where(rng.random(n) < 0.5, 0.0, -0.0)
    elif ties == "perfect":
        prediction = label.copy()
    return label, prediction.astype(np.float32)


def check(device, label, prediction, weight, wg=0):
    prepared = Curves(evaluated(device, prediction, label, weight, wg=wg), BOTH)
    words = run(prepared)
    values = prepared.values(words)
    for at, name in enumerate(BOTH):
        if not prepared.areas.undefined:
            assert_same_bits(words[at, :4], area_words(name, prediction, label, weight), name)
        wanted = get_metric(name)(label, prediction, weight)
        assert values[at] == pytest.approx(wanted, rel=1e-6, nan_ok=True), name
    return values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ties", ["few", "many", "all", "zeros", "perfect"])
def test_equals_twin(device, rng, kind, ties):
    label, prediction = sample(rng, 3000, ties)
    values = check(device, label, prediction, weights_of(rng, 3000, kind))
    assert values[0] == 0.5 or ties not in ("all", "zeros")
    assert values == [1.0, 1.0] or ties != "perfect"


@pytest.mark.parametrize("kind", ["none", "uniform"])
def test_sizes(device, rng, wg, kind):
    for n in sorted({2, 3, wg + 1, 4097}):
        for ties in ("few", "many"):
            check(device, *sample(rng, n, ties), weights_of(rng, n, kind), wg)


def test_one_row_and_one_class(device):
    for label in (np.zeros(3, np.float32), np.ones(3, np.float32), np.ones(1, np.float32)):
        prediction = np.arange(label.size, dtype=np.float32)
        assert all(math.isnan(value) for value in check(device, label, prediction, None))
    only = np.float32([0, 0, 1])  # the rows of label 0 weigh nothing
    prediction = np.float32([1, 2, 3])
    assert all(math.isnan(v) for v in check(device, np.float32([0, 0, 1]), prediction, only))


def test_rows_of_no_weight_do_not_count(device, rng):
    label, prediction = sample(rng, 900, "many")
    weight = rng.integers(0, 3, 900).astype(np.float32)
    kept = weight > 0
    all_rows = check(device, label, prediction, weight)
    assert all_rows == check(device, label[kept], prediction[kept], weight[kept])


def test_links_decide_over_ties(device):
    """Probabilities of margins far out are equal, and count one half."""
    label, margin = np.float32([0, 1, 0, 1]), np.float32([60, 70, -60, 80])
    rows = evaluated(device, margin, label, link="p = portable_sigmoid(margin);")
    prepared = Curves(rows, ["auc"])
    assert prepared.values(run(prepared)) == [0.75]


def test_few_positives(device, rng):
    """A share of 1 in 5000: the area is small, and its relative error too."""
    label = (rng.random(50_000) < 2e-4).astype(np.float32)
    prediction = rng.random(50_000).astype(np.float32)
    check(device, label, prediction, None)
    check(device, label, prediction, weights_of(rng, 50_000, "uniform"))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [pytest.param("none", marks=pytest.mark.exhaustive), "uniform"])
def test_a_million_rows(device, rng, kind):
    metrics = pytest.importorskip("sklearn.metrics", reason="needs scikit-learn")
    label, prediction = sample(rng, 1_000_000, "few")
    weight = weights_of(rng, label.size, kind)
    found = check(device, label, prediction, weight)
    theirs = metrics.roc_auc_score(label, prediction, sample_weight=weight)
    assert found[0] == pytest.approx(theirs, rel=1e-9)
