"""approx: bins by Hessians as the twin cuts them, and models as the twin grows them, bit by bit."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import choose, open_device
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.beside_twin import trained_as_twin
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.reference.approx import bin_ends
from tests.reference.gradients import words

WG_SIZES = (1, 64, 256)
WG_SIZES_CPU = (1, 64)
PROPOSALS = ("global", "local")
N = 400
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 4)).astype(np.float32)
X[:, 1] = np.round(X[:, 1] * 20)  # values of several rows
X[:, 2] = np.where(RNG.random(N) < 0.7, 0, X[:, 2])  # a value of most rows
X[:, 3] = RNG.integers(0, 5, N)  # at most max_bin values
X[RNG.random(X.shape) < 0.1] = np.nan
SIGNAL = np.nan_to_num(X).sum(axis=1) / 5 + RNG.normal(size=N)
WEIGHT = np.where(RNG.random(N) < 0.2, 0, RNG.random(N)).astype(np.float32)
LABEL = (SIGNAL > 0).astype(np.float32)
LOGISTIC = {"objective": "binary:logistic"}
GROWN = {
    "weights": {**LOGISTIC, "min_child_weight": 0.1},
    "half of the rows, monotone": {
        **LOGISTIC, "subsample": 0.5, "monotone_constraints": [1, 0, 0, -1], "reg_alpha": 0.1,
    },
    "leaf by leaf": {**LOGISTIC, "grow_policy": "lossguide", "max_leaves": 7, "max_depth": 0},
    "a forest of classes": {
        "objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2, "subsample": 0.7,
        "colsample_bynode": 0.6,
    },
}  # fmt: skip
THOROUGH = {
    "test_models_equal_the_twins": lambda wg, name, proposal: (
        (wg == 1) == (name in ("weights", "leaf by leaf"))
    ),
    "test_cuts_of_sums_of_60_bits_equal_the_twins": lambda wg, proposal, max_bin: wg == 1,
}


@pytest.fixture
def small_pieces(device, force):
    """Spread the entries of a feature over several pieces."""
    force(choose("exact", device.caps), chunk=64)
    force(choose("interleaved", device.caps), chunk=64, depth=1)  # and then to move them


def model_of(data, **params):
    params = {"n_estimators": 2, "max_depth": 4, "max_bin": 6, "device": TEST_DEVICE, **params}
    return to_xgboost_json(train(params, data).ensemble)


def test_bins_by_hand():
    hessians = np.array([4, 1, 0, 9, 1, 1, 0])
    # four bins of 4 each: below 0 4 5 5 14 15 16
    assert bin_ends(hessians, 4).tolist() == [0, 3, 3, 3, 5, 5, 6]
    assert bin_ends(hessians, 7).tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert bin_ends(np.zeros(3, np.int64), 2).tolist() == [2, 2, 2]


@pytest.mark.parametrize("max_bin", [2, 5, 16])
def test_law_a_bin_without_its_last_value_is_smaller_than_its_share(rng, max_bin):
    for high in (2, 50, 2**50):
        hessians = rng.integers(0, high, 200)
        ends = bin_ends(hessians, max_bin)
        for end in np.unique(ends):
            inside = hessians[(ends == end) & (np.arange(200) != end)]
            assert inside.sum() < Fraction(int(hessians.sum()), max_bin)
        assert (np.diff(ends) >= 0).all()
        assert (ends >= np.arange(200)).all()
        assert np.unique(ends[hessians > 0]).size <= max_bin


def cut_root(proposal, wg, quanta, max_bin):
    """Cut bins of the roots of trees with these quanta; return the parts of the fit."""
    params = Parameters.from_dict(
        {
            "tree_method": "approx", "proposal": proposal, "max_bin": max_bin, "max_depth": 2,
            "work_group_size": wg, "objective": "multi:softprob", "num_class": len(quanta),
        }
    )  # fmt: skip
    data = Dataset(X, np.arange(N) % len(quanta))
    objective = get_objective(params.objective, params)
    fit = Fit(open_device(TEST_DEVICE), params, objective, data, 0.0)
    parts, search, batch = fit.parts, fit.kernels.grower.search, Batch(0, len(quanta))
    parts.rows.make_room_for_high_words(None)
    low, high = words(quanta.reshape(-1, 2))
    parts.arena["quanta"].set(low)
    parts.arena["high"].set(high)
    scale = parts.arena["scale"].get()
    scale["wide"] = 1
    parts.arena["scale"].set(scale)
    grower = fit.kernels.grower
    for action in [*grower.level.begin(batch), *grower.partition.begin(batch)]:
        action()
    for action in search.search(0, batch):
        action()
    return parts


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("max_bin", [6, pytest.param(300, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("proposal", PROPOSALS)
def test_cuts_of_sums_of_60_bits_equal_the_twins(rng, wg, proposal, max_bin):
    quanta = rng.integers(0, 2**52, (2, N, 2))
    quanta[0, :, 1] >>= rng.integers(0, 50, N)  # rows of all sizes
    quanta[1, rng.random(N) < 0.5] = 0  # rows that are left out
    quanta[0, 3:7, 1] = 2**58  # nearly all of the sum, which stays below 2^61
    parts = cut_root(proposal, wg, quanta, max_bin)
    page, layout = parts.rows.pages[0].columns, parts.features.layout
    places, rows = page.places.get(), page.rows.get()
    for tree in range(2):
        sums = np.zeros(layout.n_codes, np.int64)
        np.add.at(sums, places, quanta[tree, rows, 1])
        wanted = np.arange(layout.n_codes, dtype=np.uint32)
        for offset, n_bins in zip(layout.feature_offset, layout.feature_bins, strict=False):
            own = slice(int(offset), int(offset) + int(n_bins))
            wanted[own] = offset + bin_ends(sums[own], max_bin)
        if proposal == "global":
            of_values = np.unique(places)  # codes of missing values have no entries
            assert_same_bits(parts.arena["bin_ends"].get()[tree][of_values], wanted[of_values])
            continue
        # the last entry of the last value of a bin ends it; values without Hessians end none
        few = np.repeat(layout.feature_bins <= max_bin, np.diff(layout.feature_offset))
        ends = (wanted == np.arange(layout.n_codes)) & (few | (sums > 0))
        last_entry = np.append(places[1:] != places[:-1], True)
        found = parts.arena["ends_bin"].get()[tree * page.n_entries :][: page.n_entries]
        assert_same_bits(found, (ends[places] & last_entry).astype(np.uint8))


@pytest.mark.more(4)
@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(("name", "proposal"), [*itertools.product(GROWN, PROPOSALS)])
def test_models_equal_the_twins(wg, name, proposal):
    label = np.digitize(SIGNAL, [-0.5, 0.5]) if "num_class" in GROWN[name] else LABEL
    params = {
        "tree_method": "approx", "proposal": proposal, "max_bin": 6, "n_estimators": 2,
        "max_depth": 4, **GROWN[name],
    }  # fmt: skip
    weight = WEIGHT if name == "weights" else None
    trained_as_twin({**params, "work_group_size": wg}, X, label.astype(np.float32), weight)


@pytest.mark.thorough
@pytest.mark.parametrize("proposal", ["global", pytest.param("local", marks=pytest.mark.thorough)])
def test_law_with_a_bin_for_every_value_it_is_exact_search(proposal):
    data = Dataset(X, LABEL, WEIGHT)
    exact = to_xgboost_json(
        train({"tree_method": "exact", "n_estimators": 2, "device": TEST_DEVICE}, data).ensemble
    )
    given = {"max_depth": 6, "max_bin": N, "proposal": proposal}
    assert model_of(data, tree_method="approx", **given) == exact


@pytest.mark.thorough
def test_none_is_global_and_local_is_another_model():
    data = Dataset(X, LABEL)
    first = model_of(data, tree_method="approx", **LOGISTIC)
    assert model_of(data, tree_method="approx", proposal="global", **LOGISTIC) == first
    assert model_of(data, tree_method="approx", proposal="local", **LOGISTIC) != first
    assert model_of(data, **LOGISTIC) != first


def test_data_without_entries():
    nothing = np.full((9, 2), np.nan, np.float32)
    for proposal in PROPOSALS:
        model = train(
            {"tree_method": "approx", "proposal": proposal, "n_estimators": 1,
             "device": TEST_DEVICE}, Dataset(nothing, np.arange(9)),
        )  # fmt: skip
        assert model.ensemble.trees[0].left.size == 1


@pytest.mark.parametrize(
    ("given", "words_of_error"),
    [
        ({"proposal": "both", "tree_method": "approx"}, "'global' or 'local'"),
        ({"max_bin_exact": "no", "tree_method": "approx"}, "True or False"),
        ({"max_bin": 1, "tree_method": "approx"}, "2..65535"),
    ],
)
def test_bad_parameters_are_refused(given, words_of_error):
    with pytest.raises(ParameterError, match=words_of_error):
        Parameters.from_dict(given)
