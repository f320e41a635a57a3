"""Behaviour of `compat.lightgbm` beside LightGBM's, where that is installed."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt.compat import lightgbm as lgb
from tests.compat.lightgbm_data import QUIET, THREE, TWO, X, Y


def libraries():
    try:
        import lightgbm
    except ImportError:
        return (lgb,)
    return (lgb, lightgbm)


@pytest.mark.parametrize(("objective", "y"), [("binary", TWO), ("multiclass", THREE)])
def test_predictions_stop_early(objective, y):
    params = {**QUIET, "objective": objective, "num_class": 3 if objective != "binary" else 1}
    found = []
    for lib in libraries():
        booster = lib.train(params, lib.Dataset(X, y), 30)
        whole = booster.predict(X)
        for margin in (1.0, 1.5):
            how = {"pred_early_stop_freq": 5, "pred_early_stop_margin": margin}
            early = booster.predict(X, pred_early_stop=True, **how)
            assert not np.allclose(early, whole)
            found.append(early)
        assert np.allclose(
            booster.predict(X, pred_early_stop=True, pred_early_stop_margin=1e9), whole
        )
    half = len(found) // 2
    if len(libraries()) == 2:
        assert all(np.abs(found[i] - found[half + i]).mean() < 0.02 for i in range(half))


def test_regressions_do_not_stop_early():
    booster = lgb.train(QUIET, lgb.Dataset(X, Y), 12)
    early = booster.predict(X, pred_early_stop=True, pred_early_stop_margin=0.0)
    assert np.array_equal(early, booster.predict(X))


def test_rounds_without_a_split_are_dropped():
    for lib in libraries():
        booster = lib.train({**QUIET, "min_data_in_leaf": 400}, lib.Dataset(X, Y), 5)
        assert booster.num_trees() == booster.current_iteration() == 1
        more = lib.train({**QUIET, "num_leaves": 2}, lib.Dataset(X, Y), 3)
        assert lib.train({**QUIET, "min_data_in_leaf": 400}, lib.Dataset(X, Y), 2,
                         init_model=more).num_trees() == 3  # fmt: skip


def test_a_round_without_a_split_adds_nothing_to_starting_scores():
    data = lgb.Dataset(X, TWO, init_score=np.full(len(X), 0.7))
    booster = lgb.train({**QUIET, "objective": "binary", "min_data_in_leaf": len(X)}, data, 3)
    assert booster.num_trees() == 1
    assert not booster.predict(X, raw_score=True).any()


def test_names_of_columns_have_no_blanks():
    for lib in libraries():
        data = lib.Dataset(X, Y).construct()
        data.set_feature_name([f"a {i}" for i in range(5)])
        assert lib.train(QUIET, data, 1).feature_name() == [f"a_{i}" for i in range(5)]


def test_parameters_of_the_data_set_are_those_of_the_booster():
    for lib in libraries():
        params = {"metric": ["l2"], "bagging_fraction": 0.5, "verbosity": -1}
        booster = lib.Booster(params, lib.Dataset(X, Y, params={"max_bin": 50}))
        assert booster.params == {"max_bin": 50, **params}
        booster.reset_parameter({**params, "bagging_fraction": 0.75})
        assert booster.params == {"max_bin": 50, **params, "bagging_fraction": 0.75}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": "l1"}, "Cannot use regression_l1 objective when fitting linear trees"),
        ({"zero_as_missing": True}, "zero_as_missing must be false when fitting linear trees"),
    ],
)
def test_what_linear_trees_cannot_have(params, message):
    for lib in libraries():
        with pytest.raises(lib.basic.LightGBMError if lib is not lgb else lgb.LightGBMError,
                           match=message):  # fmt: skip
            lib.train({**QUIET, "linear_tree": True, **params}, lib.Dataset(X, Y), 1)


def test_a_column_of_labels_is_told():
    import pandas as pd

    for lib in libraries():
        with pytest.warns(UserWarning, match="column-vector"):
            lib.LGBMRegressor(n_estimators=1, verbose=-1).fit(pd.DataFrame(X), Y.reshape(-1, 1))


def test_parameters_and_tags_of_own_classes():
    for lib in libraries():

        class Own(lib.LGBMClassifier):
            def __init__(self, *, colour="red", **kwargs):
                self.colour = colour
                super().__init__(**kwargs)

        params = {**lib.LGBMClassifier().get_params(), "colour": "red", "eta": 0.5}
        assert Own(eta=0.5).get_params() == params
        tags = Own().__sklearn_tags__()
        assert tags.target_tags.one_d_labels
        assert tags.classifier_tags.multi_class
        assert not tags.classifier_tags.multi_label
