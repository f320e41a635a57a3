"""label_mean: the device's sums give the score before the first tree the host's bits."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.evaluation.label_mean import LabelMean
from pyopencl_gbdt.numerics.portable_math import exact_mean
from pyopencl_gbdt.objectives import OBJECTIVES, Objective, get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training import preparing
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.objectives.samples import label_of
from tests.steps.evaluated import weights_of

WG_SIZES, WG_SIZES_CPU = [1, 32, 64, 256], [1, 64]
KINDS = ["none", "uniform", "whole", "heavy"]
AT_MEAN = sorted(name for name, loss in OBJECTIVES.items() if loss.starts_at_mean)


def mean_of(device, label, weight, wg=0, bits=0):
    prepared = LabelMean(device, label.size, weighted=weight is not None, wg_size=wg)
    own = np.ones(1, np.float32) if weight is None else weight
    return prepared.value(device.upload(label), device.upload(own), bits)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_has_the_hosts_bits(device, rng, wg, kind):
    for n in sorted({1, max(1, wg - 1), wg + 1, 5000}):
        weight = weights_of(rng, n, kind)
        for label in (rng.normal(3, 1, n), rng.integers(0, 2, n), np.exp(rng.normal(0, 9, n))):
            values = label.astype(np.float32)
            wanted = float(exact_mean(values, weight))
            found = mean_of(device, values, weight, wg, bits=0 if weight is None else 40)
            assert found == (wanted or None)  # around 0 the host decides


def test_what_the_device_cannot_decide_is_left_to_the_host(device):
    large, tiny = np.float32([2.0**100, 1.5 * 2.0**20, -(2.0**100)]), np.float32([3e-45, 0])
    assert mean_of(device, large, None) is None  # cut off, and what remains is all
    assert mean_of(device, tiny, None) is None  # subnormal
    assert mean_of(device, np.float32([3e-45, 1]), None) == 0.5


def fit(name, params, label, weight, **more):
    X = np.random.default_rng(0).normal(size=(len(label), 2)).astype(np.float32)
    given = {"objective": name, "device": TEST_DEVICE, "max_depth": 2, **params}
    return train(given, Dataset(X, label, weight), 2, **more).ensemble


def scores(name, params, label, weight, monkeypatch):
    """Return the base scores of the device, and of the host."""
    found = []
    for least in (1, 2**40):
        monkeypatch.setattr(preparing, "LEAST_ROWS", least)
        ensemble = fit(name, params, label, weight)
        found.append((ensemble.base_score, ensemble.base_margin, ensemble.trees[-1].value))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", AT_MEAN)
def test_models_start_as_on_the_host(rng, monkeypatch, name, kind):
    label = label_of(name, rng.normal(size=900), rng)
    weight = weights_of(rng, label.size, kind)
    device, host = scores(name, {}, label, weight, monkeypatch)
    assert_same_bits(np.array(device[:2]), np.array(host[:2]))
    assert_same_bits(device[2], host[2])
    assert host[0] == get_objective(name).starting_score(label, weight)


def test_clipped_weights_are_added_up_on_the_host(rng, monkeypatch):
    label = rng.normal(1, 1, 3000).astype(np.float32)
    for extremes in ([1e30, 1e-30], [1, 1e-38], [3e38, 1]):
        weight = np.full(3000, np.float32(extremes[1]))
        weight[7] = extremes[0]
        device, host = scores("reg:squarederror", {}, label, weight, monkeypatch)
        assert device[0] == host[0]


def test_the_host_sums_labels_if_the_device_is_not_asked(rng, monkeypatch):
    monkeypatch.setattr(preparing, "LEAST_ROWS", 1)
    data = Dataset(np.zeros((4, 1)), rng.normal(size=(4, 2)))
    assert not preparing.sums_labels_on_device(get_objective("reg:squarederror"), data)
    assert len(fit("reg:squarederror", {}, data.label, None).base_score) == 2
    label = np.float32([0, 1, 1, 0])
    assert fit("binary:logistic", {"base_score": 0.25}, label, None).base_score == 0.25


def test_evaluation_sets_and_user_metrics_know_the_start(rng, monkeypatch):
    label = rng.normal(2, 1, 500).astype(np.float32)
    X = rng.normal(size=(500, 2)).astype(np.float32)
    data, other = Dataset(X, label), Dataset(X[:50], label[:50])
    found = []
    for least in (1, 2**40):
        monkeypatch.setattr(preparing, "LEAST_ROWS", least)
        history = train(
            {"device": TEST_DEVICE}, data, 3, evals=[(data, "a"), (other, "b")],
            custom_metric=lambda prediction, rows: ("mean", float(prediction.mean())),
        ).history  # fmt: skip
        found.append(history)
    assert found[0] == found[1]


def test_losses_that_start_at_the_mean_do_not_compute_it_themselves():
    for name in AT_MEAN:
        own = type(OBJECTIVES[name])
        assert own.starting_scores is Objective.starting_scores
        label = np.float32([0.25, 1])
        found = OBJECTIVES[name].starting_score(label, None)
        assert found == OBJECTIVES[name].score_of_mean(0.625)
    params = Parameters.from_dict({"objective": "binary:logistic", "scale_pos_weight": 2})
    assert not get_objective("binary:logistic", params).starts_at_mean
