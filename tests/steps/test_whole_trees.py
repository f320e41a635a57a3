"""One launch grows the same trees as launches for each step, however many work-groups share it."""

from functools import cache

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.variants import fallbacks
from pyopencl_gbdt.fit import parts as fit_parts
from pyopencl_gbdt.growth import recipe, round_kernels
from pyopencl_gbdt.growth.whole_trees import WholeTrees
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.reference import feature_mask
from tests.training.test_work import round_launches

SHARED_TREES = True
KERNEL = "whole_trees"


def rows_of(n):
    """Return values, labels, values with gaps, labels with outliers, classes and weights."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 7)).astype(np.float32)
    X[:, 3] = np.round(X[:, 3])
    X[:, 5] = 0
    Y = X[:, 0] * X[:, 1] + X[:, 2] + rng.standard_normal(n).astype(np.float32)
    gaps = np.where(rng.random(X.shape) < 0.2, np.float32(np.nan), X)
    outliers = np.where(np.arange(n) % 350 == 7, Y * np.float32(1e7), Y)
    return X, Y, gaps, outliers, np.digitize(Y, [-1, 1]).astype(np.float32), rng.integers(0, 3, n)


X, Y, GAPS, OUTLIERS, CLASSES, WEIGHT = rows_of(700)
LOGISTIC = {"objective": "binary:logistic"}
WIDE = np.tile(X, 12)[:, :78] + np.arange(78, dtype=np.float32) % 5 * X[:, :1]
SYMMETRIC = {"grow_policy": "symmetric"}
#: As the default preset draws.
DRAWN = {**SYMMETRIC, "random_strength": 1, "subsample": 0.8, "colsample_bylevel": 0.8}
SOFTMAX = {"objective": "multi:softprob", "num_class": 3}

#: Data and parameters: codes of one and of two bytes, high words, several trees at a time.
CASES = {
    "plain": (Dataset(X, Y), {}),
    "gaps": (Dataset(GAPS, Y > 0), {**LOGISTIC, "max_bin": 40, "max_delta_step": 0.3}),
    "wide_codes": (Dataset(GAPS, Y > 0, WEIGHT), {**LOGISTIC, "max_depth": 7, "gamma": 0.1}),
    "high_words": (Dataset(X, OUTLIERS), {"max_depth": 4, "min_child_weight": 5}),
    "classes": (Dataset(X, CLASSES), SOFTMAX),
    "sampled": (Dataset(X, Y), {"subsample": 0.4, "max_depth": 1}),
    "no_split": (Dataset(X, np.ones(700)), {"max_depth": 3}),
    "quantiles": (Dataset(X, Y), {"objective": "reg:absoluteerror", "max_depth": 3}),
    "wide": (Dataset(WIDE, Y), {"max_depth": 3}),
    "columns": (Dataset(WIDE, Y), {"colsample_bytree": 0.1}),
    "columns_and_rows": (
        Dataset(GAPS, Y > 0),
        {**LOGISTIC, "colsample_bytree": 0.5, "subsample": 0.6},
    ),
    "columns_of_classes": (
        Dataset(GAPS, CLASSES, feature_weights=np.arange(1, 8)),
        {**SOFTMAX, "colsample_bytree": 0.5},
    ),
    "symmetric": (Dataset(GAPS, Y > 0), {**SYMMETRIC, **LOGISTIC, "max_delta_step": 0.3}),
    "symmetric_high": (Dataset(X, OUTLIERS), {**SYMMETRIC, "min_child_weight": 5, "gamma": 0.1}),
    "symmetric_counted": (Dataset(GAPS, Y, WEIGHT), {**SYMMETRIC, "min_samples_leaf": 9}),
    "symmetric_columns": (Dataset(WIDE, Y), {**SYMMETRIC, "colsample_bytree": 0.1}),
    "symmetric_drawn": (Dataset(GAPS, Y > 0, WEIGHT), {**DRAWN, **LOGISTIC, "max_bin": 40}),
    "symmetric_stops": (
        Dataset(X, CLASSES),
        {**DRAWN, **SOFTMAX, "gamma": 30, "colsample_bytree": 0.6, "colsample_bynode": 0.8},
    ),
}


def fit(data, params):
    return train({"device": TEST_DEVICE, "n_estimators": 3, **params}, data)


def grown_by_steps(fit, cases, **limits):
    """Return a function that returns a case's model that was grown step by step."""

    @cache
    def of(case):
        with pytest.MonkeyPatch.context() as patch:
            for name, most in limits.items():
                patch.setattr(recipe, name, most)
            model = fit(*cases[case])
        assert "one_launch" not in model.variants.values()
        return to_xgboost_json(model.ensemble)

    return of


@pytest.fixture(scope="module")
def expected():
    return grown_by_steps(fit, CASES, MOST_WHOLE_ROWS=0)


@pytest.fixture(autouse=True)
def _chosen(device):
    if fallbacks(KERNEL, device.caps)[0].name != "one_launch":
        pytest.skip("this device grows trees step by step")


@pytest.mark.few(4)
@pytest.mark.parametrize("case", CASES)
def test_the_model_is_that_of_steps(expected, case):
    model = fit(*CASES[case])
    for kernel in ("histogram", "split", "partition"):
        assert model.variants[kernel] == "one_launch"
    assert to_xgboost_json(model.ensemble) == expected(case)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [9, 64, 65, 300])
def test_columns_are_drawn_as_by_the_twin(device, rng, n, weighted):
    p = Parameters.from_dict({"colsample_bytree": 0.3, "num_parallel_tree": 3})
    weights = rng.exponential(size=n).astype(np.float32) if weighted else None
    data = Dataset(rng.random((20, n)), rng.random(20), feature_weights=weights)
    fitting = Fit(device, p, get_objective(p.objective), data, 0.0)
    fitting.run(1)
    drawn = fitting.parts.arena["drawn_columns"].get()
    masks = [feature_mask.chosen(p, n, weights, (0, tree), 0, 1) for tree in range(3)]
    assert drawn.tolist() == [np.flatnonzero(mask).tolist() for mask in masks]


@pytest.mark.parametrize("groups", [1, 33])
@pytest.mark.parametrize("case", ["gaps", "symmetric_stops"])
def test_any_number_of_groups_grows_the_same(expected, monkeypatch, groups, case):
    monkeypatch.setattr(WholeTrees, "groups", groups)
    assert to_xgboost_json(fit(*CASES[case]).ensemble) == expected(case)


def test_trees_of_some_outputs_at_a_time_are_the_same(expected, monkeypatch):
    wanted = expected("symmetric_stops")
    monkeypatch.setattr(fit_parts, "trees_fit", lambda fit, on_paper: fit.nodes.n_trees <= 2)
    assert to_xgboost_json(fit(*CASES["symmetric_stops"]).ensemble) == wanted


def boosting(**params):
    p = Parameters.from_dict({"max_depth": 6, **params})
    return Fit(open_device(TEST_DEVICE), p, get_objective(p.objective, p), Dataset(X, Y), 0.0)


@pytest.mark.parametrize(("params", "most"), [({}, 7), (SYMMETRIC, 7), (DRAWN, 11)])
def test_a_round_is_few_launches_and_leaves_the_counters_at_0(params, most):
    fitting = boosting(**params)
    assert len(round_launches(fitting)) <= most
    fitting.run(3)
    assert not fitting.parts.arena["counters"].get().any()
    assert not fitting.parts.arena["opened"].get().any()


@pytest.mark.parametrize(
    "params",
    [
        {"max_leaves": 9},
        {**SYMMETRIC, "extra_trees": True}, {**SYMMETRIC, "interaction_constraints": "[[0, 1]]"},
        {"random_strength": 1}, {"colsample_bylevel": 0.5},
        {"monotone_constraints": "(1)"}, {"reg_alpha": 0.5}, {"colsample_bynode": 0.5},
        {"colsample_bytree": 0.5, "colsample_bylevel": 0.5},
        {"colsample_bytree": 0.5, "interaction_constraints": [[0, 1], [2, 3]]},
        {"max_bin": 257}, {"max_bin": 300}, {"tree_method": "exact"}, {"histogram": "cpu"},
        {"num_parallel_tree": 2, "subsample": 0.5}, {"boosting_type": "ordered"},
    ],
)  # fmt: skip
def test_other_fits_take_steps(monkeypatch, params):
    monkeypatch.setattr(round_kernels, "RoundKernels", StoppedError)  # nothing is built
    with pytest.raises(StoppedError) as stopped:
        boosting(**params)
    parts, policy = stopped.value.args[:2]
    assert not recipe.grows_whole(parts.ways.facts, policy)


class StoppedError(Exception):
    """A fit was stopped before its kernels were built; has what ``Steps`` gets."""

    def __new__(cls, *args):
        raise super().__new__(cls, *args)
