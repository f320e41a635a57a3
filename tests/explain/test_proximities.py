"""Proximities: shares of the trees in which rows meet, of models of all kinds."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import GBDTRandomForestRegressor
from pyopencl_gbdt.errors import DataError, NoDeviceError, ParameterError
from pyopencl_gbdt.explain import proximities
from pyopencl_gbdt.prediction import walk_rows
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.explain.samples import model_of, numbers, rows_of

ON = {"device": TEST_DEVICE}


@pytest.mark.parametrize("kind", ["classes of forests", "sets", "statistics"])
def test_shares_of_the_trees(kind):
    model, rows = model_of(kind), rows_of(kind)
    found = proximities(model, rows[:20], rows, **ON)
    ids = model.predict(rows, pred_leaf=True, **ON)
    assert_same_bits(found, (ids[:20, None] == ids[None]).mean(axis=2, dtype=np.float32))
    assert_same_bits(proximities(model, rows[:20], **ON), found[:, :20])
    assert (np.diagonal(found) == 1).all()


def test_without_a_device_and_of_an_estimator(monkeypatch):
    X = numbers()
    forest = GBDTRandomForestRegressor(n_estimators=9, max_depth=3, **ON).fit(X, X["age"])
    wanted = proximities(forest, X)
    assert 0 < wanted.mean() < 1

    def none(*_):
        raise NoDeviceError("none")

    monkeypatch.setattr(walk_rows, "open_device", none)
    monkeypatch.setattr(walk_rows, "_found", {})
    monkeypatch.setenv("PYOPENCL_GBDT_DEVICE", "")
    assert_same_bits(proximities(forest.model_, X), wanted)


def test_what_is_refused(monkeypatch):
    model, rows = model_of("numbers"), numbers()
    with pytest.raises(DataError, match=r"Y has 3 columns|Y .*expected 'noise'"):
        proximities(model, rows, rows.drop(columns="noise"), **ON)
    with pytest.raises(ParameterError, match="model=str: expected a Model"):
        proximities("model.json", rows)
    empty = copy(model)
    empty.ensemble = replace(model.ensemble, trees=[])
    with pytest.raises(ParameterError, match="model has no trees: expected one or more"):
        proximities(empty, rows, **ON)
    monkeypatch.setattr("pyopencl_gbdt.data.budget.available_memory", lambda: 10**6)
    with pytest.raises(DataError, match=r"proximities of 2200 x 2200 rows take 19.36 MB: .* give"):
        proximities(model, np.tile(rows, (10, 1)), **ON)
