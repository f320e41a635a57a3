"""Bins of columns beside LightGBM's: rows of a bin, bins of each column, forced bins."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pyopencl_gbdt.compat import lightgbm as lgb

DRAW = np.random.default_rng(0)
WIDE = DRAW.normal(size=(800, 1))
ROUND = np.round(DRAW.normal(size=(800, 1)), 1)
GAPS = np.where(DRAW.random((800, 1)) < 0.3, np.nan, WIDE)
POSITIVE = np.abs(DRAW.normal(size=(800, 1))) + 0.1
ZEROS = np.where(DRAW.random((800, 1)) < 0.4, 0.0, DRAW.normal(size=(800, 1)))
SKEWED = np.where(DRAW.random((800, 1)) < 0.5, 3.0, np.round(DRAW.gamma(1, 40, size=(800, 1))))
X = np.hstack([WIDE, ROUND, GAPS, POSITIVE, -POSITIVE, ZEROS, SKEWED])
Y = X[:, 0] + ROUND[:, 0] ** 2 + DRAW.normal(size=800)
PARAMS = [
    {}, {"min_data_in_bin": 1}, {"max_bin": 16}, {"max_bin": 2}, {"max_bin": 63},
    {"min_data_in_bin": 40}, {"max_bin_by_feature": [2, 3, 5, 9, 17, 33, 255]},
]  # fmt: skip


@pytest.mark.parametrize("params", PARAMS)
def test_bins_and_trees_are_those_of_lightgbm(params):
    theirs = pytest.importorskip("lightgbm")
    quiet = {"verbose": -1, "num_threads": 1, "num_leaves": 8, **params}
    data, other = lgb.Dataset(X, Y), theirs.Dataset(X, Y)
    found = lgb.train(quiet, data, 5).predict(X)
    assert np.allclose(found, theirs.train(quiet, other, 5).predict(X), atol=1e-5)
    for column in range(X.shape[1]):  # LightGBM drops a column with one bin
        assert data.feature_num_bin(column) == (other.feature_num_bin(column) or 2)


@pytest.mark.parametrize("most", [2, 6, 40])
def test_bins_are_forced_as_in_lightgbm(most, tmp_path):
    theirs = pytest.importorskip("lightgbm")
    path = tmp_path / "bins.json"
    asked = [{"feature": 0, "bin_upper_bound": [0.3, 0.35, 0.4]},
             {"feature": 5, "bin_upper_bound": [0.0, -0.2]}]  # fmt: skip
    path.write_text(json.dumps(asked))
    params = {"verbose": -1, "num_threads": 1, "max_bin": most, "forcedbins_filename": str(path)}
    data, other = lgb.Dataset(X, Y), theirs.Dataset(X, Y)
    found = lgb.train(params, data, 5).predict(X)
    assert np.allclose(found, theirs.train(params, other, 5).predict(X), atol=1e-5)
    for column in (0, 1, 5):
        assert data.feature_num_bin(column) == other.feature_num_bin(column)


def test_parts_have_the_bins_of_all_rows():
    whole = lgb.Dataset(X, Y).construct()
    part = whole.subset(list(range(0, 800, 8))).construct()
    assert part.feature_num_bin(0) == whole.feature_num_bin(0) > 100
    drawn = lgb.Dataset(X, Y, params={"bin_construct_sample_cnt": 90}).construct()
    assert drawn.feature_num_bin(0) <= 32


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_bin_by_feature": [2, 3]}, r"max_bin_by_feature=\[2, 3\]: expected 7 numbers"),
        ({"max_bin_by_feature": "1,2,2,2,2,2,2"}, "expected 7 numbers of at least 2"),
        ({"forcedbins_filename": "/no/such.json"}, "there is no such file; give the path"),
    ],
)
def test_what_does_not_fit_the_columns(params, message):
    with pytest.raises(lgb.LightGBMError, match=message):
        lgb.train({"verbose": -1, **params}, lgb.Dataset(X, Y), 1)


def test_a_forced_bin_of_another_column_is_refused(tmp_path):
    (tmp_path / "bins.json").write_text('[{"feature": 9, "bin_upper_bound": [1.0]}]')
    params = {"verbose": -1, "forcedbins_filename": tmp_path / "bins.json"}
    with pytest.raises(lgb.LightGBMError, match=r"feature 9: expected 0 \.\. 6; remove"):
        lgb.train(params, lgb.Dataset(X, Y), 1)


def test_tags_of_older_scikit_learn():
    theirs = pytest.importorskip("lightgbm", minversion="4.7")
    for name in ("LGBMModel", "LGBMClassifier", "LGBMRegressor", "LGBMRanker"):
        found, expected = (getattr(lib, name)()._more_tags() for lib in (lgb, theirs))
        assert found["X_types"] == expected["X_types"]
        assert found["allow_nan"]
        # LightGBM trains where every weight is 0; this library says that none counts.
        own = expected["_xfail_checks"].keys() - {"check_all_zero_sample_weights_error"}
        assert found["_xfail_checks"].keys() == own
