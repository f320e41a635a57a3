"""One launch grows the same trees leaf by leaf as launches for each split."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.variants import fallbacks
from pyopencl_gbdt.growth.whole_best_first import WholeBestFirst
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.steps.test_whole_trees import LOGISTIC, boosting, grown_by_steps, rows_of
from tests.training.test_work import round_launches

SHARED_TREES = True
N = 3000
X, Y, GAPS, OUTLIERS, CLASSES, WEIGHT = rows_of(N)

#: Data and parameters: nodes of many and of few rows, codes of one and of two bytes, high words,
#: trees that end early, several trees at a time.
CASES = {
    "plain": (Dataset(X, Y), {"max_leaves": 60, "max_bin": 255}),
    "gaps": (Dataset(GAPS, Y > 0), {**LOGISTIC, "max_leaves": 90, "max_delta_step": 0.3}),
    "depth": (
        Dataset(GAPS, Y > 0, WEIGHT),
        {**LOGISTIC, "max_leaves": 60, "max_depth": 6, "min_child_weight": 9, "gamma": 2},
    ),
    "high_words": (Dataset(X, OUTLIERS), {"max_leaves": 30, "reg_lambda": 3}),
    "classes": (Dataset(X, CLASSES), {"objective": "multi:softprob", "num_class": 3}),
    "sampled": (Dataset(X, Y), {"subsample": 0.3, "max_leaves": 90, "min_child_weight": 0}),
    "few_rows": (Dataset(X[:90], Y[:90]), {"max_leaves": 30, "min_data_in_leaf": 3}),
    "no_split": (Dataset(X, np.ones(N)), {}),
}  # fmt: skip


def fit(data, params):
    given = {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": 20, **params}
    return train({"device": TEST_DEVICE, "n_estimators": 2, **given}, data)


@pytest.fixture(scope="module")
def expected():
    return grown_by_steps(fit, CASES, MOST_BEST_FIRST_ROWS=0, MOST_ROWS_A_LEAF=0)


@pytest.fixture(autouse=True)
def _chosen(device):
    if fallbacks("whole_trees", device.caps)[0].name != "one_launch":
        pytest.skip("this device grows trees step by step")


@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES)
def test_the_model_is_that_of_steps(expected, case):
    model = fit(*CASES[case])
    for kernel in ("histogram", "split", "partition"):
        assert model.variants[kernel] == "one_launch"
    assert to_xgboost_json(model.ensemble) == expected(case)


@pytest.mark.few(1)
@pytest.mark.parametrize("groups", [1, 33])
def test_any_number_of_groups_grows_the_same(expected, monkeypatch, groups):
    monkeypatch.setattr(WholeBestFirst, "groups", groups)
    assert to_xgboost_json(fit(*CASES["gaps"]).ensemble) == expected("gaps")


def test_a_task_adds_to_its_own_cells_alone(monkeypatch):
    """A row's codes are read 4, 8 or 16 at a time; 20 features and one unit are 10 a task."""
    asked = Arena.array

    def with_one_more(self, name, shape, dtype, contents=None):
        if name == "scratch":
            shape, contents = (shape[0] + 1, *shape[1:]), np.full((2, *shape[1:]), 7)
        return asked(self, name, shape, dtype, contents)

    monkeypatch.setattr(Arena, "array", with_one_more)
    monkeypatch.setattr(WholeBestFirst, "groups", 1)
    opened = open_device(TEST_DEVICE)
    opened.caps = replace(opened.caps, compute_units=1)
    p = Parameters.from_dict({"grow_policy": "lossguide", "max_depth": 0, "max_leaves": 20})
    rows = Dataset(X[:600].repeat(3, axis=1)[:, :20], Y[:600])
    fitting = Fit(opened, p, get_objective(p.objective, p), rows, 0.0)
    assert isinstance(fitting.kernels.grower, WholeBestFirst)
    fitting.run(1)
    scratch = fitting.parts.arena["scratch"].get()
    assert not (scratch[0] == 7).all()
    assert (scratch[1] == 7).all()


@pytest.mark.thorough
@pytest.mark.few(1)
@pytest.mark.parametrize("rows", [pytest.param(30, marks=pytest.mark.exhaustive), 1, 1000])
def test_any_numbers_of_rows_grow_the_same(expected, monkeypatch, rows):
    """Of a chunk, of few ones, of those that are copied together, and that several groups add."""
    for name in ("FEW_ROWS", "_CHUNK", "_STAGED", "_ADDED_ROWS"):
        monkeypatch.setattr(f"pyopencl_gbdt.growth.whole_best_first.{name}", rows)
    assert to_xgboost_json(fit(*CASES["gaps"]).ensemble) == expected("gaps")


def test_a_round_is_seven_launches_and_leaves_the_counters_at_0():
    fitting = boosting(grow_policy="lossguide", max_leaves=31)
    assert len(round_launches(fitting)) <= 7
    fitting.run(3)
    assert not fitting.parts.arena["counters"].get().any()
    assert not fitting.parts.arena["opened"].get().any()


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "params",
    [
        {"reg_alpha": 0.5}, {"colsample_bytree": 0.5}, {"monotone_constraints": "(1)"},
        {"max_bin": 300}, {"linear_tree": True}, {"extra_trees": True},
    ],
)  # fmt: skip
def test_other_fits_take_steps(params):
    fitting = boosting(grow_policy="lossguide", max_leaves=9, **params)
    assert fitting.kernels.recipe.whole is None
