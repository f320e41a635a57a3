"""Ordered boosting: the device's model is the twin's, and what it does not work with is refused."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.callbacks import LearningRateScheduler, TrainingCheckPoint
from pyopencl_gbdt.callbacks.base import as_text, from_text
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.errors import MemoryPlanError, ModelFormatError
from pyopencl_gbdt.fit import parts as fit_parts
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from pyopencl_gbdt.training.memory_estimate import estimate_memory
from tests.beside_twin import trained_as_twin
from tests.callbacks.test_checkpoint import DATA, PARAMS, crash, text_of
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.training.test_reference_train import LOGISTIC, SQUARED, check, rows

#: All combinations are ``thorough``, see tests/conftest.py.
ONCE_EACH = True
ORDERED = {"boosting_type": "ordered", "n_estimators": 3, "max_depth": 3, "max_bin": 32}


@pytest.mark.few(1)
@pytest.mark.parametrize("objective", [SQUARED, LOGISTIC, "count:poisson"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("policy", ["depthwise", "symmetric", "lossguide"])
def test_equals_twin(objective, weighted, policy):
    X, score, weight = rows(300, weighted=weighted)
    more = {"max_leaves": 5} if policy == "lossguide" else {}
    params = {"objective": objective, "grow_policy": policy}
    check(X, score, weight, **ORDERED, **params, **more)


@pytest.mark.parametrize("n", [1, 64, 65, 128, 257])
def test_numbers_of_rows(n):
    X, score, _ = rows(n)
    check(X, score, None, **ORDERED, min_child_weight=0)


@pytest.mark.few(2)
@pytest.mark.more(3)
@pytest.mark.parametrize(
    "params",
    [
        {"subsample": 0.5},
        {"subsample": 0.5, "sampling_method": "gradient_based"},
        {"sampling_method": "goss", "learning_rate": 1},
        {"monotone_constraints": [1, 0, 0, -1, 0, 0], "objective": LOGISTIC},
        {"reg_alpha": 0.7, "max_delta_step": 0.2},
        {"has_time": True},
        {"permutation_count": 3},
        {"tree_method": "exact", "max_bin": 256},
        {"tree_method": "approx"},
        {"page": "tiled"},
        {"base_score": 0.25},
    ],
)
def test_parameters(params):
    X, score, weight = rows(200, weighted="base_score" in params)
    check(X, score, weight, **{**ORDERED, **params})


def compare(data, params, **given):
    """Train on both sides; return the device's model."""
    return trained_as_twin(params, data.values, data.label, data.weight, **given)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["classes", "targets", "sets"])
@pytest.mark.parametrize("policy", ["depthwise", "lossguide"])
def test_outputs_and_categories(kind, policy):
    X, score, weight = rows(150, weighted=kind == "classes")
    params = {**ORDERED, "grow_policy": policy, "max_leaves": 6}
    label, given = score, {}
    if kind == "classes":
        label = np.digitize(score, [-0.5, 0.5]).astype(np.float32)
        params |= {"objective": "multi:softprob", "num_class": 3, "subsample": 0.7}
    elif kind == "targets":
        label = np.stack([score, score**2], axis=1)
    else:
        X[:, 0] = np.arange(150) % 5
        given = {"categorical_features": [0]}
    compare(Dataset(X, label, weight, **given), params, **given)


def test_several_batches_and_pages(monkeypatch):
    X, score, _ = rows(150)
    label = np.digitize(score, [-0.5, 0.5]).astype(np.float32)
    data = Dataset(X, label)
    params = {**ORDERED, "objective": "multi:softprob", "num_class": 3, "device": TEST_DEVICE}
    p, whole = Parameters.from_dict(params), train(params, data).ensemble.trees
    objective = get_objective(p.objective, p)
    base = objective.to_margin(objective.starting_scores(label, None))
    start = np.array(base, np.float32)[:, None].repeat(150, 1)
    device = open_device(TEST_DEVICE)
    assert Fit(device, p, objective, data, start, n_pages=3).run(p.n_estimators) == whole
    monkeypatch.setattr(fit_parts, "trees_fit", lambda parts, build: parts.nodes.n_trees == 1)
    one = Fit(device, p, objective, data, start)
    assert len(one.parts.nodes.batches) == 3
    assert one.run(p.n_estimators) == whole
    margins = one.parts.arena["margins"].get()
    assert_same_bits(one.state()["ordered margins"].reshape(3, -1)[:, -150:], margins)


@pytest.mark.parametrize("has_time", [False, True])
def test_statistics_of_categories_and_evaluation_sets(has_time):
    X, score, _ = rows(300)
    X[:, 0] = np.arange(300) * 7 % 40
    params = {
        **ORDERED, "objective": LOGISTIC, "cat_method": "statistics", "device": TEST_DEVICE,
        "has_time": has_time,
    }  # fmt: skip
    label = (score > 0).astype(np.float32)
    data, test = (
        Dataset(X[some], label[some], categorical_features=[0])
        for some in (slice(200), slice(200, None))
    )
    evals = [(data, "train"), (test, "test")]
    model = train(params, data, evals=evals, eval_metric="logloss")
    plain = train({**params, "boosting_type": "plain"}, data)
    assert model.ensemble.trees != plain.ensemble.trees
    p = np.clip(model.predict(test), 1e-7, 1 - 1e-7)
    loss = -np.mean(np.where(test.label > 0, np.log(p), np.log(1 - p)))
    assert model.history["test"]["logloss"][-1] == pytest.approx(loss, rel=1e-5)


def test_memory_is_estimated():
    device, n = open_device(TEST_DEVICE), 10_000
    plain, ordered = (
        estimate_memory(device, Parameters.from_dict({"boosting_type": kind}), n, 5).training_bytes
        for kind in ("plain", "ordered")
    )
    assert 2 * n * 28 < ordered - plain < 2 * n * 40 + 2**20
    device.caps = replace(device.caps, global_bytes=device.allocated_bytes + ordered // 2)
    p = Parameters.from_dict({"boosting_type": "ordered"})
    data, taken = Dataset(np.zeros((n, 5), np.float32), np.zeros(n)), device.allocated_bytes
    with pytest.raises(MemoryPlanError, match="or lower permutation_count, or leave out boosting"):
        Fit(device, p, get_objective(p.objective, p), data, 0.0)
    assert device.allocated_bytes == taken


def test_large_gradients_get_high_words():
    X, score, _ = rows(200)
    score[:3] = [1e30, -3e35, 1e33]
    compare(Dataset(X, score), ORDERED)


def test_a_resumed_training_has_the_same_bytes(tmp_path):
    def schedule():
        return LearningRateScheduler(lambda n: 1 / (n + 1))

    params = {**PARAMS, "boosting_type": "ordered"}
    whole = train(params, DATA, 5, callbacks=[schedule()])
    crash(tmp_path, 3, schedule(), params=params, n_rounds=5)
    assert len(list(tmp_path.iterdir())) == 1
    saver = TrainingCheckPoint(tmp_path, interval=4)
    again = train(params, DATA, 5, callbacks=[saver, schedule()])
    assert text_of(again) == text_of(whole)


@pytest.mark.parametrize(
    ("text", "words"),
    [("AAA", "not base64"), ("AAAA", "3 bytes: expected 8"), ("AADAfwAAgD8=", "finite")],
)
def test_damaged_states_are_refused(text, words):
    with pytest.raises(ModelFormatError, match=words):
        from_text({"a": text}, {"a": 2}, "file")
    with pytest.raises(ModelFormatError, match="expected"):
        from_text({"b": text}, {"a": 2}, "file")
    state = {"a": np.array([1.5, -2], np.float32)}
    assert_same_bits(from_text(as_text(state), {"a": 2}, "file")["a"], state["a"])
