"""``process_type="update"`` of ``compat.xgboost``, beside XGBoost where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt.compat import xgboost as xgb
from tests.compat.xgboost_data import rows, small_integers

REFRESH = {"process_type": "update", "updater": "refresh"}


@pytest.fixture(scope="module")
def theirs():
    return pytest.importorskip("xgboost", "3", reason="needs XGBoost")


def test_trees_of_the_same_rows_keep_their_values():
    matrix = xgb.DMatrix(*small_integers())
    own = xgb.train({"max_depth": 3}, matrix, 3)
    again = xgb.train({"max_depth": 3, **REFRESH}, matrix, 3, xgb_model=own)
    np.testing.assert_allclose(again.predict(matrix), own.predict(matrix), rtol=1e-6)
    for kind in ("gain", "cover"):
        found, wanted = (one.get_score(importance_type=kind) for one in (again, own))
        assert found == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"objective": "binary:logistic", "reg_alpha": 0.5, "reg_lambda": 2},
        {"objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2},
        {"refresh_leaf": 0},
        {"max_delta_step": 0.1, "eta": 0.5},
    ],
)
def test_refreshed_trees_are_those_of_xgboost(theirs, params):
    X, y = rows(200)
    labels = {"binary:logistic": y > 0, "multi:softprob": (y > 0) + (y > 0.5)}
    label = labels.get(params.get("objective"), y)
    raw = xgb.train({"max_depth": 3, **params}, xgb.DMatrix(X, label), 3).save_raw()
    X2, _ = rows(200, seed=5)
    weight = np.arange(200) % 3
    found, wanted = (
        library.train(
            {"max_depth": 3, **REFRESH, **params},
            library.DMatrix(X2, label, weight=weight), 2, xgb_model=raw,
        )
        for library in (xgb, theirs)
    )  # fmt: skip
    assert found.num_boosted_rounds() == wanted.num_boosted_rounds() == 2
    np.testing.assert_allclose(
        found.predict(xgb.DMatrix(X)), wanted.predict(theirs.DMatrix(X)), rtol=1e-4, atol=1e-5
    )
    for kind in ("weight", "cover", "total_gain"):
        own, other = (one.get_score(importance_type=kind) for one in (found, wanted))
        assert own == pytest.approx(other, rel=2e-3, abs=1e-3)


@pytest.mark.parametrize("how", [{"gamma": 2.0}, {"max_depth": 1}, {"gamma": 1e9}])
def test_pruned_trees_are_those_of_xgboost(theirs, how):
    X, y = rows(200)
    raw = xgb.train({"max_depth": 4}, xgb.DMatrix(X, y), 3).save_raw()
    given = {"process_type": "update", "updater": "prune", "max_depth": 4, **how}
    found, wanted = (
        library.train(given, library.DMatrix(X, y), 3, xgb_model=raw) for library in (xgb, theirs)
    )
    assert [tree.count("leaf") for tree in found.get_dump()] == [
        tree.count("leaf") for tree in wanted.get_dump()
    ]
    np.testing.assert_allclose(
        found.predict(xgb.DMatrix(X)), wanted.predict(theirs.DMatrix(X)), rtol=1e-4, atol=1e-5
    )


def test_what_cannot_be_updated():
    matrix = xgb.DMatrix(*rows())
    own = xgb.train({"max_depth": 2}, matrix, 2)
    with pytest.raises(ValueError, match="No more tree left for updating"):
        xgb.train(REFRESH, matrix, 3, xgb_model=own)
    with pytest.raises(ValueError, match="expected a model of booster='gbtree'"):
        xgb.train(REFRESH, matrix, 1)
    with pytest.raises(ValueError, match="expected 'refresh' or 'prune'"):
        xgb.train({**REFRESH, "updater": "sync"}, matrix, 1, xgb_model=own)
