"""``TreeObjective.split_grad``: trees split by other gradients than those of their leaves."""

from __future__ import annotations

import numpy as np
import pytest

import pyopencl_gbdt as gbdt
from pyopencl_gbdt.compat import xgboost as xgb
from pyopencl_gbdt.compat.xgboost.objective import GivenGradients, Slot, TreeObjective
from pyopencl_gbdt.errors import ParameterError
from tests.conftest import TEST_DEVICE
from tests.reference.sketch import signs, sketched

RNG = np.random.default_rng(0)
X = RNG.integers(0, 8, (400, 4)).astype(np.float32)
Y = np.stack([X[:, 0], X[:, 0] - X[:, 1], X[:, 2] * X[:, 1]], 1) + RNG.integers(-1, 2, (400, 3))
PARAMS = {"multi_strategy": "multi_output_tree", "max_depth": 3, "base_score": 0.5}
SPLITS = {
    "same": lambda g, h: (g, h),
    "mean": lambda g, h: (g.mean(axis=1), h.mean(axis=1)),
    "two": lambda g, h: (g[:, :2] - g[:, 2:], np.full((len(g), 2), 1.5, np.float32)),
    "none": lambda g, h: None,
}


def squared(base, split):
    """Return an objective; ``split`` tells what a round's trees split by."""

    class Squared(base):
        def __call__(self, iteration, margins, matrix):
            return margins - matrix.get_label().reshape(margins.shape), np.ones_like(margins)

        def split_grad(self, iteration, g, h):
            return split(iteration, g, h)

    return Squared()


@pytest.mark.few(4)
@pytest.mark.parametrize("gamma", [0, 20])
@pytest.mark.parametrize("name", SPLITS)
def test_trees_are_those_of_xgboost(name, gamma):
    theirs = pytest.importorskip("xgboost", "3.2", reason="needs XGBoost 3.2")
    base = pytest.importorskip("xgboost.objective").TreeObjective
    split, params = lambda number, g, h: SPLITS[name](g, h), {**PARAMS, "gamma": gamma}
    own = xgb.train(params, xgb.DMatrix(X, Y), 3, obj=squared(TreeObjective, split))
    given = {**params, "tree_method": "hist"}
    wanted = theirs.train(given, theirs.DMatrix(X, Y), 3, obj=squared(base, split))
    found = own.predict(xgb.DMatrix(X))
    np.testing.assert_allclose(found, wanted.predict(theirs.DMatrix(X)), atol=1e-5)
    plain = xgb.train(params, xgb.DMatrix(X, Y), 3)
    assert (own.save_raw() == plain.save_raw()) == (name in ("same", "none"))


def test_rounds_may_split_by_different_numbers_of_gradients():
    by_round = [SPLITS[name] for name in ("none", "mean", "mean", "two", "none")]
    own = squared(TreeObjective, lambda number, g, h: by_round[number](g, h))
    history = {}
    matrix = xgb.DMatrix(X, Y)
    booster = xgb.train(PARAMS, matrix, 5, obj=own, evals=[(matrix, "a")], evals_result=history,
                        verbose_eval=False)  # fmt: skip
    assert booster.num_boosted_rounds() == len(history["a"]["rmse"]) == 5
    assert (np.diff(history["a"]["rmse"]) < 0).all()


@pytest.mark.parametrize("name", ["mean", "two"])
def test_all_outputs_obey_constraints(name):
    """XGBoost 3.4 refuses constraints here."""
    own = squared(TreeObjective, lambda number, g, h: SPLITS[name](g, h))
    rows = np.repeat(X[None, :60], 8, axis=0)
    rows[:, :, 1] = np.arange(8)[:, None]  # column 1 rises, the others stay
    for constraints, obeys in (({}, False), ({"monotone_constraints": (0, -1)}, True)):
        booster = xgb.train({**PARAMS, **constraints}, xgb.DMatrix(X, Y), 6, obj=own)
        found = booster.predict(xgb.DMatrix(rows.reshape(-1, 4))).reshape(8, 60, 3)
        steps = np.diff(found, axis=0)
        assert (steps < 0).any()
        assert (steps <= 0).all() == obeys


@pytest.mark.parametrize("device", [TEST_DEVICE, f"{TEST_DEVICE}=1,{TEST_DEVICE}=2"])
@pytest.mark.usefixtures("devices_named_twice")
def test_given_sketches_give_the_trees_of_sketches(device):
    """Bit by bit: the sums with random signs, computed by the twin."""
    params = {**PARAMS, "objective": "reg:squarederror", "n_estimators": 3, "device": TEST_DEVICE}
    slot, data = Slot(), gbdt.Dataset(X, Y)
    numbers = iter(range(3))

    def gradients(margins):
        g = margins - data.label
        sums = sketched(g.T, signs(0, next(numbers), 2, 3)).T
        return g, np.ones_like(g), sums, np.ones_like(sums)

    slot.function = gradients
    loss = GivenGradients(custom_name="own", outputs=3, splits=2, slot=slot)
    own = gbdt.train({**params, "objective": loss, "device": device}, data)
    assert own.ensemble.trees == gbdt.train({**params, "sketch": 2}, data).ensemble.trees


def test_what_is_refused():
    own = squared(TreeObjective, lambda number, g, h: SPLITS["mean"](g, h))
    with pytest.raises(ParameterError, match="multi_strategy='one_output_per_tree': expected 'm"):
        xgb.train({}, xgb.DMatrix(X, Y), 1, obj=own)
    with pytest.raises(ParameterError, match="booster='gblinear': expected 'gbtree'"):
        xgb.train({"booster": "gblinear"}, xgb.DMatrix(X, Y), 1, obj=own)
    wrong = squared(TreeObjective, lambda number, g, h: (g[:5], h[:5]))
    with pytest.raises(ValueError, match="shape of the gradient and hessian"):
        xgb.train(PARAMS, xgb.DMatrix(X, Y), 1, obj=wrong)


def test_it_is_refused_on_dask():
    pytest.importorskip("distributed")
    from pyopencl_gbdt.compat.xgboost.team_rounds import TeamGradients

    own = squared(TreeObjective, lambda number, g, h: SPLITS["mean"](g, h))
    team = TeamGradients(custom_name="own", outputs=3, fobj=own)
    with pytest.raises(ParameterError, match="split_grad returned gradients: expected None am"):
        team.checked(np.zeros(1200, np.float32), gbdt.Dataset(X, Y), 0)
