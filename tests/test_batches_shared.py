"""Rows in batches beside several devices, several hosts and folds: the bytes are those of arrays."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, cv, train
from pyopencl_gbdt.device import selection
from pyopencl_gbdt.model import to_json

from .conftest import TEST_DEVICE
from .test_from_batches import N, PARAMS, cut, rows  # noqa: F401 - a fixture
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
