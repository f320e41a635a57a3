"""What is measured on a real device."""

from dataclasses import replace

import numpy as np
import pytest

import pyopencl_gbdt.comparison.measure as measuring
from pyopencl_gbdt.comparison import measure, schema
from pyopencl_gbdt.comparison.shapes import SHAPES
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import find
from pyopencl_gbdt.errors import DeviceError
from pyopencl_gbdt.model import to_json, to_xgboost_json
from pyopencl_gbdt.training.train import train
from tests.conftest import TEST_DEVICE

SHAPE = replace(SHAPES["tiny"], n_rows=300, n_features=5, max_depth=3, n_rounds=3)


@pytest.fixture(scope="module")
def device_id():
    return find(TEST_DEVICE).device_id


@pytest.fixture(scope="module")
def rows():
    return SHAPE.make(0)


def test_a_record_is_complete_and_names_the_models_bytes(device_id, rows):
    told = []
    record = measuring.measure(device_id, SHAPE, *rows, bandwidth=1e10, repeats=2, tell=told.append)
    assert record["problem"] == ""
    assert schema._check(record, schema.RESULT, "") == ""
    assert schema._check(record, schema.MEASURED, "") == ""
    assert told == ["first fit", "profiled fit", "fit 1 of 2", "fit 2 of 2", "prediction"]
    model = train(measuring.parameters(SHAPE, device_id), Dataset(*rows), SHAPE.n_rounds)
    assert record["model_digest"] == measuring.digest(to_xgboost_json(model.ensemble).encode())
    margins = model.predict(rows[0], output_margin=True, device=device_id)
    assert record["prediction_digest"] == measuring.digest(margins)
    assert record["variants"] == model.variants
    assert record["repeats_agree"]
    assert len(record["round_ms_runs"]) == 2
    assert record["share_of_copy"] * record["round_ms"] / 1e3 == pytest.approx(
        measuring.floor_bytes(SHAPE) / 1e10
    )


def test_kernels_are_per_round_and_sorted(device_id, rows):
    models = measuring._models(device_id, SHAPE, *(a.reshape(300, -1) for a in rows))
    kernels = measuring.kernel_times(models)
    times = [kernel["ms"] for kernel in kernels]
    assert times == sorted(times, reverse=True)
    assert all(0 < kernel["launches"] <= 2 * SHAPE.max_depth for kernel in kernels)
    # a model twice is still one model a round
    assert measuring.kernel_times(models * 2) == kernels


def test_several_models_share_the_rows(device_id, rows):
    labels = np.stack([rows[1], 1 - rows[1]], axis=1)
    two = replace(SHAPE, n_models=2)
    record = measuring.measure(device_id, two, rows[0], labels, bandwidth=1e10, repeats=1)
    assert record["problem"] == ""
    parts = []
    for k in range(2):
        data = Dataset(rows[0], labels[:, k])
        model = train(measuring.parameters(SHAPE, device_id), data, SHAPE.n_rounds)
        parts.append(to_xgboost_json(model.ensemble).encode())
    assert record["model_digest"] == measuring.digest(*parts)


@pytest.mark.parametrize(
    "way",
    [
        "sparse",
        *(
            pytest.param(way, marks=pytest.mark.thorough)
            for way in ("exact", "sets", "statistics", "symmetric")
        ),
    ],
)
def test_every_trainer_is_measured(device_id, way):
    own = {"symmetric": True} if way == "symmetric" else {"way": way}
    shape = replace(SHAPES["tiny"], n_rows=300, n_features=7, max_depth=2, n_rounds=2, **own)
    shape = replace(shape, missing=0.9 if way == "sparse" else 0.0)
    rows = shape.make(0)
    record = measuring.measure(device_id, shape, *rows, bandwidth=1e10, repeats=1)
    assert (record["problem"], record["repeats_agree"]) == ("", True)
    data = measure.dataset(shape, *rows)
    assert len(data.categories) == (6 if way in ("statistics", "sets") else 0)
    model = train(measure.parameters(shape, device_id), data, 2)
    assert record["model_digest"] == measuring.digest(to_json(model.ensemble).encode())


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (DeviceError("lost\n\nit\nwas\na\nlong story"), "lost\nit\nwas\na"),
        (RuntimeError("clEnqueue failed"), "RuntimeError: clEnqueue failed"),
        (MemoryError(), "MemoryError"),
        (ValueError("x" * 10_000), "ValueError: " + "x" * 588),
    ],
)
def test_a_device_that_fails_leaves_its_reason(device_id, rows, monkeypatch, error, problem):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(measuring, "train", fail)
    record = measuring.measure(device_id, SHAPE, *rows, bandwidth=1e10, repeats=1)
    assert record == {"device": device_id, "shape": "tiny", "problem": problem}


def test_what_is_typed_still_ends_it(device_id, rows, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(measuring, "train", interrupt)
    with pytest.raises(KeyboardInterrupt):
        measuring.measure(device_id, SHAPE, *rows, bandwidth=1e10, repeats=1)


def test_trees_are_compared_by_their_bytes(device_id, rows):
    values, labels = rows[0], rows[1].reshape(-1, 1)
    (one,) = measuring.fit(device_id, SHAPE, values, labels, 2).trees
    (other,) = measuring.fit(device_id, SHAPE, values, labels, 2).trees
    assert measuring.same_trees(one, other)
    assert not measuring.same_trees(one, other[:1])
    changed = replace(other[1], gain=other[1].gain * np.float32(2))
    assert not measuring.same_trees(one, [other[0], changed])


def test_a_copy_has_a_rate(device_id):
    assert 1e8 < measuring.copy_bandwidth(device_id) < 1e14
