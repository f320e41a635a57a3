"""Trees of gathered columns are those of masked ones, and the codes are those of the columns."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import choose, open_device
from pyopencl_gbdt.device.variants.tuning import Choice, using
from pyopencl_gbdt.growth import recipe
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.primitives import histogram_kernel
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.reference import feature_mask

RNG = np.random.default_rng(11)
X = RNG.standard_normal((700, 41)).astype(np.float32)
X[:, ::3] = np.round(X[:, ::3])
X[RNG.random(X.shape) < 0.1] = np.nan
Y = np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 2]) + RNG.standard_normal(700).astype(np.float32)
WEIGHTS = RNG.random(41).astype(np.float32) + 0.1
FEW = np.digitize(X, [-1, 0, 1]).astype(np.float32)
LEAF_WISE = {"grow_policy": "lossguide", "max_leaves": 12}
#: Data and parameters: codes of one byte, of few values and of two bytes; rows that are drawn.
CASES = {
    "levels": (Dataset(X, Y, feature_weights=WEIGHTS), {"max_bin": 64}),
    "leaf_wise": (Dataset(FEW, Y), {**LEAF_WISE, "colsample_bytree": 0.5}),
    "wide_codes": (
        Dataset(X, Y), {"max_bin": 400, "monotone_constraints": "(1,0,-1)", "subsample": 0.5}
    ),
    "classes": (
        Dataset(X, np.digitize(Y, [-1, 1])),
        {"objective": "multi:softprob", "num_class": 3, "colsample_bytree": 0.3, "max_bin": 64},
    ),
    "forest": (
        Dataset(FEW, Y), {"num_parallel_tree": 4, "subsample": 0.5, "colsample_bynode": 0.7}
    ),
    "levels_and_nodes": (
        Dataset(X, Y, feature_weights=WEIGHTS),
        {"colsample_bytree": 0.4, "colsample_bylevel": 0.6, "colsample_bynode": 0.5, "max_bin": 64},
    ),
    "paths": (
        Dataset(FEW, Y),
        {"colsample_bytree": 0.6, "interaction_constraints": [[*range(20)], [*range(15, 41)]]},
    ),
    "noise": (Dataset(FEW, Y), {"random_strength": 1, "colsample_bynode": 0.5, "max_depth": 3}),
    "random_borders": (Dataset(FEW, Y), {"extra_trees": True, "max_depth": 3}),
    "leaves_limited": (
        Dataset(X, Y > 0, RNG.integers(0, 3, 700)),
        {"objective": "binary:logistic", "max_leaves": 9, "reg_alpha": 0.3, "max_bin": 40},
    ),
}  # fmt: skip


#: Kernels of the device, and those of GPUs.
KERNELS = ["", "gpu"]
#: What GPUs may be, and their histograms, some of which leave a code of each feature out.
OTHERS = {
    ("gpu", "auto"): ["levels", "leaf_wise", "wide_codes", "levels_and_nodes", "leaves_limited"],
    ("baseline", "auto"): ["classes", "wide_codes"],
    ("gpu", "local_atomic"): ["classes", "levels"],
    ("gpu", "private"): ["forest"],
    ("gpu", "bin_range_passes"): ["classes"],
}


@pytest.fixture(autouse=True)
def _by_steps(request, monkeypatch):
    monkeypatch.setattr(recipe, "MOST_WHOLE_ROWS", 0)
    if not getattr(request, "param", ""):
        yield
        return
    monkeypatch.setenv("PYOPENCL_GBDT_PRETEND", request.param)
    monkeypatch.setattr(histogram_kernel, "_LEAST_PAIRED", 0)
    yield


def gathering(percent):
    """Let trees gather their columns if these take at most this share of all histograms."""
    caps = open_device(TEST_DEVICE).caps
    own = choose("gather_columns", caps)
    sizes = {} if own.params["wg_size"] == 1 else {"wg_size": 64, "rows": 3}
    return using({"gather_columns": Choice(own.name, {**own.params, **sizes, "percent": percent})})


def open_fit(data, params):
    p = Parameters.from_dict({"max_depth": 4, "colsample_bytree": 0.2, **params})
    return Fit(open_device(TEST_DEVICE), p, get_objective(p.objective, p), data, 0.0)


@pytest.mark.few(3)
@pytest.mark.more(6)
@pytest.mark.parametrize(
    ("_by_steps", "histogram", "case"),
    [
        *(("", "auto", case) for case in CASES),
        *(
            pytest.param(*kind, case, marks=pytest.mark.thorough)
            for kind, cases in OTHERS.items()
            for case in cases
        ),
    ],
    indirect=["_by_steps"],
)
def test_the_model_is_that_of_masks(device, histogram, case):
    data, params = CASES[case]
    given = {
        "device": TEST_DEVICE, "max_depth": 4, "colsample_bytree": 0.2, "histogram": histogram,
        **params,
    }  # fmt: skip
    with gathering(100):
        gathered = train(given, data, 3)
    with gathering(0):
        masked = train(given, data, 3)
    assert "gather_columns" in gathered.variants
    assert "gather_columns" not in masked.variants
    assert to_xgboost_json(masked.ensemble) == to_xgboost_json(gathered.ensemble)


@pytest.mark.few(3)
@pytest.mark.parametrize("_by_steps", KERNELS, indirect=True)
@pytest.mark.parametrize("max_bin", [64, 400])
@pytest.mark.parametrize("share", [0.03, 0.2, 0.42, 0.7])
def test_codes_are_those_of_the_columns(device, max_bin, share):
    """1, 8, 17 and 28 of 41 columns."""
    params = {"colsample_bytree": share, "max_bin": max_bin, "max_depth": 1}
    with gathering(1000):
        fitting = open_fit(Dataset(X, Y), params)
        fitting.run(2)
    search = fitting.kernels.grower.search
    mask = feature_mask.chosen(fitting.parts.nodes.params, 41, None, (1, 0), 0, 1)
    codes = search.histogram.rows.codes
    rows = np.concatenate(codes.order.blocks(codes.codes.get()), axis=1)
    (page,) = fitting.parts.rows.page_list
    expected = page.codes.by_feature.get()[mask].T
    assert np.array_equal(rows[:, codes.order.places], expected)


@pytest.mark.few(2)
@pytest.mark.parametrize("_by_steps", KERNELS, indirect=True)
@pytest.mark.parametrize(("share", "weighted"), [(0.1, False), (0.9, False), (0.3, True)])
def test_many_columns_are_those_of_the_twin(device, share, weighted):
    """300 columns are more than a group compares with each other."""
    many = np.tile(FEW[:, :30], 10)
    weights = np.float32([1e-30, 1, 1e30] * 100) if weighted else None
    with gathering(100):
        fitting = open_fit(Dataset(many, Y, feature_weights=weights), {"colsample_bytree": share})
        fitting.run(2)
    params = fitting.parts.nodes.params
    mask = feature_mask.chosen(params, 300, weights, (1, 0), 0, 1)
    assert np.array_equal(fitting.parts.arena["drawn_columns"].get()[0], np.flatnonzero(mask))
