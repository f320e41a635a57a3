"""Columns that share a code have the histograms, and the trees, of their own codes."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.switches import JOINT_CODES, asked
from pyopencl_gbdt.device.variants import fallbacks
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.growth import joint_columns, whole_trees
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages.joint_columns import MOST_CELLS, join_columns
from pyopencl_gbdt.pages.page import Layout, even_layout
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.reference import joint_columns as twin
from tests.reference.histogram import histogram

RNG = np.random.default_rng(33)
N = 700
#: Indicators, small integers, numbers, and a constant; without and with missing values.
X = np.column_stack([
    RNG.integers(0, 2, (N, 9)), RNG.integers(0, 5, (N, 7)), RNG.standard_normal((N, 3)),
    RNG.integers(0, 11, (N, 2)), np.ones(N),
])[:, RNG.permutation(22)].astype(np.float32)  # fmt: skip
GAPS = np.where(RNG.random(X.shape) < 0.1, np.float32(np.nan), X)
#: Every column twice, so that splits have equal scores.
TWINS = np.hstack([X, X[:, ::-1]])
Y = (X @ RNG.standard_normal(22) + RNG.standard_normal(N)).astype(np.float32)
OUTLIERS = np.where(np.arange(N) % 350 == 7, Y * np.float32(1e7), Y)
WEIGHT = RNG.integers(0, 3, N)
LOGISTIC = {"objective": "binary:logistic"}
SOFTMAX = {"objective": "multi:softprob", "num_class": 3}
CASES = {
    "plain": (Dataset(X, Y), {"max_bin": 64}),
    "gaps": (Dataset(GAPS, Y > 0), {**LOGISTIC, "max_delta_step": 0.3}),
    "weights": (Dataset(GAPS, Y > 0, WEIGHT), {**LOGISTIC, "gamma": 0.1, "min_samples_leaf": 9}),
    "equal_scores": (Dataset(TWINS, Y), {"max_bin": 32, "max_depth": 6}),
    "high_words": (Dataset(X, OUTLIERS), {"min_child_weight": 5}),
    "classes": (Dataset(GAPS, np.digitize(Y, [-1, 1])), SOFTMAX),
    "sampled": (Dataset(X, Y), {"subsample": 0.4}),
    "drawn": (Dataset(GAPS, Y), {"colsample_bytree": 0.6, "max_bin": 64}),
    "drawn_of_classes": (
        Dataset(TWINS, np.digitize(Y, [-1, 1])),
        {**SOFTMAX, "colsample_bytree": 0.2, "num_parallel_tree": 2},
    ),
}


def layout_of(sizes):
    offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
    zeros = np.zeros(len(sizes), np.uint32)
    return Layout(np.array(sizes, np.uint32), offset, np.zeros(offset[-1], np.float32), zeros)


@pytest.mark.parametrize(
    ("sizes", "n_places", "n_joint"),
    [
        ([5] * 600, 200, 200), ([2] * 44 + [256] * 10, 16, 6), ([6] * 4, 2, 1), ([257, 2, 2], 2, 1),
        ([200, 2, 1], 2, 1), ([17, 16], 2, 0), ([16, 2, 16, 128], 2, 2), ([300], 1, 0),
        ([1, 1, 1], 1, 1), ([256, 1], 1, 1), ([256, 256], 2, 0),
    ],
)  # fmt: skip
def test_columns_join_as_long_as_a_byte_has_room(sizes, n_places, n_joint):
    joined = join_columns(layout_of(sizes))
    assert (joined.n_places, joined.n_joint) == (n_places, n_joint)


def test_each_column_has_one_place(rng):
    for _ in range(20):
        sizes = rng.integers(1, rng.integers(3, 300), 50)
        joined = join_columns(layout_of(sizes))
        assert sorted(joined.members) == list(range(50))
        members = np.split(joined.members, joined.begins[1:-1])
        assert [part.size > 1 for part in members] == [
            place < joined.n_joint for place in range(joined.n_places)
        ]
        assert all(np.prod(sizes[part]) <= MOST_CELLS for part in members if part.size > 1)
        alone = joined.members[joined.begins[joined.n_joint] :]
        assert (np.diff(alone.astype(int)) > 0).all()


def test_sums_over_joint_cells_are_the_columns_histograms(rng):
    sizes = [5, 3, 2]
    codes = np.column_stack([rng.integers(0, size, 400) for size in sizes])
    quanta, rows = rng.integers(-(2**31), 2**31, (400, 2)), np.flatnonzero(rng.random(400) < 0.3)
    joint = twin.joint_codes(codes, sizes)[:, None]
    cells = histogram(joint, quanta, rows, even_layout(1, 30))
    expected = histogram(codes, quanta, rows, layout_of(sizes))
    assert (np.concatenate(twin.marginals(cells, sizes)) == expected).all()


def open_fit(data, params):
    p = Parameters.from_dict({"max_depth": 4, **params})
    return Fit(open_device(TEST_DEVICE), p, get_objective(p.objective, p), data, 0.0)


@pytest.fixture
def _whole(device):
    if fallbacks("whole_trees", device.caps)[0].name != "one_launch":
        pytest.skip("this device grows trees step by step")


@pytest.mark.usefixtures("_whole")
@pytest.mark.parametrize("case", ["plain", "gaps"])
def test_joint_codes_are_those_of_the_twin(case):
    parts = open_fit(*CASES[case]).parts
    plain, blocks = parts.rows.codes.by_feature.get(), parts.arena["place_codes"].get()
    joined, sizes = parts.features.places, np.diff(parts.features.layout.feature_offset)
    by_place = blocks.transpose(0, 2, 1).reshape(-1, N)[: joined.n_places]
    for place, codes in enumerate(by_place):
        members = joined.members[joined.begins[place] : joined.begins[place + 1]]
        assert (codes == twin.joint_codes(plain[members].T, sizes[members])).all()


@pytest.mark.usefixtures("_whole")
@pytest.mark.parametrize("case", ["drawn", "drawn_of_classes"])
def test_joint_codes_of_drawn_columns_are_those_of_the_twin(case):
    fit = open_fit(*CASES[case])
    batch = fit.parts.nodes.batches[0]
    for launch in fit.kernels.grower.drawn_places.launches(batch):
        launch()
    arena, plain = fit.parts.arena, fit.parts.rows.codes.by_feature.get()
    sizes = np.diff(fit.parts.features.layout.feature_offset.astype(np.int64))
    blocks, drawn = arena["place_codes"].get(), arena["drawn_columns"].get()
    for tree in range(batch.size):
        places = twin.drawn_places(drawn[tree], sizes)
        assert arena["drawn_places"].get()[tree] == len(places)
        by_place = blocks[tree].transpose(0, 2, 1).reshape(-1, N)
        for place, members in enumerate(places):
            codes = twin.joint_codes(plain[members].T, sizes[members])
            assert (by_place[place] == codes).all()
            assert arena["place_cells"].get()[tree, place] == sizes[members].prod()


@pytest.mark.few(1)
@pytest.mark.usefixtures("_whole")
@pytest.mark.parametrize(("case", "rows"), [*((case, 200) for case in CASES), ("gaps", 1)])
def test_the_model_is_that_of_plain_codes(monkeypatch, case, rows):
    data, params = CASES[case]
    models = []
    monkeypatch.setattr(whole_trees, "JOINT_ROWS", rows)
    for word in ("on", "off"):
        monkeypatch.setenv(JOINT_CODES, word)
        grower = open_fit(data, params).kernels.grower
        joint = grower.joint or grower.drawn_places
        assert (joint is not None) == (word == "on")
        model = train({"device": TEST_DEVICE, "max_depth": 5, **params}, data, 3)
        models.append(to_xgboost_json(model.ensemble))
    assert models[0] == models[1]


@pytest.mark.usefixtures("_whole")
@pytest.mark.parametrize(
    ("data", "params", "share", "why"),
    [
        (X, {"colsample_bynode": 0.5}, 1, "trees grow by steps, whose histograms"),
        (X, {"colsample_bytree": 0.5}, 0, "joint codes need .* bytes, too much of the device's"),
        (X, {}, 0, "joint codes need .* bytes, too much of the device's"),
        (RNG.random((N, 3)), {}, 1, "no two columns have few enough values to share a code"),
    ],
)
def test_fits_without_joint_codes_say_why_if_they_were_asked_for(
    monkeypatch, data, params, share, why
):
    monkeypatch.setattr(joint_columns, "MOST_MEMORY", share)
    grower = open_fit(Dataset(data, Y), params).kernels.grower
    assert getattr(grower, "joint", None) is None
    assert getattr(grower, "drawn_places", None) is None
    monkeypatch.setenv(JOINT_CODES, "on")
    with pytest.raises(ParameterError, match=rf"^{JOINT_CODES}='on': {why}.*; unset it$"):
        open_fit(Dataset(data, Y), params)


@pytest.mark.parametrize(
    ("known", "why"),
    [
        ({"most_codes": 257}, "max_bin=400 gives codes of two bytes"),
        ({"has_statistics": True}, "codes of statistics of categories change from round to round"),
    ],
)
def test_other_codes_are_not_joined(known, why):
    facts = FitFacts(Parameters.from_dict({"max_bin": 400})).with_pages(**known)
    assert joint_columns.why_not(facts) == why


@pytest.mark.usefixtures("_whole")
def test_other_ways_of_growth_say_why_if_joint_codes_were_asked_for(monkeypatch):
    monkeypatch.setenv(JOINT_CODES, "on")
    with pytest.raises(ParameterError, match="JOINT_CODES='on': trees grow by steps, whose hist"):
        open_fit(Dataset(X, Y), {"grow_policy": "symmetric"})


@pytest.mark.usefixtures("_whole")
def test_statistics_whose_codes_change_are_not_joined(monkeypatch):
    monkeypatch.setenv(JOINT_CODES, "on")
    params = {**LOGISTIC, "cat_method": "statistics", "device": TEST_DEVICE}
    data = Dataset(np.round(np.abs(X)), Y > 0, categorical_features=[0])
    with pytest.raises(ParameterError, match="statistics of categories change from round to round"):
        train(params, data, 1)


def test_other_words_are_refused(monkeypatch):
    monkeypatch.setenv(JOINT_CODES, "maybe")
    with pytest.raises(ParameterError, match="='maybe': expected 'on', 'alone', 'products'"):
        asked(JOINT_CODES)
