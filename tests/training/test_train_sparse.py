"""Sparse training data: the same model as from a dense matrix with NaN for what is absent."""

import numpy as np
import pytest
import scipy.sparse as sp

from pyopencl_gbdt import (
    Dataset,
    GBDTClassifier,
    GBDTRandomForestRegressor,
    GBDTRanker,
    GBDTRegressor,
    train,
)
from pyopencl_gbdt.callbacks import TrainingCheckPoint
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.split_search import resolved
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(4)
N_ROWS = 120
DENSE = np.round(RNG.normal(size=(N_ROWS, 7)), 1).astype(np.float32)
DENSE[RNG.random(DENSE.shape) < 0.7] = np.nan
DENSE[:5, 2] = 0
#: Zeros of the dense matrix are stored.
SPARSE = sp.coo_array((DENSE[~np.isnan(DENSE)], np.nonzero(~np.isnan(DENSE))), DENSE.shape).tocsc()
Y = np.nan_to_num(DENSE[:, 0]) + np.isnan(DENSE[:, 1]) + RNG.normal(size=N_ROWS) / 4
QID = np.arange(N_ROWS) // 10
SMALL = {"max_depth": 3, "device": TEST_DEVICE}
FEW = {**SMALL, "n_estimators": 3}


def both(make):
    """Return what a function makes of the sparse and of the dense matrix."""
    return make(SPARSE), make(DENSE)


def same_models(one, other):
    assert to_xgboost_json(one.ensemble) == to_xgboost_json(other.ensemble)


def test_models_sets_and_continued_models_are_the_same():
    def fit(X):
        data = Dataset(X, Y, weight=np.arange(N_ROWS) % 3)
        evals = [(data, "train"), (data.slice(np.arange(40)), "part")]
        first = train(SMALL, data, 2, evals=evals)
        return train(SMALL, data, 2, evals=evals, model=first)

    one, other = both(fit)
    same_models(one, other)
    assert one.history == other.history


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("kind", "label", "more"),
    [
        (GBDTRegressor, Y, {}),
        (GBDTClassifier, np.digitize(Y, [0, 1]), {}),
        (GBDTRandomForestRegressor, Y, {}),
        (GBDTRanker, np.digitize(Y, [0, 1]), {"qid": QID}),
    ],
)
def test_estimators_are_the_same(kind, label, more):
    def fit(X):
        fitted = kind(**FEW).fit(X, label, eval_set=None, **more)
        return fitted, fitted.predict(X), fitted.score(X, label, **more)

    (one, predicted, score), (other, wanted, dense_score) = both(fit)
    same_models(one.model_, other.model_)
    assert_same_bits(predicted, wanted)
    assert score == dense_score


def test_warm_start_and_checkpoints(tmp_path):
    def warm(X):
        estimator = GBDTRegressor(**FEW, warm_start=True).fit(X, Y)
        return estimator.set_params(n_estimators=5).fit(X, Y).model_

    one, other = both(warm)
    same_models(one, other)
    for _ in range(2):  # the second training resumes where the first one ended
        saver = TrainingCheckPoint(tmp_path, interval=1)
        resumed = train(SMALL, Dataset(SPARSE, Y), 5, callbacks=[saver])
        same_models(resumed, other)


@pytest.mark.parametrize("method", ["hist", "exact", "approx"])
def test_few_bins_and_weights(method):
    rng = np.random.default_rng(1)
    dense = rng.normal(size=(900, 4)).astype(np.float32)
    dense[rng.random(dense.shape) < 0.3] = np.nan
    dense[:, 3] = rng.integers(0, 5, 900)  # nothing is missing here
    weight = rng.integers(0, 3, 900).astype(np.float32) / 3
    there = ~np.isnan(dense)
    matrix = sp.csr_array((dense[there], np.nonzero(there)), dense.shape)
    bins = {} if method == "exact" else {"max_bin": 19}
    params = {**FEW, "tree_method": method, **bins}
    label = np.nan_to_num(dense[:, 0]) + rng.normal(size=900)
    same_models(*(train(params, Dataset(X, label, weight)) for X in (matrix, dense)))


@pytest.mark.parametrize(
    ("columns", "per_row", "given", "searched"),
    [
        (20_001, 3, {}, "exact"),
        (20_000, 3, {}, "hist"),
        (20_001, 3, {"max_bin": 64}, "hist"),
        (20_001, 3, {"cut_rule": "xgboost"}, "hist"),
        (20_001, 3, {"tree_method": "hist"}, "hist"),
        (20_001, 1100, {}, "hist"),
    ],
)
def test_auto_searches_wide_and_sparse_data_exactly(columns, per_row, given, searched):
    rng = np.random.default_rng(5)
    rows = np.repeat(np.arange(20), per_row)
    places = np.concatenate([rng.choice(columns, per_row, replace=False) for _ in range(20)])
    matrix = sp.csr_array((rng.random(places.size), (rows, places)), (20, columns))
    params = Parameters.from_dict(given)
    assert resolved(params, Dataset(matrix, np.arange(20)).sparse, 1).search == searched
