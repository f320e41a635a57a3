"""Rows in batches beside several devices, several hosts and folds: the bytes are those of arrays."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, cv, train
from pyopencl_gbdt.callbacks import TrainingCheckPoint
from pyopencl_gbdt.device import selection
from pyopencl_gbdt.model import to_json

from .conftest import TEST_DEVICE
from .test_from_batches import N, PARAMS, cut, rows  # noqa: F401 - a fixture
from .test_hosts import members
from .test_team import TWO, listed

THREE = listed([TEST_DEVICE] * 3, [1, 3, 2])


@pytest.fixture(autouse=True)
def _devices_may_be_named_twice(monkeypatch):
    monkeypatch.setattr(selection, "ALLOWS_TWICE", True)


def text(params, data, **options):
    model = train({**PARAMS, "subsample": 0.7, **params}, data, **options)
    return to_json(model.ensemble), model.history


@pytest.fixture(scope="module")
def alone(rows):  # noqa: F811
    data = Dataset(*rows)
    return text({}, data, evals=[(data, "train")])


@pytest.mark.parametrize("params", [{}, {"page": "streamed"}], ids=["resident", "streamed"])
@pytest.mark.parametrize("devices", [listed(TWO), THREE], ids=["two", "three"])
def test_devices_share_batches(rows, alone, devices, params):  # noqa: F811
    data = Dataset.from_batches(cut(*rows))
    given = {**params, "device": devices}
    assert text(given, data, evals=[(data, "train")]) == alone


def test_hosts_share_batches(rows, alone, tmp_path):  # noqa: F811
    """Three members: one with an array, one with batches of other sizes, one without rows."""
    bounds = [(0, 400), (400, 400), (400, N)]
    test = Dataset.from_batches(cut(*(part[:90] for part in rows)))
    wanted = text({}, Dataset(*rows), evals=[(Dataset(*(p[:90] for p in rows)), "test")])

    def work(team, rank):
        first, end = bounds[rank]
        own = [part[first:end] for part in rows]
        data = None
        if end > first:
            data = Dataset.from_batches(lambda: [tuple(own)]) if rank else Dataset(*own)
        sets = [(data, "train"), (None if rank else test, "test")]
        saver = [TrainingCheckPoint(tmp_path, interval=2)]
        options = {"evals": sets, "callbacks": saver, "communicator": team}
        return text({"page": "streamed"}, data, **options)

    for model, history in members(3, work):
        assert model == alone[0]
        assert history == {**alone[1], **wanted[1]}
