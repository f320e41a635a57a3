"""Which rows are held out: rare classes, rows of weight 0."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRegressor
from pyopencl_gbdt.errors import DataError, DataWarning
from pyopencl_gbdt.estimators.held_out import HoldOut, NothingHeldOutError
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(4)
X = RNG.standard_normal((300, 3)).astype(np.float32)
Y = (X[:, 0] + RNG.standard_normal(300) / 2).astype(np.float32)
SHALLOW = {"max_depth": 2, "device": TEST_DEVICE}


@pytest.mark.parametrize("seed", range(5))
def test_a_row_of_each_class_is_held_out(seed):
    codes = np.zeros(200)
    codes[[3, 9]] = 1
    codes[[20, 21, 22]] = 2
    codes[4] = 3
    rest, held = HoldOut(0.2, classes=True, seed=seed).divide(Dataset(X[:200], codes))
    assert np.bincount(codes[held].astype(int)).tolist() == [39, 1, 1]
    assert np.bincount(codes[rest].astype(int)).tolist() == [155, 1, 2, 1]


def test_a_rare_class_ends_the_training():
    """Rows of the other class alone are better known in every round."""
    labels, apart = np.arange(200) < 2, X[:200].copy()
    apart[:2, 0] = 6, -6
    fitted = GBDTClassifier(**SHALLOW, learning_rate=0.3).fit(apart, labels)
    assert fitted.n_iter_ < 100


def test_a_metric_without_a_value_ends_nothing():
    labels = np.arange(200) < 1
    fitted = GBDTClassifier(**SHALLOW, eval_metric="auc", learning_rate=0.3)
    with pytest.warns(DataWarning, match="early_stopping: the metric of the rows watched is NaN"):
        fitted.fit(X[:200], labels)
    assert fitted.n_iter_ == 50
    assert fitted.evals_result() == {}
    whole = GBDTClassifier(**SHALLOW, learning_rate=0.3, n_estimators=50).fit(X[:200], labels)
    assert fitted.model_.ensemble.trees == whole.model_.ensemble.trees


def test_rows_of_weight_0_do_not_count():
    weight = np.repeat([1.0, 0.0], [200, 100])
    data = Dataset(X, Y, weight)
    rest, held = HoldOut(0.25, in_time=True).divide(data)
    assert (rest.size, held.tolist()) == (150, list(range(150, 300)))
    rest, held = HoldOut(0.25).divide(data)
    assert (held.size, held.max() < 200, rest.size) == (50, True, 250)
    codes = np.arange(300) % 2
    rest, held = HoldOut(0.25, classes=True).divide(Dataset(X, codes, weight))
    assert np.bincount(codes[held]).tolist() == [25, 25]
    assert held.max() < 200
    with pytest.raises(NothingHeldOutError, match="9 rows are too few"):
        HoldOut(0.25).divide(Dataset(X, Y, np.arange(300) < 9))
    fitted = GBDTRegressor(**SHALLOW, has_time=True).fit(X, Y, sample_weight=weight)
    assert fitted.n_iter_ < 1000


@pytest.mark.parametrize("seed", range(5))
def test_groups_of_weight_0_are_not_held_out(seed):
    groups = np.arange(300) % 5
    data = Dataset(X, Y, groups > 0)
    rest, held = HoldOut(0.2, groups=groups, seed=seed).divide(data)
    assert set(groups[held]).isdisjoint({0, *groups[rest]})
    with pytest.raises(NothingHeldOutError, match="all rows are of one group"):
        HoldOut(0.2, groups=groups).divide(Dataset(X, Y, groups == 3))


@pytest.mark.parametrize(
    "more", [{}, {"preset": "best"}, {"n_estimators": 3}, {"preset": "xgboost"}], ids=str
)
@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1], r"groups of shape \(1,\): expected \(300,\), an entry for each row"),
        (np.arange(900), r"groups of shape \(900,\): expected \(300,\)"),
        (
            ["a", None] * 150,
            r"groups=\['a', None, 'a', .*: expected numbers or texts of one type, none of them",
        ),
        ([0.0, np.nan] * 150, "groups=.*: expected numbers or texts of one type, none of them"),
        ([[1], [1, 2]] * 150, "groups=.*: expected numbers or texts of one type, none of them"),
    ],
)
def test_wrong_groups(groups, message, more):
    with pytest.raises(DataError, match=message):
        GBDTRegressor(**SHALLOW, **more).fit(X, Y, groups=groups)
