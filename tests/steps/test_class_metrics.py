"""Metrics of classes: the twins' words for every work-group size, and XGBoost's numbers."""

import math

import numpy as np
import pytest

from pyopencl_gbdt.evaluation.auc import Curves
from pyopencl_gbdt.evaluation.mean_loss import MeanLoss
from pyopencl_gbdt.metrics import get_metric, row_loss_of
from pyopencl_gbdt.metrics.curves import ClassAreas
from pyopencl_gbdt.objectives.classification import softmax
from tests.compare import assert_same_bits
from tests.device.plausible import MEANS_OF_CLASSES
from tests.reference.auc import area_words
from tests.reference.mean_loss import sum_words
from tests.steps.evaluated import evaluated, run, weights_of

WG_SIZES, WG_SIZES_CPU = [1, 32, 64, 256], [1, 64]
THOROUGH = {"test_sizes": lambda wg, kind: wg > 1 and kind == "none"}
BOTH = ["auc", "aucpr"]


def sample(rng, n, n_classes, *, rounded=False):
    label = rng.integers(0, n_classes, n).astype(np.float32)
    label[:n_classes] = np.arange(min(n, n_classes))
    own = label == np.arange(n_classes)[:, None]
    margins = rng.normal(own, 1.5)
    return label, (np.round(margins) if rounded else margins).astype(np.float32)


def means(device, label, margins, weight, wg=0):
    rows = evaluated(device, margins, label, weight, wg=wg, n_classes=len(margins))
    values = {}
    for name in MEANS_OF_CLASSES:
        loss = row_loss_of(get_metric(name))
        prepared = MeanLoss(rows, loss)
        words = run(prepared)
        twin = sum_words(loss.twin(softmax(margins), label, None), weight)
        assert_same_bits(words[0, :5], twin, name)
        (values[name],) = prepared.values(words)
        wanted = get_metric(name)(label, softmax(margins), weight)
        assert values[name] == pytest.approx(wanted, rel=1e-6, abs=1e-7), name
    return values


def curves(device, label, margins, weight, wg=0):
    rows = evaluated(device, margins, label, weight, wg=wg, n_classes=len(margins))
    prepared = Curves(rows, BOTH)
    words = run(prepared)
    areas = ClassAreas(label, weight, len(margins))
    for name, of_curve in zip(BOTH, np.split(words, 2), strict=True):
        if not areas.undefined:
            twin = [area_words(name, p, (label == k).astype(np.float32), weight)
                    for k, p in enumerate(softmax(margins))]  # fmt: skip
            assert_same_bits(of_curve[:, :4], np.array(twin), name)
    values = dict(zip(BOTH, prepared.values(words), strict=True))
    for name, value in values.items():
        wanted = get_metric(name)(label, softmax(margins), weight)
        assert value == pytest.approx(wanted, rel=1e-6, nan_ok=True), name
    return values


@pytest.mark.parametrize("kind", ["none", "uniform"])
def test_sizes(device, rng, wg, kind):
    for n, n_classes in ((1, 2), (wg + 1, 3), (4097, 5)):
        label, margins = sample(rng, n, n_classes, rounded=n == 4097)
        weight = weights_of(rng, n, kind)
        means(device, label, margins, weight, wg)
        curves(device, label, margins, weight, wg)


def test_margins_far_out(device, rng):
    label, margins = sample(rng, 300, 4)
    margins *= np.exp(rng.normal(0, 4, margins.shape)).astype(np.float32)
    means(device, label, margins, None)
    curves(device, label, margins, weights_of(rng, 300, "heavy"))


def test_the_first_of_equal_classes_counts(device):
    margins = np.float32([[1, 2, 0], [1, 2, 5], [0, 2, 5]])
    assert means(device, np.float32([0, 0, 1]), margins, None)["merror"] == 0
    assert means(device, np.float32([1, 2, 2]), margins, None)["merror"] == 1
    near = np.float32([[0.1], [0.10000001]])  # their probabilities are equal
    assert means(device, np.float32([0]), near, None)["merror"] == 0


def test_a_class_without_rows(device, rng):
    _, margins = sample(rng, 50, 3)
    label = rng.integers(0, 2, 50).astype(np.float32)
    assert all(map(math.isnan, curves(device, label, margins, None).values()))


@pytest.mark.parametrize("kind", ["none", "uniform"])
def test_xgboosts_numbers(device, rng, kind):
    xgboost = pytest.importorskip("xgboost")
    label, margins = sample(rng, 2000, 4)
    weight = weights_of(rng, 2000, kind)
    matrix = xgboost.DMatrix(
        np.zeros((2000, 1)), label, weight=weight, base_margin=np.ascontiguousarray(margins.T)
    )
    found = {**means(device, label, margins, weight), **curves(device, label, margins, weight)}
    for name, value in found.items():
        settings = {"objective": "multi:softprob", "num_class": 4, "eval_metric": name}
        theirs = float(xgboost.Booster(settings, [matrix]).eval(matrix).split(":")[1])
        assert value == pytest.approx(theirs, abs=1e-6), name
